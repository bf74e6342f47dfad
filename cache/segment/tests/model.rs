//! A cache with room for all entries, against a map.

#![expect(
    clippy::unwrap_used,
    reason = "a model that finds nothing where there is something has failed"
)]

use std::collections::HashMap;

use larder_segment::{Cache, Condition, Delta, Failed, Options, Outcome, Session, Set, Sum};
use proptest::prelude::*;

/// The longest possible keys are among the keys.
const LONGEST_KEY: usize = 65_535;
const OPTIONS: Options = Options { max_key: LONGEST_KEY, ..Options::of_size(32 << 20) };

#[derive(Debug, Clone)]
enum Step {
    Get(u8),
    GetMany(Vec<u8>),
    Set(u8, usize, Kind),
    Delete(u8),
    Revise(u8, bool),
    SetNumber(u8, u64),
    Incr(u8, Delta),
    Clear,
    Token(u8),
    Fill(usize),
    Expire(u8),
    Touch(u8),
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Plain,
    Add,
    Replace,
    RightVersion,
    WrongVersion,
    Append,
    Prepend,
}

fn step() -> impl Strategy<Value = Step> {
    let key = || 0..12_u8;
    // Values of no bytes, of a record, of about the longest record, and of several records.
    let size = prop_oneof![4 => 0..300_usize, 1 => 8000..8200_usize, 1 => 20_000..60_000_usize];
    let kind = prop_oneof![
        4 => Just(Kind::Plain),
        1 => Just(Kind::Add),
        1 => Just(Kind::Replace),
        1 => Just(Kind::RightVersion),
        1 => Just(Kind::WrongVersion),
        1 => Just(Kind::Append),
        1 => Just(Kind::Prepend),
    ];
    prop_oneof![
        6 => key().prop_map(Step::Get),
        1 => prop::collection::vec(key(), 0..40).prop_map(Step::GetMany),
        8 => (key(), size, kind).prop_map(|(key, size, kind)| Step::Set(key, size, kind)),
        3 => key().prop_map(Step::Delete),
        1 => (key(), any::<bool>()).prop_map(|(key, is_new)| Step::Revise(key, is_new)),
        2 => (key(), any::<u64>(), 0..64_u32).prop_map(|(key, is, less)| Step::SetNumber(key, is >> less)),
        3 => (key(), any::<(u64, bool)>(), 0..64_u32).prop_map(|(key, (by, is_up), less)| {
            let delta = if is_up { Delta::Up } else { Delta::Down };
            Step::Incr(key, delta(by >> less))
        }),
        1 => Just(Step::Clear),
        1 => key().prop_map(Step::Token),
        1 => (0..4_usize).prop_map(Step::Fill),
        1 => key().prop_map(Step::Expire),
        1 => key().prop_map(Step::Touch),
    ]
}

#[derive(Debug, Clone)]
struct Known {
    value: Vec<u8>,
    flags: u32,
    version: u64,
    stale: bool,
}

#[derive(Default)]
struct Model {
    map: HashMap<u8, Known>,
    tokens: Vec<(u8, larder_segment::Token, bool)>,
    made: u32,
}

/// The first name has no bytes, and the last has as many as possible.
fn name(key: u8) -> Vec<u8> {
    let len = match key {
        0 => 0,
        11 => LONGEST_KEY,
        key => 4 + usize::from(key),
    };
    std::iter::repeat_n(key, len).collect()
}

impl Model {
    /// A new value, unlike all before it.
    fn value(&mut self, size: usize) -> Vec<u8> {
        self.made += 1;
        let mut value = self.made.to_le_bytes().repeat(size / 4 + 1);
        value.truncate(size);
        value
    }

    fn changed(&mut self, key: u8) {
        for (of, _, is_good) in &mut self.tokens {
            *is_good &= *of != key;
        }
    }

    fn take(&mut self, session: &mut Session, step: Step) {
        match step {
            Step::Get(key) => self.check(session, key),
            Step::GetMany(keys) => {
                let names: Vec<Vec<u8>> = keys.iter().map(|key| name(*key)).collect();
                let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
                let mut seen = vec![None; keys.len()];
                session.get_many(&names, &mut |i, value, _| seen[i] = Some(value.to_vec()));
                for (key, seen) in keys.iter().zip(seen) {
                    assert_eq!(seen, self.map.get(key).map(|known| known.value.clone()));
                }
            }
            Step::Set(key, size, kind) => self.set(session, key, size, kind),
            Step::Delete(key) => {
                assert_eq!(session.delete(&name(key)), Ok(self.map.remove(&key).is_some()));
                self.changed(key);
            }
            Step::Revise(key, is_new) => self.revise(session, key, is_new),
            Step::SetNumber(key, number) => self.put(session, key, number.to_string().into_bytes()),
            Step::Incr(key, delta) => self.incr(session, key, delta),
            Step::Clear => {
                session.clear();
                self.map.clear();
            }
            Step::Token(key) => self.tokens.push((key, session.token(&name(key)), true)),
            Step::Fill(at) if at < self.tokens.len() => {
                let (key, token, is_good) = self.tokens.remove(at);
                let value = self.value(10);
                let set = Set { condition: Condition::Unchanged(token), ..Set::default() };
                match session.set(&name(key), &value, &set).unwrap() {
                    Outcome::Stored(version) => {
                        assert!(is_good, "a key that was changed was filled");
                        self.changed(key);
                        self.map.insert(key, Known { value, flags: 0, version, stale: false });
                    }
                    // Keys that share a word of changes may refuse each other's fills.
                    outcome => assert_eq!(outcome, Outcome::NotStored),
                }
            }
            Step::Fill(_) => {}
            Step::Expire(key) => {
                let known = self.map.get_mut(&key);
                assert_eq!(session.expire(&name(key), None), Ok(known.is_some()));
                if let Some(known) = known {
                    known.stale = true;
                    known.version = session.get(&name(key), &mut Vec::new()).unwrap().version;
                    self.changed(key);
                }
            }
            Step::Touch(key) => {
                let ttl = Some(std::time::Duration::from_secs(1000));
                let there = self.map.contains_key(&key);
                assert_eq!(session.touch(&name(key), ttl), Ok(there));
                if there {
                    let entry = session.get(&name(key), &mut Vec::new()).unwrap();
                    assert!(entry.ttl.unwrap().as_secs() >= 990);
                    self.changed(key);
                }
            }
        }
    }

    fn check(&self, session: &mut Session, key: u8) {
        let mut value = b"before".to_vec();
        let entry = session.get(&name(key), &mut value);
        let Some(known) = self.map.get(&key) else {
            assert!(entry.is_none() && value.is_empty());
            return;
        };
        let entry = entry.unwrap_or_else(|| panic!("{key} is not there"));
        assert_eq!(value, known.value);
        assert_eq!(
            (entry.flags, entry.version, entry.stale),
            (known.flags, known.version, known.stale)
        );
    }

    fn put(&mut self, session: &mut Session, key: u8, value: Vec<u8>) {
        let set = Set { flags: u32::from(key) << 20, ..Set::default() };
        let outcome = session.set(&name(key), &value, &set).unwrap();
        let Outcome::Stored(version) = outcome else { panic!("{outcome:?}") };
        let older = self.map.insert(key, Known { value, flags: set.flags, version, stale: false });
        assert!(older.is_none_or(|older| older.version != version));
        self.changed(key);
    }

    fn set(&mut self, session: &mut Session, key: u8, size: usize, kind: Kind) {
        let value = self.value(size);
        let known = self.map.get(&key).cloned();
        let condition = match (kind, &known) {
            (Kind::Plain, _) => return self.put(session, key, value),
            (Kind::Add, _) => Condition::Absent,
            (Kind::Replace, _) => Condition::Present,
            (Kind::RightVersion, Some(known)) => Condition::Version(known.version),
            (Kind::RightVersion | Kind::WrongVersion, _) => Condition::Version(u64::MAX),
            (Kind::Append, _) => Condition::Append,
            (Kind::Prepend, _) => Condition::Prepend,
        };
        let is_extended = matches!(kind, Kind::Append | Kind::Prepend);
        let stale = is_extended && known.as_ref().is_some_and(|known| known.stale);
        let (wanted, new, flags) = match (kind, known) {
            (Kind::Add, Some(_)) | (Kind::Replace | Kind::Append | Kind::Prepend, None) => {
                (Some(Outcome::NotStored), vec![], 0)
            }
            (Kind::RightVersion | Kind::WrongVersion, None) => (Some(Outcome::NotFound), vec![], 0),
            (Kind::WrongVersion, Some(_)) => (Some(Outcome::Exists), vec![], 0),
            (Kind::Append, Some(known)) => {
                (None, [known.value, value.clone()].concat(), known.flags)
            }
            (Kind::Prepend, Some(known)) => {
                (None, [value.clone(), known.value].concat(), known.flags)
            }
            _ => (None, value.clone(), 7),
        };
        let set = Set { condition, flags: 7, ttl: None };
        let most = session.cache().max_value();
        match (session.set(&name(key), &value, &set), wanted) {
            (Ok(Outcome::Stored(version)), None) => {
                self.map.insert(key, Known { value: new, flags, version, stale });
                self.changed(key);
            }
            (Err(Failed::TooLarge { .. }), None) => assert!(new.len() > most),
            (Ok(outcome), Some(wanted)) => assert_eq!(outcome, wanted),
            (outcome, _) => panic!("{outcome:?} of {kind:?}"),
        }
    }

    fn incr(&mut self, session: &mut Session, key: u8, delta: Delta) {
        let sum = session.incr(&name(key), delta, None).unwrap();
        let Some(known) = self.map.get_mut(&key) else { return assert_eq!(sum, Sum::NotFound) };
        let text = std::str::from_utf8(&known.value).ok();
        let is_digits = known.value.iter().all(u8::is_ascii_digit);
        let number = text.filter(|_| is_digits).and_then(|text| text.parse::<u64>().ok());
        let Some(number) = number else { return assert_eq!(sum, Sum::NotANumber) };
        let wanted = match delta {
            Delta::Up(more) => number.wrapping_add(more),
            Delta::Down(less) => number.saturating_sub(less),
        };
        let version = session.get(&name(key), &mut Vec::new()).unwrap().version;
        assert_eq!(sum, Sum::Is { number: wanted, version });
        assert_ne!(version, known.version);
        *known = Known { value: wanted.to_string().into_bytes(), version, ..*known };
        self.changed(key);
    }

    /// Replaces the value by its reverse and one byte more, or makes no new value.
    fn revise(&mut self, session: &mut Session, key: u8, is_new: bool) {
        let revised = |old: &[u8]| old.iter().rev().chain(b"+").copied().collect::<Vec<u8>>();
        let outcome = session.revise(&name(key), &|old, new| {
            new.extend(revised(old));
            is_new
        });
        match (self.map.get_mut(&key), outcome) {
            (None, outcome) => assert_eq!(outcome, Ok(Outcome::NotFound)),
            (_, outcome) if !is_new => assert_eq!(outcome, Ok(Outcome::NotStored)),
            (Some(known), Ok(Outcome::Stored(version))) => {
                assert_ne!(version, known.version);
                *known = Known { value: revised(&known.value), version, ..*known };
                self.changed(key);
            }
            (_, outcome) => panic!("{outcome:?}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn it_does_what_a_map_does(steps in prop::collection::vec(step(), 1..120)) {
        let cache = Cache::private(&OPTIONS).unwrap();
        let (mut session, mut model) = (cache.session(), Model::default());
        for step in steps {
            model.take(&mut session, step);
        }
        for key in 0..12 {
            model.check(&mut session, key);
        }
        let stats = cache.stats();
        prop_assert_eq!((stats.evictions(), stats.damaged, stats.busy), (0, 0, 0));
    }

    #[test]
    fn namespaces_of_one_region_do_what_a_map_each_does(
        steps in prop::collection::vec((0..3_usize, step()), 1..120),
    ) {
        let cache = Cache::private(&OPTIONS).unwrap();
        let named = |name| cache.namespace(name).unwrap().session();
        let mut all = [cache.session(), named("one"), named("other")]
            .map(|session| (session, Model::default()));
        for (of, step) in steps {
            if of == 0 && matches!(step, Step::Clear) {
                for (_, model) in &mut all {
                    model.map.clear();
                }
            }
            let (session, model) = &mut all[of];
            model.take(session, step);
        }
        for (session, model) in &mut all {
            (0..12).for_each(|key| model.check(session, key));
        }
        let stats = cache.stats();
        prop_assert_eq!((stats.evictions(), stats.damaged, stats.busy), (0, 0, 0));
    }
}
