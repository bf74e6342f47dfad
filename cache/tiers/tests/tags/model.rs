//! Random operations of two stacks over the same stores, compared with a map. Their L1 is one store, so nothing is old there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use larder_store::{Error, Session, SetMode, SetOptions};
use larder_tiers::{Config, Give, LoadOptions, Loaded, Tiers, TiersSession};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::{mode, open};

#[derive(Debug, Clone)]
enum Step {
    Set(Vec<usize>),
    SetMany,
    Condition(bool),
    Touch,
    Delete,
    DeleteTag(usize),
    Get,
    GetMany,
    LoadMany(usize),
    /// A tier loses an entry, or the counter of a tag.
    Lose {
        below: bool,
        tag: Option<usize>,
    },
}

const KEYS: [&[u8]; 4] = [b"a", b"b", b"c", b"d"];
const TAGS: [&[u8]; 3] = [b"x", b"y", b"a name of more than twenty-four bytes"];

fn step() -> impl Strategy<Value = Step> {
    let tags = prop::collection::vec(0..TAGS.len(), 0..4);
    let tag = prop::option::of(0..2_usize);
    prop_oneof![
        4 => tags.prop_map(Step::Set),
        1 => Just(Step::SetMany),
        2 => any::<bool>().prop_map(Step::Condition),
        1 => Just(Step::Touch),
        1 => Just(Step::Delete),
        3 => (0..TAGS.len()).prop_map(Step::DeleteTag),
        4 => Just(Step::Get),
        3 => Just(Step::GetMany),
        3 => (0..TAGS.len()).prop_map(Step::LoadMany),
        2 => (any::<bool>(), tag).prop_map(|(below, tag)| Step::Lose { below, tag }),
    ]
}

type Model = BTreeMap<usize, (Vec<u8>, BTreeSet<usize>)>;

pub(crate) fn two_stacks_answer_as_a_map_does() {
    let config =
        ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() };
    let steps = prop::collection::vec((step(), 0..KEYS.len(), 0..2_usize), 1..60);
    TestRunner::new(config).run(&steps, |steps| run(&steps)).unwrap();
}

fn run(steps: &[(Step, usize, usize)]) -> Result<(), TestCaseError> {
    let [near, far] = [open("memory:"), open("memory:")];
    let config = Config { tags: true, ..Config::default() };
    let stacks =
        [(); 2].map(|()| Tiers::new(vec![Arc::clone(&near), Arc::clone(&far)], &config).unwrap());
    let mut sessions = [0, 1].map(|i| stacks[i].open_session().unwrap());
    let mut model = Model::new();
    for (number, (step, key, session)) in steps.iter().enumerate() {
        let (session, value) = (&mut sessions[*session], number.to_string().into_bytes());
        if let Step::Lose { below, tag } = step {
            let tier = if *below { &far } else { &near };
            let lost = tag.map_or(KEYS[*key].to_vec(), |tag| [b"~larder-tag-", TAGS[tag]].concat());
            // What only L1 loses is still there, and what only the lowest tier loses is still in L1.
            if *below {
                near.session().unwrap().delete(&lost).unwrap();
                match tag {
                    Some(tag) => model.retain(|_, (_, tags)| !tags.contains(tag)),
                    None => drop(model.remove(key)),
                }
            }
            tier.session().unwrap().delete(&lost).unwrap();
            continue;
        }
        apply(step, session, *key, value, &mut model)?;
    }
    Ok(())
}

fn apply(
    step: &Step,
    session: &mut TiersSession,
    key: usize,
    value: Vec<u8>,
    model: &mut Model,
) -> Result<(), TestCaseError> {
    let (plain, is_there) = (SetOptions::default(), model.contains_key(&key));
    match step {
        Step::Set(tags) => {
            let names: Vec<&[u8]> = tags.iter().map(|tag| TAGS[*tag]).collect();
            let outcome = session.set_tagged(KEYS[key], &value, &plain, &names).unwrap();
            prop_assert!(outcome.is_stored());
            model.insert(key, (value, tags.iter().copied().collect()));
        }
        Step::SetMany => {
            let put = |key| larder_store::Put { key, value: &value, options: plain };
            session
                .set_many(&KEYS.map(put), &mut |_, done| assert!(done.unwrap().is_stored()))
                .unwrap();
            model.extend((0..KEYS.len()).map(|key| (key, (value.clone(), BTreeSet::new()))));
        }
        Step::Condition(wants) => {
            let mode = mode(if *wants { SetMode::Replace } else { SetMode::Add });
            let outcome = session.set(KEYS[key], &value, &mode).unwrap();
            prop_assert_eq!(outcome.is_stored(), is_there == *wants);
            if is_there == *wants {
                model.insert(key, (value, BTreeSet::new()));
            }
        }
        Step::Touch => prop_assert_eq!(session.touch(KEYS[key], None).unwrap(), is_there),
        Step::Delete => {
            let was_there = session.delete(KEYS[key]).unwrap();
            // An entry that ended with its tag may still be found by a delete.
            prop_assert!(was_there || !is_there);
            model.remove(&key);
        }
        Step::DeleteTag(tag) => {
            session.delete_tag(TAGS[*tag]).unwrap();
            model.retain(|_, (_, tags)| !tags.contains(tag));
        }
        Step::Get => {
            let mut found = Vec::new();
            let found = session.get(KEYS[key], &mut found).unwrap().map(|_| found);
            prop_assert_eq!(found.as_ref(), model.get(&key).map(|(value, _)| value));
        }
        Step::GetMany => {
            let mut found = BTreeMap::new();
            let mut hit = |i, value: &[u8], _| drop(found.insert(i, value.to_vec()));
            session.get_many(&KEYS, &mut hit).unwrap();
            let wanted: BTreeMap<_, _> =
                model.iter().map(|(key, (value, _))| (*key, value.clone())).collect();
            prop_assert_eq!(found, wanted);
        }
        Step::LoadMany(tag) => {
            let options = LoadOptions { tags: &[TAGS[*tag]], ..LoadOptions::default() };
            let (mut found, mut loaded) = (BTreeMap::new(), Vec::new());
            let mut hit = |i, value: &[u8], _| drop(found.insert(i, value.to_vec()));
            let mut load = |places: &[usize], give: &mut Give<'_>| {
                for place in places {
                    give(*place, &value, Loaded::Value);
                }
                loaded.extend_from_slice(places);
                Ok(())
            };
            session.get_or_load_many::<Error>(&KEYS, &options, &mut hit, &mut load).unwrap();
            let missing: Vec<_> = (0..KEYS.len()).filter(|key| !model.contains_key(key)).collect();
            prop_assert_eq!(loaded, missing.clone());
            let tags = BTreeSet::from([*tag]);
            model.extend(missing.into_iter().map(|key| (key, (value.clone(), tags.clone()))));
            let wanted: BTreeMap<_, _> =
                model.iter().map(|(key, (value, _))| (*key, value.clone())).collect();
            prop_assert_eq!(found, wanted);
        }
        Step::Lose { .. } => {}
    }
    Ok(())
}
