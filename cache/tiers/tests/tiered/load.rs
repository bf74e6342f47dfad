//! Reads that load what is absent.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;

use larder_store::{Error, Result, Session, Span, Store};
use larder_tiers::{
    Answer, Config, LoadOptions, Loaded, OnError, OnWriteError, Origin, Tiers, TiersSession,
};

use super::spy::spy;
use super::{get, open, set, value};

pub(crate) const HOUR: Duration = Duration::from_hours(1);

/// A stack of these stores with an hour of grace.
pub(crate) fn stack(urls: &[&str]) -> Tiers {
    stack_of(urls, &Config { grace: Span(HOUR), ..Config::default() })
}

fn stack_of(urls: &[&str], config: &Config) -> Tiers {
    Tiers::new(urls.iter().map(|url| open(url)).collect(), config).unwrap()
}

/// One that lasts longer than a test.
pub(crate) fn options() -> LoadOptions<'static> {
    LoadOptions { ttl: Some(HOUR), wait: HOUR, lease: HOUR, ..LoadOptions::default() }
}

pub(crate) fn load(
    session: &mut TiersSession,
    options: &LoadOptions,
    loader: impl FnOnce(&mut Vec<u8>) -> Result<Loaded>,
) -> Result<Option<(Vec<u8>, Answer)>> {
    let mut value = b"left from before".to_vec();
    let answer = session.get_or_load(b"k", &mut value, options, loader)?;
    assert!(answer.is_some() || value.is_empty(), "an absent key leaves {value:?}");
    Ok(answer.map(|answer| (value, answer)))
}

/// A loader of a value.
pub(crate) fn gives(bytes: &'static [u8]) -> impl FnOnce(&mut Vec<u8>) -> Result<Loaded> {
    move |value| {
        assert!(value.is_empty(), "a loader gets an empty buffer");
        value.extend_from_slice(bytes);
        Ok(Loaded::Value)
    }
}

/// A loader that must not run.
fn never(_: &mut Vec<u8>) -> Result<Loaded> {
    panic!("the value is loaded once more")
}

fn fails(_: &mut Vec<u8>) -> Result<Loaded> {
    Err(failure())
}

pub(crate) fn failure() -> Error {
    Error::Unavailable { engine: "loader", what: "the origin is down".into(), source: None }
}

pub(crate) fn origin(loaded: Option<(Vec<u8>, Answer)>) -> (Vec<u8>, Origin, bool) {
    let (value, answer) = loaded.unwrap();
    (value, answer.origin, answer.stale)
}

pub(crate) fn counter(store: &Tiers, name: &str) -> u64 {
    store.counters().unwrap().iter().find(|counter| counter.name == name).unwrap().value
}

/// Stacks whose lowest tier has leases, and one whose lowest has none.
pub(crate) fn stacks(test: &str) -> [Tiers; 3] {
    let [near, spied] = [1, 2].map(|level| format!("spy:/load-{test}/{level}"));
    [stack(&["memory:", "memory:"]), stack(&[&near, "memory:"]), stack(&["memory:", &spied])]
}

#[test]
fn an_absent_key_is_loaded_once_and_the_tier_that_answers_is_told() {
    for store in stacks("once") {
        let mut session = store.open_session().unwrap();
        session.delete(b"k").unwrap();
        let first = load(&mut session, &options(), gives(b"value")).unwrap();
        assert_eq!(origin(first), (b"value".to_vec(), Origin::Loader, false));
        let next = load(&mut session, &options(), never).unwrap();
        assert_eq!(origin(next), (b"value".to_vec(), Origin::Tier(1), false));
        assert_eq!(get(&mut session, "k"), Some(b"value".to_vec()));
        assert_eq!((counter(&store, "loads"), counter(&store, "refused_loads")), (1, 0));
    }
}

#[test]
fn of_many_threads_one_loads() {
    for store in stacks("threads") {
        store.session().unwrap().delete(b"k").unwrap();
        let (loads, start) = (AtomicUsize::new(0), Barrier::new(16));
        thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    let mut session = store.open_session().unwrap();
                    start.wait();
                    let loaded = load(&mut session, &options(), |value| {
                        loads.fetch_add(1, Ordering::SeqCst);
                        // The others come meanwhile.
                        thread::sleep(Duration::from_millis(30));
                        value.extend_from_slice(b"value");
                        Ok(Loaded::Value)
                    });
                    assert_eq!(loaded.unwrap().unwrap().0, b"value");
                });
            }
        });
        assert_eq!(loads.into_inner(), 1);
    }
}

#[test]
fn of_two_stacks_over_one_lowest_tier_one_loads() {
    let lowest = open("memory:");
    let stack = || Tiers::new(vec![open("memory:"), Arc::clone(&lowest)], &Config::default());
    let (one, two) = (stack().unwrap(), stack().unwrap());
    let (begun, wait) = mpsc::channel();
    thread::scope(|scope| {
        let one = &one;
        scope.spawn(move || {
            let loaded = load(&mut one.open_session().unwrap(), &options(), |value| {
                begun.send(()).unwrap();
                thread::sleep(Duration::from_millis(30));
                value.extend_from_slice(b"value");
                Ok(Loaded::Value)
            });
            assert_eq!(loaded.unwrap().unwrap().1.origin, Origin::Loader);
        });
        wait.recv().unwrap();
        let loaded = load(&mut two.open_session().unwrap(), &options(), never).unwrap();
        assert_eq!(origin(loaded), (b"value".to_vec(), Origin::Tier(2), false));
    });
}

#[test]
fn while_one_loads_a_value_that_is_over_the_others_get_the_older_one() {
    for store in stacks("older") {
        let mut session = store.open_session().unwrap();
        make_over(&store);
        let loaded = load(&mut session, &options(), |value| {
            thread::scope(|scope| {
                let other =
                    scope.spawn(|| load(&mut store.open_session().unwrap(), &options(), never));
                let (older, answer) = other.join().unwrap().unwrap().unwrap();
                assert!(answer.stale && older == b"old", "{answer:?}");
            });
            value.extend_from_slice(b"new");
            Ok(Loaded::Value)
        });
        assert_eq!(origin(loaded.unwrap()), (b"new".to_vec(), Origin::Loader, false));
        assert_eq!(get(&mut session, "k"), Some(b"new".to_vec()));
    }
}

/// Leaves an expired entry in the lowest tier.
pub(crate) fn make_over(store: &Tiers) {
    let mut session = store.open_session().unwrap();
    session.delete(b"k").unwrap();
    // The time of grace is an hour: an entry with a TTL of a moment expires soon.
    set(&mut session, "k", b"old", Some(Duration::from_millis(1)));
    while get(&mut session, "k").is_some() {
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_failed_load_is_its_error_or_the_older_value_and_the_next_caller_loads() {
    for store in stacks("fails") {
        let mut session = store.open_session().unwrap();
        session.delete(b"k").unwrap();
        assert!(load(&mut session, &options(), fails).is_err());
        let next = load(&mut session, &options(), gives(b"value")).unwrap();
        assert_eq!(origin(next).1, Origin::Loader);
        make_over(&store);
        let (older, from, stale) = origin(load(&mut session, &options(), fails).unwrap());
        assert!(stale && older == b"old" && from != Origin::Loader);
        let next = load(&mut session, &options(), gives(b"new")).unwrap();
        assert_eq!(origin(next), (b"new".to_vec(), Origin::Loader, false));
        assert_eq!(counter(&store, "load_errors"), 2);
    }
}

#[test]
fn a_value_that_was_loaded_before_a_delete_or_a_set_is_not_stored_after_it() {
    for store in stacks("fenced") {
        let mut other = store.session().unwrap();
        let mut session = store.open_session().unwrap();
        for write in ["delete", "set"] {
            other.delete(b"k").unwrap();
            let loaded = load(&mut session, &options(), |value| {
                value.extend_from_slice(b"old");
                match write {
                    "delete" => drop(other.delete(b"k").unwrap()),
                    _ => set(&mut *other, "k", b"new", None),
                }
                Ok(Loaded::Value)
            });
            assert_eq!(loaded.unwrap().unwrap().0, b"old");
            let left = (write == "set").then(|| b"new".to_vec());
            assert_eq!(get(&mut *store.session().unwrap(), "k"), left, "after a {write}");
        }
        assert_eq!(counter(&store, "refused_loads"), 2);
    }
}

#[test]
fn a_loader_may_decline_to_store_or_say_that_there_is_no_value() {
    let remembers = LoadOptions { absent: HOUR, ..options() };
    for store in stacks("declines") {
        let mut session = store.open_session().unwrap();
        session.delete(b"k").unwrap();
        let uncached = |value: &mut Vec<u8>| {
            value.extend_from_slice(b"for you");
            Ok(Loaded::Uncached)
        };
        for _ in 0..2 {
            let loaded = load(&mut session, &options(), uncached).unwrap();
            assert_eq!(origin(loaded).0, b"for you");
        }
        for _ in 0..2 {
            assert!(load(&mut session, &options(), |_| Ok(Loaded::Absent)).unwrap().is_none());
        }
        assert_eq!(counter(&store, "loads"), 4);
        assert!(load(&mut session, &remembers, |_| Ok(Loaded::Absent)).unwrap().is_none());
        let mut other = store.open_session().unwrap();
        assert!(load(&mut other, &remembers, never).unwrap().is_none());
        assert_eq!(counter(&store, "absent_hits"), 1);
        // Any write of the key ends it.
        set(&mut other, "k", b"new", None);
        let loaded = load(&mut session, &remembers, never).unwrap();
        assert_eq!(origin(loaded).0, b"new");
        other.delete(b"k").unwrap();
        let loaded = load(&mut session, &remembers, gives(b"value")).unwrap();
        assert_eq!(origin(loaded).1, Origin::Loader);
    }
}

#[test]
fn where_the_lowest_tier_fails_values_are_loaded_and_kept_above() {
    for (test, leases) in [("dead", "?leases=true"), ("dead-plain", "")] {
        let below = open(&format!("spy:/load-{test}/2{leases}"));
        for on_error in [OnError::Miss, OnError::Error] {
            let config = Config { grace: Span(HOUR), on_error, ..Config::default() };
            let store = Tiers::new(vec![open("memory:"), Arc::clone(&below)], &config).unwrap();
            let mut session = store.open_session().unwrap();
            let lowest = spy(&format!("/load-{test}/2"));
            lowest.fail(true);
            let mut buffer = Vec::new();
            let read = session.get(b"k", &mut buffer);
            assert_eq!(read.is_err(), on_error == OnError::Error, "{read:?}");
            let loaded = load(&mut session, &options(), gives(b"value")).unwrap();
            assert_eq!(origin(loaded).1, Origin::Loader);
            let again = load(&mut session, &options(), never).unwrap();
            assert_eq!(origin(again), (b"value".to_vec(), Origin::Tier(1), false));
            session
                .get_or_load_many::<Error>(
                    &[b"k", b"m"],
                    &options(),
                    &mut |_, _, _| (),
                    &mut |places, give| {
                        assert_eq!(places, [1]);
                        give(1, b"many", Loaded::Value);
                        Ok(())
                    },
                )
                .unwrap();
            assert_eq!(get(&mut session, "m"), Some(b"many".to_vec()));
            lowest.fail(false);
            assert_eq!((value(&lowest, "k"), value(&lowest, "m")), (None, None));
        }
    }
}

#[test]
fn a_value_that_is_loaded_without_a_lease_comes_before_a_write_that_meets_it() {
    for (near, is_over) in [("memory:", false), ("spy:/load-met/1", false), ("memory:", true)] {
        let store = Arc::new(stack(&[near, "spy:/load-met/2"]));
        let mut session = store.open_session().unwrap();
        make_over(&store);
        if !is_over {
            session.delete(b"k").unwrap();
        }
        let lowest = spy("/load-met/2");
        let (writes, writer) = mpsc::channel();
        let (meets, stores) = (Arc::clone(&lowest), Arc::clone(&store));
        let loaded = load(&mut session, &options(), |value| {
            // The next request is the one that stores the loaded value.
            meets.when_begun(move || {
                let write = move || set(&mut *stores.session().unwrap(), "k", b"new", None);
                writes.send(thread::spawn(write)).unwrap();
                thread::sleep(Duration::from_millis(20));
            });
            value.extend_from_slice(b"old");
            Ok(Loaded::Value)
        });
        assert!(loaded.unwrap().is_some());
        writer.recv().unwrap().join().unwrap();
        assert_eq!(value(&lowest, "k"), Some(b"new".to_vec()));
        assert_eq!(get(&mut session, "k"), Some(b"new".to_vec()));
    }
}

#[test]
fn those_who_wait_for_a_load_that_fails_do_not_load_in_its_place() {
    for store in stacks("herd-fails") {
        store.session().unwrap().delete(b"k").unwrap();
        let (loads, start) = (AtomicUsize::new(0), Barrier::new(16));
        let failed = thread::scope(|scope| {
            let load = || {
                let mut session = store.open_session().unwrap();
                start.wait();
                load(&mut session, &options(), |_| {
                    loads.fetch_add(1, Ordering::SeqCst);
                    thread::sleep(Duration::from_millis(100));
                    Err(failure())
                })
            };
            let threads: Vec<_> = (0..16).map(|_| scope.spawn(load)).collect();
            let results = threads.into_iter().map(|thread| thread.join().unwrap());
            results.filter(|result| {
                matches!(result, Err(Error::Unavailable { what, .. }) if what.contains("another"))
            })
            .count()
        });
        // A thread that comes after the end of a load leads the next.
        assert_eq!(loads.into_inner() + failed, 16);
        assert!(failed > 0);
    }
}

#[test]
fn a_loader_that_panics_gives_its_lease_back() {
    for store in stacks("panics") {
        let mut session = store.open_session().unwrap();
        session.delete(b"k").unwrap();
        for by_batch in [false, true] {
            let panics = thread::scope(|scope| {
                let load = || {
                    let mut session = store.open_session().unwrap();
                    if by_batch {
                        let ask = session.get_or_load_many::<Error>(
                            &[b"k"],
                            &options(),
                            &mut |_, _, _| (),
                            &mut |_, _| panic!("a fault of the loader"),
                        );
                        return ask.map(|()| None);
                    }
                    load(&mut session, &options(), |_| panic!("a fault of the loader"))
                };
                scope.spawn(load).join()
            });
            assert!(panics.is_err());
            let uncached = |_: &mut Vec<u8>| Ok(Loaded::Uncached);
            let next = load(&mut session, &options(), uncached).unwrap();
            assert_eq!(origin(next).1, Origin::Loader);
        }
    }
}

#[test]
fn no_time_is_too_long() {
    let most = Duration::MAX;
    let longest = LoadOptions { ttl: Some(most), wait: most, absent: most, ..options() };
    for store in stacks("longest") {
        let mut session = store.open_session().unwrap();
        session.delete(b"k").unwrap();
        assert!(load(&mut session, &longest, |_| Ok(Loaded::Absent)).unwrap().is_none());
        assert!(load(&mut session, &longest, never).unwrap().is_none());
        session.delete(b"k").unwrap();
        load(&mut session, &longest, gives(b"value")).unwrap();
        load(&mut session, &longest, never).unwrap();
    }
}

#[test]
fn a_caller_that_has_waited_long_enough_loads_too_and_stores_nothing() {
    let impatient = LoadOptions { wait: Duration::from_millis(20), ..options() };
    for store in stacks("late") {
        let mut session = store.open_session().unwrap();
        session.delete(b"k").unwrap();
        let loaded = load(&mut session, &options(), |value| {
            let mut other = store.open_session().unwrap();
            let late = load(&mut other, &impatient, gives(b"late")).unwrap();
            assert_eq!(origin(late), (b"late".to_vec(), Origin::Loader, false));
            assert_eq!(get(&mut other, "k"), None, "it is not stored");
            let mut late = Vec::new();
            let ask = other.get_or_load_many::<Error>(
                &[b"k"],
                &impatient,
                &mut |_, value, _| late = value.to_vec(),
                &mut |_, give| {
                    give(0, b"late", Loaded::Value);
                    Ok(())
                },
            );
            ask.unwrap();
            assert_eq!((&*late, get(&mut other, "k")), (&b"late"[..], None));
            value.extend_from_slice(b"value");
            Ok(Loaded::Value)
        });
        assert_eq!(loaded.unwrap().unwrap().0, b"value");
    }
}

#[test]
fn a_lease_whose_value_is_refused_is_given_back() {
    let below = open("spy:/load-refused/2?leases=true");
    let config = Config { on_write_error: OnWriteError::Keep, ..Config::default() };
    let store = Tiers::new(vec![open("memory:"), below], &config).unwrap();
    let mut session = store.open_session().unwrap();
    spy("/load-refused/2").fail_each("fill");
    for _ in 0..2 {
        let loaded = load(&mut session, &options(), gives(b"value")).unwrap();
        assert_eq!(origin(loaded).1, Origin::Loader);
    }
    assert_eq!(counter(&store, "refused_loads"), 2);
}

#[test]
fn what_no_tier_could_store_is_not_loaded() {
    let store = stack_of(&["memory:", "spy:/load-no-ttl/2?ttl=false"], &Config::default());
    let mut session = store.open_session().unwrap();
    let refused = load(&mut session, &options(), never);
    assert!(matches!(refused, Err(Error::Unsupported { .. })), "{refused:?}");
}
