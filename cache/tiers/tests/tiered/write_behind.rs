//! Writes that reach the lowest tier later: sets behind, and removals after failed writes.

use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use larder_store::{Delta, Durability, Error, Leased, SetMode, Store};

use super::spy::{Fault, Spy, spy};
use super::{get, mode, open, set, ttl, value};

const MINUTE: Duration = Duration::from_mins(1);

fn stack(name: &str, options: &str) -> (Arc<dyn Store>, Arc<Spy>, Arc<Spy>) {
    let store = open(&format!("tiered:spy:/{name}/1|spy:/{name}/2|?{options}"));
    (store, spy(&format!("/{name}/1")), spy(&format!("/{name}/2")))
}

/// Waits until something is so, which takes moments.
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < 10 * MINUTE, "{what} has not come");
        sleep(Duration::from_millis(1));
    }
}

fn counter(store: &dyn Store, name: &str) -> u64 {
    store.counters().unwrap().iter().find(|counter| counter.name == name).unwrap().value
}

#[test]
fn a_set_around_drops_the_key_above() {
    let (store, l1, l2) = stack("around", "write=around");
    let mut session = store.session().unwrap();
    l1.put("k", b"old", None);
    set(&mut *session, "k", b"new", None);
    assert_eq!((value(&l1, "k"), value(&l2, "k")), (None, Some(b"new".to_vec())));
    assert_eq!(get(&mut *session, "k"), Some(b"new".to_vec()));
    assert_eq!(value(&l1, "k"), Some(b"new".to_vec()), "a read fills it in");
}

#[test]
fn a_set_behind_is_above_at_once_and_below_in_the_end() {
    let (store, l1, l2) = stack("behind", "write=behind");
    assert_eq!(store.info().durability, Durability::Unacknowledged);
    let mut session = store.session().unwrap();
    l2.fail_with(Fault::Passing, u32::MAX);
    for number in 0..10 {
        set(&mut *session, "k", format!("{number}").as_bytes(), Some(MINUTE));
        set(&mut *session, &format!("k{number}"), b"value", None);
    }
    assert_eq!((value(&l1, "k"), value(&l2, "k")), (Some(b"9".to_vec()), None));
    // What an upper tier has lost is read where it waits.
    l1.lose("k");
    assert_eq!(get(&mut *session, "k"), Some(b"9".to_vec()));
    let mut many = Vec::new();
    session.get_many(&[b"k", b"k3"], &mut |i, value, _| many.push((i, value.to_vec()))).unwrap();
    many.sort();
    assert_eq!(many, [(0, b"9".to_vec()), (1, b"value".to_vec())]);
    l2.fail(false);
    session.settle().unwrap();
    assert_eq!(value(&l2, "k"), Some(b"9".to_vec()));
    assert!(ttl(&l2, "k") <= MINUTE);
    assert!((0..10).all(|number| value(&l2, &format!("k{number}")).is_some()));
    assert_eq!(counter(&*store, "late_writes_lost"), 0);
}

#[test]
fn closing_and_dropping_a_stack_write_what_waits() {
    for way in ["close", "drop"] {
        let (store, _, l2) = stack(&format!("end-{way}"), "write=behind");
        let mut session = store.session().unwrap();
        for number in 0..1000 {
            set(&mut *session, &format!("k{number}"), b"value", None);
        }
        if way == "close" {
            store.close().unwrap();
        } else {
            drop(session);
            drop(store);
        }
        assert!((0..1000).all(|number| value(&l2, &format!("k{number}")).is_some()), "{way}");
    }
}

#[test]
fn no_late_set_comes_after_a_write_that_is_carried_out_at_once() {
    let (store, l1, l2) = stack("order", "write=behind");
    let mut session = store.session().unwrap();
    for _ in 0..100 {
        set(&mut *session, "k", b"5", None);
        assert!(session.delete(b"k").unwrap() || value(&l1, "k").is_none());
        session.settle().unwrap();
        assert_eq!((value(&l1, "k"), value(&l2, "k")), (None, None));
        set(&mut *session, "k", b"5", None);
        let counted = session.incr(b"k", Delta::Up(1), None).unwrap();
        assert_eq!(counted.map(|counted| counted.number), Some(6));
        set(&mut *session, "k", b"7", None);
        assert!(session.set(b"k", b"1", &mode(SetMode::Append)).unwrap().is_stored());
        assert_eq!(get(&mut *session, "k"), Some(b"71".to_vec()));
        session.delete_many(&[b"k"], &mut |_, was_there| assert!(was_there.unwrap())).unwrap();
        set(&mut *session, "k", b"7", None);
        session.clear().unwrap();
        session.settle().unwrap();
        assert_eq!(value(&l2, "k"), None);
    }
}

#[test]
fn a_full_queue_refuses_and_leaves_no_value_above() {
    let (store, l1, l2) = stack("full", "write=behind&queue=1k");
    let mut session = store.session().unwrap();
    l2.fail_with(Fault::Passing, u32::MAX);
    let large = vec![7; 700];
    set(&mut *session, "one", &large, None);
    let refused = session.set(b"two", &large, &mode(SetMode::Set));
    assert!(matches!(refused, Err(Error::Full { .. })), "{refused:?}");
    assert_eq!(value(&l1, "two"), None);
    l2.fail(false);
    session.settle().unwrap();
    set(&mut *session, "two", &large, None);
}

#[test]
fn what_another_process_filled_in_meanwhile_is_dropped_above() {
    let (store, l1, l2) = stack("agree", "write=behind");
    let mut session = store.session().unwrap();
    l2.put("k", b"old", None);
    l2.fail_with(Fault::Passing, u32::MAX);
    set(&mut *session, "k", b"new", None);
    // The upper tier makes room, and another process fills in what the lowest tier still has.
    l1.lose("k");
    l1.put("k", b"old", None);
    l2.fail(false);
    session.settle().unwrap();
    wait_until("the drop", || value(&l1, "k").is_none());
    assert_eq!(get(&mut *session, "k"), Some(b"new".to_vec()));
}

#[test]
fn a_key_whose_write_failed_below_is_removed_once_that_tier_answers() {
    let (store, l1, l2) = stack("unknown", "");
    let mut session = store.session().unwrap();
    for key in ["set", "delete", "many", "other"] {
        set(&mut *session, key, b"old", None);
    }
    l2.fail_with(Fault::Passing, u32::MAX);
    assert!(session.set(b"set", b"new", &mode(SetMode::Set)).is_err());
    assert!(session.delete(b"delete").is_err());
    let put = larder_store::Put { key: b"many", value: b"new", options: mode(SetMode::Set) };
    session.set_many(&[put], &mut |_, outcome| assert!(outcome.is_err())).unwrap();
    assert_eq!(value(&l1, "set"), None);
    assert_eq!(get(&mut *session, "other"), Some(b"old".to_vec()));
    l2.fail(false);
    for key in ["set", "delete", "many"] {
        wait_until(key, || value(&l2, key).is_none());
    }
    assert_eq!(value(&l2, "other"), Some(b"old".to_vec()));
    // A write that succeeds takes the removal back.
    l2.fail_with(Fault::Passing, u32::MAX);
    assert!(session.set(b"k", b"lost", &mode(SetMode::Set)).is_err());
    l2.fail(false);
    session.settle().unwrap();
    set(&mut *session, "k", b"kept", None);
    session.settle().unwrap();
    assert_eq!(value(&l2, "k"), Some(b"kept".to_vec()));
}

#[test]
fn a_write_that_is_not_made_leaves_the_late_one_in_the_queue() {
    let (store, _, l2) = stack("refused", "");
    let mut session = store.session().unwrap();
    set(&mut *session, "k", b"old", None);
    l2.fail_with(Fault::Passing, u32::MAX);
    assert!(session.set(b"k", b"new", &mode(SetMode::Set)).is_err());
    l2.fail_with(Fault::Refused, u32::MAX);
    assert!(session.set(b"k", b"new", &mode(SetMode::Set)).unwrap_err().is_not_made());
    assert!(session.delete(b"k").unwrap_err().is_not_made());
    assert!(session.incr(b"k", Delta::Up(1), None).unwrap_err().is_not_made());
    l2.fail(false);
    wait_until("the removal", || value(&l2, "k").is_none());

    for (options, left) in [("", None), ("&on_write_error=keep", Some(b"new".to_vec()))] {
        let (store, l1, l2) = stack("refused-behind", &format!("write=behind{options}"));
        let mut session = store.session().unwrap();
        l2.put("k", b"old", None);
        l2.fail_with(Fault::Refused, u32::MAX);
        set(&mut *session, "k", b"new", None);
        assert!(session.delete(b"k").unwrap_err().is_not_made());
        assert_eq!(value(&l1, "k"), None);
        assert_eq!(get(&mut *session, "k"), left);
        l2.fail(false);
        session.settle().unwrap();
        assert_eq!(value(&l2, "k"), left);
    }
}

#[test]
fn a_fill_takes_no_removal_back() {
    let store = open("tiered:spy:/late-fill/1|spy:/late-fill/2?leases=true");
    let l2 = spy("/late-fill/2");
    let (mut session, mut other) = (store.session().unwrap(), store.session().unwrap());
    let mut held = Vec::new();
    let leases = session.leases().unwrap();
    let Leased::Load { token, .. } = leases.get_or_lease(b"k", &mut held, MINUTE).unwrap() else {
        panic!("no lease")
    };
    // Nobody knows whether the new value is there, so the one that was loaded before it must not stay.
    l2.fail_with(Fault::Passing, u32::MAX);
    assert!(other.set(b"k", b"new", &mode(SetMode::Set)).is_err());
    l2.fail_each("delete");
    l2.fail(false);
    assert!(leases.fill(b"k", b"old", &mode(SetMode::Set), &token).unwrap().is_stored());
    l2.fail_each("none");
    wait_until("the removal", || value(&l2, "k").is_none());
}

#[test]
fn the_last_writes_of_a_stack_are_tried_again_for_a_moment() {
    let (store, _, l2) = stack("last", "write=behind");
    let mut session = store.session().unwrap();
    l2.fail_with(Fault::Passing, 3);
    set(&mut *session, "k", b"value", None);
    drop(session);
    drop(store);
    assert_eq!(value(&l2, "k"), Some(b"value".to_vec()));
}

#[test]
fn a_clear_that_fails_loses_no_late_write() {
    for (fault, left) in [(Fault::Refused, Some(b"new".to_vec())), (Fault::Passing, None)] {
        let (store, l1, l2) = stack("clear-fails", "write=behind");
        let mut session = store.session().unwrap();
        l2.fail_with(fault, u32::MAX);
        l2.put("k", b"old", None);
        set(&mut *session, "k", b"new", None);
        assert!(session.clear().is_err());
        l2.fail(false);
        session.settle().unwrap();
        assert_eq!((value(&l1, "k"), value(&l2, "k")), (None, left), "{fault:?}");
    }
}

#[test]
fn a_key_that_only_the_queue_has_is_there_for_a_delete() {
    for options in ["write=behind", "write=behind&grace=1h"] {
        let (store, l1, l2) = stack("delete-late", options);
        let mut session = store.session().unwrap();
        for by_batch in [false, true] {
            l2.fail_each("set");
            set(&mut *session, "k", b"value", Some(MINUTE));
            l1.lose("k");
            if by_batch {
                let mut was_there = false;
                session.delete_many(&[b"k"], &mut |_, there| was_there = there.unwrap()).unwrap();
                assert!(was_there);
            } else {
                assert!(session.delete(b"k").unwrap());
            }
            l2.fail_each("none");
            session.settle().unwrap();
            assert_eq!((value(&l2, "k"), get(&mut *session, "k")), (None, None));
        }
    }
}

#[test]
fn a_batch_may_name_a_key_twice_that_the_queue_has() {
    let (store, _, l2) = stack("twice", "write=behind");
    let mut session = store.session().unwrap();
    l2.fail_each("set");
    set(&mut *session, "k", b"value", None);
    let mut were_there = Vec::new();
    let keys: [&[u8]; 2] = [b"k", b"k"];
    session.delete_many(&keys, &mut |_, was_there| were_there.push(was_there.unwrap())).unwrap();
    assert_eq!(were_there, [true, false]);
    l2.fail_each("none");
    session.settle().unwrap();
    assert_eq!(value(&l2, "k"), None);
}
