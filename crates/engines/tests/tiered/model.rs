//! Random operations of two sessions on one stack against a map, while L1 forgets and fails: nothing but L1's own memory
//! is ever lost, and nothing old comes back.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use larder_store::{SetMode, SetOptions, SetOutcome};
use proptest::prelude::*;

use super::{get, mode, open, set, spy};

#[derive(Debug, Clone, Copy)]
enum Step {
    Set,
    Add,
    Replace,
    Append,
    Incr,
    Touch,
    Delete,
    Get,
    GetMany,
    Forget,
    Fail(bool),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Set),
        1 => Just(Step::Add),
        1 => Just(Step::Replace),
        1 => Just(Step::Append),
        1 => Just(Step::Incr),
        1 => Just(Step::Touch),
        2 => Just(Step::Delete),
        5 => Just(Step::Get),
        2 => Just(Step::GetMany),
        2 => Just(Step::Forget),
        1 => any::<bool>().prop_map(Step::Fail),
    ]
}

const KEYS: [&str; 4] = ["a", "b", "c", "d"];

proptest! {
    #[test]
    fn a_stack_answers_as_a_map_does(
        steps in prop::collection::vec((step(), 0..KEYS.len(), 0..2_usize), 1..80),
        max in prop_oneof![Just(3_u64), Just(u64::MAX)],
    ) {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name = format!("/model/{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let store = open(&format!("tiered:spy:{name}/1?max={max}|spy:{name}/2"));
        let l1 = spy(&format!("{name}/1"));
        let mut sessions = [store.session().unwrap(), store.session().unwrap()];
        let mut model: HashMap<&str, Vec<u8>> = HashMap::new();
        for (number, (step, key, session)) in steps.into_iter().enumerate() {
            let (key, session) = (KEYS[key], &mut *sessions[session]);
            let value = format!("{number}").into_bytes();
            match step {
                Step::Set => {
                    set(session, key, &value, None);
                    model.insert(key, value);
                }
                Step::Add | Step::Replace => {
                    let wants = matches!(step, Step::Replace);
                    let options = mode(if wants { SetMode::Replace } else { SetMode::Add });
                    let stored = session.set(key.as_bytes(), &value, &options).unwrap();
                    let holds = model.contains_key(key) == wants;
                    prop_assert_eq!(stored == SetOutcome::Stored, holds);
                    if holds {
                        model.insert(key, value);
                    }
                }
                Step::Append => {
                    let options = SetOptions { mode: SetMode::Append, ..SetOptions::default() };
                    session.set(key.as_bytes(), b"0", &options).unwrap();
                    model.entry(key).and_modify(|value| value.push(b'0'));
                }
                Step::Incr => {
                    let sum = session.incr(key.as_bytes(), 1);
                    let Some(value) = model.get_mut(key) else {
                        prop_assert!(matches!(sum, Ok(None)), "{sum:?}");
                        continue;
                    };
                    match String::from_utf8(value.clone()).unwrap().parse::<u64>() {
                        Ok(number) => {
                            prop_assert_eq!(sum.unwrap(), Some(number + 1));
                            *value = (number + 1).to_string().into_bytes();
                        }
                        // So many zeros were appended that it is none any more.
                        Err(_) => prop_assert!(sum.is_err(), "{sum:?}"),
                    }
                }
                Step::Touch => {
                    let found = session.touch(key.as_bytes(), None).unwrap();
                    prop_assert_eq!(found, model.contains_key(key));
                }
                Step::Delete => {
                    let found = session.delete(key.as_bytes()).unwrap();
                    prop_assert_eq!(found, model.remove(key).is_some());
                }
                Step::Get => {
                    let found = get(session, key);
                    prop_assert_eq!(found.as_ref(), model.get(key));
                }
                Step::GetMany => {
                    let keys: Vec<&[u8]> = KEYS.iter().map(|key| key.as_bytes()).collect();
                    let mut found = HashMap::new();
                    session
                        .get_many(&keys, &mut |i, value, _| drop(found.insert(KEYS[i], value.to_vec())))
                        .unwrap();
                    prop_assert_eq!(&found, &model);
                }
                Step::Forget => l1.lose(key),
                Step::Fail(fails) => l1.fail(fails),
            }
        }
    }
}
