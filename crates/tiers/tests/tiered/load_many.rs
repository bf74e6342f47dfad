//! Reads of many keys that load those that are absent.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use larder_store::{Error, Session};
use larder_tiers::{Loaded, Origin};

use super::load::{failure, gives, load, make_over, options, origin, stack, stacks};
use super::spy::spy;
use super::{get, set};

#[test]
fn of_many_keys_the_missing_ones_are_loaded_in_one_call() {
    for store in stacks("many") {
        let mut session = store.open_session().unwrap();
        for key in ["a", "b", "c", "d"] {
            session.delete(key.as_bytes()).unwrap();
        }
        set(&mut session, "b", b"B", None);
        let keys: [&[u8]; 4] = [b"a", b"b", b"c", b"d"];
        let (mut hits, mut calls) = (Vec::new(), Vec::new());
        session
            .get_or_load_many::<Error>(
                &keys,
                &options(),
                &mut |i, value, answer| hits.push((i, value.to_vec(), answer.origin)),
                &mut |places, give| {
                    calls.push(places.to_vec());
                    for place in places {
                        let loaded = if *place == 3 { Loaded::Absent } else { Loaded::Value };
                        give(*place, &keys[*place].to_ascii_uppercase(), loaded);
                    }
                    Ok(())
                },
            )
            .unwrap();
        hits.sort_by_key(|hit| hit.0);
        assert_eq!(calls, [vec![0, 2, 3]]);
        let [a, b, c] = ["A", "B", "C"].map(|value| value.as_bytes().to_vec());
        let from_b = hits[1].2;
        assert_eq!(hits, [(0, a, Origin::Loader), (1, b, from_b), (2, c, Origin::Loader)]);
        assert!(matches!(from_b, Origin::Tier(1)));
        assert_eq!(get(&mut session, "c"), Some(b"C".to_vec()));
        // All of them are there now, but the one that has no value.
        let mut calls = Vec::new();
        let mut found = 0;
        let ask = session.get_or_load_many::<Error>(
            &keys,
            &options(),
            &mut |_, _, _| found += 1,
            &mut |places, _| {
                calls.push(places.to_vec());
                Ok(())
            },
        );
        ask.unwrap();
        assert_eq!((found, calls), (3, vec![vec![3]]));
    }
}

#[test]
fn of_many_keys_those_that_another_caller_loads_are_waited_for() {
    let store = stack(&["memory:", "memory:"]);
    let (begun, wait) = mpsc::channel();
    thread::scope(|scope| {
        let store = &store;
        scope.spawn(move || {
            load(&mut store.open_session().unwrap(), &options(), |value| {
                begun.send(()).unwrap();
                thread::sleep(Duration::from_millis(30));
                value.extend_from_slice(b"value");
                Ok(Loaded::Value)
            })
        });
        wait.recv().unwrap();
        let (mut hits, mut session) = (Vec::new(), store.open_session().unwrap());
        session
            .get_or_load_many::<Error>(
                &[b"k", b"mine"],
                &options(),
                &mut |i, value, _| hits.push((i, value.to_vec())),
                &mut |places, give| {
                    assert_eq!(places, [1], "the other caller loads the first key");
                    give(1, b"my own", Loaded::Value);
                    Ok(())
                },
            )
            .unwrap();
        hits.sort();
        assert_eq!(hits, [(0, b"value".to_vec()), (1, b"my own".to_vec())]);
    });
}

#[test]
fn of_many_keys_those_that_another_caller_gives_up_are_loaded() {
    for store in stacks("given-up") {
        let (begun, wait) = mpsc::channel();
        store.open_session().unwrap().delete(b"k").unwrap();
        thread::scope(|scope| {
            let store = &store;
            scope.spawn(move || {
                load(&mut store.open_session().unwrap(), &options(), |_| {
                    begun.send(()).unwrap();
                    thread::sleep(Duration::from_millis(30));
                    Ok(Loaded::Uncached)
                })
            });
            wait.recv().unwrap();
            let (mut hits, mut session) = (Vec::new(), store.open_session().unwrap());
            let ask = session.get_or_load_many::<Error>(
                &[b"k"],
                &options(),
                &mut |_, value, _| hits.push(value.to_vec()),
                &mut |_, give| {
                    give(0, b"mine", Loaded::Value);
                    Ok(())
                },
            );
            ask.unwrap();
            assert_eq!(hits, [b"mine"]);
            assert_eq!(get(&mut session, "k"), Some(b"mine".to_vec()));
        });
    }
}

#[test]
fn a_key_that_is_named_twice_is_loaded_once() {
    for store in stacks("twice") {
        let mut session = store.open_session().unwrap();
        for key in ["a", "b"] {
            session.delete(key.as_bytes()).unwrap();
        }
        let mut hits = Vec::new();
        let ask = session.get_or_load_many::<Error>(
            &[b"a", b"b", b"a"],
            &options(),
            &mut |i, value, _| hits.push((i, value.to_vec())),
            &mut |places, give| {
                assert_eq!(places, [0, 1]);
                give(0, b"A", Loaded::Value);
                give(1, b"B", Loaded::Uncached);
                Ok(())
            },
        );
        ask.unwrap();
        hits.sort();
        let hits: Vec<_> = hits.iter().map(|(i, value)| (*i, &**value)).collect();
        assert_eq!(hits, [(0, &b"A"[..]), (1, b"B"), (2, b"A")]);
    }
}

#[test]
fn a_failed_load_of_many_keys_answers_those_with_an_older_value() {
    for store in stacks("many-fail") {
        make_over(&store);
        let mut session = store.open_session().unwrap();
        session.delete(b"none").unwrap();
        let mut hits = Vec::new();
        let loaded = session.get_or_load_many::<Error>(
            &[b"k", b"none"],
            &options(),
            &mut |i, value, answer| hits.push((i, value.to_vec(), answer.stale)),
            &mut |_, _| Err(failure()),
        );
        assert!(loaded.is_err());
        assert_eq!(hits, [(0, b"old".to_vec(), true)]);
        let next = load(&mut session, &options(), gives(b"new")).unwrap();
        assert_eq!(origin(next).1, Origin::Loader, "the leases are given back");
    }
}

#[test]
fn a_lowest_tier_that_fails_is_not_asked_for_each_of_many_keys() {
    let store = stack(&["memory:", "spy:/load-many-dead/2?leases=true"]);
    let (mut session, lowest) = (store.open_session().unwrap(), spy("/load-many-dead/2"));
    lowest.fail(true);
    let (mut hits, keys) = (0, [&b"a"[..], b"b", b"c", b"d", b"e", b"f"]);
    let ask = session.get_or_load_many::<Error>(
        &keys,
        &options(),
        &mut |_, _, _| hits += 1,
        &mut |places, give| {
            for place in places {
                give(*place, b"value", Loaded::Value);
            }
            Ok(())
        },
    );
    ask.unwrap();
    assert_eq!((hits, lowest.failures()), (6, 2), "one read, and one request for a lease");
}
