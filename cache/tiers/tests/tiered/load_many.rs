//! Reads of many keys that load those that are absent.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use larder_store::{Error, Fill, Leased, Put, Session, SetOptions, SetOutcome, Store};
use larder_tiers::{
    Answer, Config, Give, LoadOptions, Loaded, OnWriteError, Origin, Tiers, TiersSession,
};

use super::load::{HOUR, counter, failure, gives, load, make_over, options, origin, stack, stacks};
use super::spy::spy;
use super::{get, open, set};

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
    assert_eq!((hits, lowest.failures()), (6, 1), "one request for all leases");
}

/// A loader of all keys that it is asked for: each value is the key in capitals.
fn capitals(keys: &[&[u8]]) -> impl FnMut(&[usize], &mut Give<'_>) -> Result<(), Error> {
    let values: Vec<_> = keys.iter().map(|key| key.to_ascii_uppercase()).collect();
    move |places, give| {
        for place in places {
            give(*place, &values[*place], Loaded::Value);
        }
        Ok(())
    }
}

#[test]
fn missing_keys_are_one_request_for_leases_and_one_for_fills() {
    let store = stack(&["spy:/load-many-one/1", "spy:/load-many-one/2?leases=true"]);
    let (mut session, lowest) = (store.open_session().unwrap(), spy("/load-many-one/2"));
    lowest.put("b", b"there", None);
    let keys: [&[u8]; 4] = [b"a", b"b", b"c", b"d"];
    let mut hits = Vec::new();
    let mut load = |session: &mut TiersSession| {
        let mut hit =
            |i, value: &[u8], answer: Answer| hits.push((i, value.to_vec(), answer.origin));
        session.get_or_load_many(&keys, &options(), &mut hit, &mut capitals(&keys)).unwrap();
        hits.sort_by_key(|hit| hit.0);
        std::mem::take(&mut hits)
    };
    let origins = load(&mut session).into_iter().map(|(i, _, origin)| (i, origin));
    let loaded = Origin::Loader;
    let wanted = [(0, loaded), (1, Origin::Tier(2)), (2, loaded), (3, loaded)];
    assert_eq!(origins.collect::<Vec<_>>(), wanted);
    assert_eq!(lowest.asked(), ["lease_many a b c d", "fill_many a c d"]);
    assert_eq!(lowest.held("d").unwrap().0, b"D");
    let again = load(&mut session);
    let values: Vec<_> = again.iter().map(|(_, value, origin)| (&**value, *origin)).collect();
    let near = Origin::Tier(1);
    assert_eq!(values, [(&b"A"[..], near), (b"there", near), (b"C", near), (b"D", near)]);
    assert_eq!(lowest.asked(), [""; 0], "all of them are above");
}

#[test]
fn leases_of_many_keys_whose_fills_are_refused_are_given_back() {
    let config = Config { on_write_error: OnWriteError::Keep, ..Config::default() };
    let stores = ["memory:", "spy:/load-many-refused/2?leases=true"].map(open);
    let store = Tiers::new(stores.into(), &config).unwrap();
    let (mut session, lowest) = (store.open_session().unwrap(), spy("/load-many-refused/2"));
    let keys: [&[u8]; 2] = [b"a", b"b"];
    for (failing, refused) in [("fill_many", true), ("none", false)] {
        lowest.fail_each(failing);
        let mut origins = Vec::new();
        let mut hit = |_, _: &[u8], answer: Answer| origins.push(answer.origin);
        session.get_or_load_many(&keys, &options(), &mut hit, &mut capitals(&keys)).unwrap();
        assert_eq!(origins, [Origin::Loader; 2]);
        let released = lowest.asked().contains(&"release_many a b".to_owned());
        assert_eq!(released, refused);
    }
    assert_eq!((counter(&store, "refused_loads"), counter(&store, "load_waits")), (2, 0));
}

#[test]
fn a_load_of_many_keys_that_fails_gives_all_leases_back_at_once() {
    let store = stack(&["memory:", "spy:/load-many-back/2?leases=true"]);
    let (mut session, lowest) = (store.open_session().unwrap(), spy("/load-many-back/2"));
    let keys: [&[u8]; 3] = [b"a", b"b", b"c"];
    let fails = &mut |_: &[usize], give: &mut Give<'_>| {
        give(1, b"B", Loaded::Value);
        Err(failure())
    };
    let failed = session.get_or_load_many(&keys, &options(), &mut |_, _, _| (), fails);
    assert!(failed.is_err());
    let asked = lowest.asked();
    assert_eq!(asked, ["lease_many a b c", "release_many a c", "fill_many b"]);
    assert_eq!(lowest.held("b").unwrap().0, b"B");
}

#[test]
fn of_many_keys_those_that_are_changed_while_they_load_are_not_stored() {
    for store in stacks("many-changed") {
        let (mut session, mut other) =
            (store.open_session().unwrap(), store.open_session().unwrap());
        let keys: [&[u8]; 3] = [b"kept", b"set", b"deleted"];
        for key in &keys {
            session.delete(key).unwrap();
        }
        let loader = &mut |places: &[usize], give: &mut Give<'_>| {
            set(&mut other, "set", b"newer", None);
            other.delete(b"deleted").unwrap();
            capitals(&keys)(places, give)
        };
        session.get_or_load_many(&keys, &options(), &mut |_, _, _| (), loader).unwrap();
        let found = ["kept", "set", "deleted"].map(|key| get(&mut session, key));
        assert_eq!(found, [Some(b"KEPT".to_vec()), Some(b"newer".to_vec()), None]);
    }
}

#[test]
fn a_write_that_meets_the_fills_of_many_keys_is_the_last() {
    for near in ["memory:", "spy:/load-many-met/1"] {
        let store = Arc::new(stack(&[near, "spy:/load-many-met/2?leases=true"]));
        let (mut session, lowest) = (store.open_session().unwrap(), spy("/load-many-met/2"));
        let keys: [&[u8]; 2] = [b"met", b"other"];
        for key in &keys {
            session.delete(key).unwrap();
        }
        let meets = Arc::clone(&store);
        let loader = &mut |places: &[usize], give: &mut Give<'_>| {
            let (lowest, meets) = (spy("/load-many-met/2"), Arc::clone(&meets));
            // The fills are done below, and not above yet.
            lowest
                .when_done(move || set(&mut meets.open_session().unwrap(), "met", b"newer", None));
            capitals(&keys)(places, give)
        };
        session.get_or_load_many(&keys, &options(), &mut |_, _, _| (), loader).unwrap();
        assert_eq!(lowest.held("met").unwrap().0, b"newer");
        assert_eq!(get(&mut session, "met"), Some(b"newer".to_vec()), "above {near}");
        assert_eq!(get(&mut session, "other"), Some(b"OTHER".to_vec()));
    }
}

#[test]
fn a_value_of_many_is_loaded_before_its_end() {
    for store in stacks("many-early") {
        let mut session = store.open_session().unwrap();
        let keys: [&[u8]; 2] = [b"ends", b"lasts"];
        for key in &keys {
            session.delete(key).unwrap();
        }
        let half = HOUR / 2;
        let loads = &mut |places: &[usize], give: &mut Give<'_>| {
            assert_eq!(places, [0, 1]);
            // So long that its mean, times the factor below, is more than half an hour.
            thread::sleep(Duration::from_millis(2));
            give(0, b"old", Loaded::ValueFor(Some(half)));
            give(1, b"old", Loaded::ValueFor(None));
            Ok::<_, Error>(())
        };
        session.get_or_load_many(&keys, &options(), &mut |_, _, _| (), loads).unwrap();
        // Of the draws one in a million is too small.
        let early = LoadOptions { early: 1e15, ..options() };
        let mut hits = Vec::new();
        let again = &mut |places: &[usize], give: &mut Give<'_>| {
            assert_eq!(places, [0], "an entry without an end is not loaded");
            give(0, b"new", Loaded::Value);
            Ok::<_, Error>(())
        };
        let mut hit = |i, value: &[u8], _| hits.push((i, value.to_vec()));
        session.get_or_load_many(&keys, &early, &mut hit, again).unwrap();
        hits.sort();
        assert_eq!(hits, [(0, b"new".to_vec()), (1, b"old".to_vec())]);
        assert_eq!(get(&mut session, "ends"), Some(b"new".to_vec()));
    }
}

#[test]
fn a_stack_passes_batches_of_leases_on_to_its_lowest_tier() {
    let store = stack(&["memory:", "spy:/load-many-part/2?leases=true"]);
    let (mut session, lowest) = (store.session().unwrap(), spy("/load-many-part/2"));
    lowest.put("b", b"there", None);
    let (keys, mut held, mut hits): ([&[u8]; 3], _, _) = ([b"a", b"b", b"c"], Vec::new(), 0);
    let leases = session.leases().unwrap();
    let mut done = |i: usize, value: &[u8], leased| match leased {
        Ok(Leased::Load { token, stale: None }) => held.push((keys[i], token)),
        other => {
            assert!(matches!(other, Ok(Leased::Hit(_))) && value == b"there", "{other:?}");
            hits += 1;
        }
    };
    leases.get_or_lease_many(&keys, HOUR, Duration::ZERO, &mut done).unwrap();
    assert_eq!((held.len(), hits), (2, 1));
    let put = Put { key: b"a", value: b"A", options: SetOptions::default() };
    let mut outcomes = Vec::new();
    let fills = [Fill { put, token: held[0].1 }];
    leases.fill_many(&fills, &mut |i, outcome| outcomes.push((i, outcome.unwrap()))).unwrap();
    assert!(matches!(outcomes[..], [(0, SetOutcome::Stored(_))]), "{outcomes:?}");
    let mut released = Vec::new();
    leases.release_many(&held, &mut |_, outcome| released.push(outcome.unwrap())).unwrap();
    assert_eq!(released, [false, true]);
    assert_eq!(lowest.asked(), ["lease_many a b c", "fill_many a", "release_many a c"]);
    let mut above = 0;
    session.get_many(&[b"a", b"b"], &mut |_, _, _| above += 1).unwrap();
    assert_eq!((above, lowest.asked()), (2, Vec::<String>::new()), "both are above");
}
