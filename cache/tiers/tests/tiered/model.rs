//! Random operations of two sessions on one stack, compared with a map, while L1 forgets, both tiers fail, and time
//! passes. Only L1 loses entries, and no old value comes back, even when L1 is trusted again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use larder_store::{Delta, Session, SetMode, SetOptions};
use proptest::prelude::*;

use super::spy::{Fault, spy};
use super::{mode, open};

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
    Clear,
    Forget,
    /// This number of operations of a tier fail.
    Fail(usize, Fault, u32),
    /// All entries of L1 expire, and so does its time without trust.
    Wait,
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
        1 => Just(Step::Clear),
        2 => Just(Step::Forget),
        3 => (0..2_usize, prop_oneof![Just(Fault::Lasting), Just(Fault::Passing)], 0..4_u32)
            .prop_map(|(tier, fault, times)| Step::Fail(tier, fault, times)),
        1 => Just(Step::Wait),
    ]
}

const KEYS: [&str; 4] = ["a", "b", "c", "d"];

/// The time for which L1 keeps a value.
const BOUND: Duration = Duration::from_millis(4);

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn a_stack_answers_as_a_map_does(
        steps in prop::collection::vec((step(), 0..KEYS.len(), 0..2_usize), 1..80),
        max in prop_oneof![Just(3_u64), Just(u64::MAX)],
    ) {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name = format!("/model/{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let store = open(&format!("tiered:spy:{name}/1?max={max}|spy:{name}/2|?l1_ttl=4ms&on_error=error&on_write_error=keep"));
        let tiers = [1, 2].map(|level| spy(&format!("{name}/{level}")));
        let mut sessions = [store.session().unwrap(), store.session().unwrap()];
        let mut model: HashMap<&str, Vec<u8>> = HashMap::new();
        for (number, (step, key, session)) in steps.into_iter().enumerate() {
            let session = &mut *sessions[session];
            match step {
                Step::Forget => tiers[0].lose(KEYS[key]),
                Step::Fail(tier, fault, times) => tiers[tier].fail_with(fault, times),
                Step::Wait => std::thread::sleep(2 * BOUND),
                Step::Get | Step::GetMany => read(step, session, KEYS[key], &model)?,
                write_step => {
                    // An operation that fails below is not carried out, because a spy fails before it acts.
                    let before = tiers[1].failures();
                    write(write_step, session, KEYS[key], number, &mut model, || {
                        tiers[1].failures() > before
                    })?;
                }
            }
        }
    }
}

/// A read returns the value of the map, or an error.
fn read(
    step: Step,
    session: &mut dyn Session,
    key: &'static str,
    model: &HashMap<&str, Vec<u8>>,
) -> Result<(), TestCaseError> {
    if let Step::Get = step {
        let mut value = Vec::new();
        if let Ok(found) = session.get(key.as_bytes(), &mut value) {
            prop_assert_eq!(found.map(|_| &value), model.get(key));
        }
        return Ok(());
    }
    let keys: Vec<&[u8]> = KEYS.iter().map(|key| key.as_bytes()).collect();
    let mut found = HashMap::new();
    let done =
        session.get_many(&keys, &mut |i, value, _| drop(found.insert(KEYS[i], value.to_vec())));
    for (key, value) in &found {
        prop_assert_eq!(Some(value), model.get(key));
    }
    prop_assert!(done.is_err() || found.len() == model.len());
    Ok(())
}

/// A write changes the map like the stack, unless it fails below.
fn write(
    step: Step,
    session: &mut dyn Session,
    key: &'static str,
    number: usize,
    model: &mut HashMap<&'static str, Vec<u8>>,
    failed_below: impl Fn() -> bool,
) -> Result<(), TestCaseError> {
    let value = number.to_string().into_bytes();
    let is_there = model.contains_key(key);
    match step {
        Step::Set => {
            let set = session.set(key.as_bytes(), &value, &SetOptions::default());
            prop_assert_eq!(set.is_err(), failed_below(), "{:?}", set);
            if set.is_ok() {
                model.insert(key, value);
            }
        }
        Step::Add | Step::Replace => {
            let wants = matches!(step, Step::Replace);
            let options = mode(if wants { SetMode::Replace } else { SetMode::Add });
            let set = session.set(key.as_bytes(), &value, &options);
            prop_assert_eq!(set.is_err(), failed_below(), "{:?}", set);
            if let Ok(outcome) = set {
                prop_assert_eq!(outcome.is_stored(), is_there == wants);
                if is_there == wants {
                    model.insert(key, value);
                }
            }
        }
        Step::Append => {
            if session.set(key.as_bytes(), b"0", &mode(SetMode::Append)).is_ok() {
                model.entry(key).and_modify(|value| value.push(b'0'));
            }
        }
        Step::Incr => {
            let sum = session.incr(key.as_bytes(), Delta::Up(1), None);
            let number = |value: &Vec<u8>| String::from_utf8_lossy(value).parse::<u64>();
            match model.get_mut(key).map(|value| (number(value), value)) {
                _ if failed_below() => prop_assert!(sum.is_err()),
                None => prop_assert!(matches!(sum, Ok(None)), "{:?}", sum),
                Some((Ok(number), value)) => {
                    prop_assert_eq!(sum.unwrap().map(|sum| sum.number), Some(number + 1));
                    *value = (number + 1).to_string().into_bytes();
                }
                // After many appended zeros the value is no number any more.
                Some((Err(_), _)) => prop_assert!(sum.is_err(), "{:?}", sum),
            }
        }
        Step::Touch => {
            let found = session.touch(key.as_bytes(), None);
            prop_assert_eq!(found.ok(), (!failed_below()).then_some(is_there));
        }
        Step::Delete => {
            let found = session.delete(key.as_bytes());
            if failed_below() {
                prop_assert!(found.is_err());
            } else {
                prop_assert_eq!(found.unwrap(), model.remove(key).is_some());
            }
        }
        // A clear that fails only in L1 is an error, and still clears the tier below.
        Step::Clear => {
            let cleared = session.clear();
            if !failed_below() {
                model.clear();
            } else {
                prop_assert!(cleared.is_err());
            }
        }
        Step::Get | Step::GetMany | Step::Forget | Step::Fail(..) | Step::Wait => {}
    }
    Ok(())
}
