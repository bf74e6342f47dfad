//! A failing tier above: an entry that it could not drop is never seen, and no reader waits for the tier.

use std::sync::{Arc, OnceLock};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::spy::{Fault, spy};
use super::{get, open, set, stack, value};

#[test]
fn l1_may_fail_and_everything_goes_on() {
    let (store, l1, l2) = stack("l1-fails");
    let mut session = store.session().unwrap();
    set(&mut *session, "k", b"old", None);
    l1.fail(true);
    assert_eq!(get(&mut *session, "k"), Some(b"old".to_vec()));
    set(&mut *session, "k", b"new", None);
    assert_eq!(get(&mut *session, "k"), Some(b"new".to_vec()));
    let mut hits = Vec::new();
    session.get_many(&[b"k"], &mut |i, value, _| hits.push((i, value.to_vec()))).unwrap();
    assert_eq!(hits, [(0, b"new".to_vec())]);
    // L1 works again, and still holds the entry that it could not drop, so it is not asked.
    l1.fail(false);
    assert_eq!(value(&l1, "k"), Some(b"old".to_vec()));
    l1.asked();
    assert_eq!(get(&mut *session, "k"), Some(b"new".to_vec()));
    assert_eq!(get(&mut *store.session().unwrap(), "k"), Some(b"new".to_vec()), "nor others");
    assert_eq!(l1.asked(), [""; 0]);
    // L1 gets no write either, until a clear empties it; then it is trusted again.
    set(&mut *session, "k", b"newer", None);
    assert_eq!(l1.asked(), [""; 0]);
    session.clear().unwrap();
    assert!(l2.held("k").is_none());
    set(&mut *session, "k", b"newest", None);
    assert_eq!(get(&mut *session, "k"), Some(b"newest".to_vec()));
    assert_eq!(l1.asked(), ["clear ", "set k", "get k"]);
}

#[test]
fn a_tier_that_could_not_drop_a_key_is_believed_again_when_all_of_it_has_passed() {
    with_time_enough("believed", |ttl, name| {
        let store =
            open(&format!("tiered:spy:/{name}/1|spy:/{name}/2|?l1_ttl={}ms", ttl.as_millis()));
        let (l1, mut session) = (spy(&format!("/{name}/1")), store.session().unwrap());
        let before_it_is_lost = Instant::now();
        l1.fail(true);
        set(&mut *session, "k", b"value", None);
        l1.fail(false);
        l1.asked();
        assert!(get(&mut *session, "k").is_some());
        let asked = l1.asked();
        let is_in_time = before_it_is_lost.elapsed() < ttl;
        if is_in_time {
            assert_eq!(asked, [""; 0]);
            sleep(ttl * 3 / 2);
            assert!(get(&mut *session, "k").is_some());
            assert_eq!(l1.asked(), ["get k", "add k"]);
        }
        is_in_time
    });
}

/// Tries with longer and longer TTLs, until `is_in_time` did its steps within the TTL. A step that came later would
/// find nothing, whether trust works or not.
fn with_time_enough(test: &str, is_in_time: impl Fn(Duration, &str) -> bool) {
    let ttls = [1, 10, 100].map(Duration::from_secs);
    let mut tried =
        ttls.into_iter().map(|ttl| is_in_time(ttl, &format!("{test}-{}", ttl.as_secs())));
    assert!(tried.any(|is_in_time| is_in_time), "the steps take longer than {ttls:?}");
}

#[test]
fn a_key_that_could_not_be_dropped_at_first_is_dropped_at_last() {
    let (store, l1, _) = stack("retried");
    let mut session = store.session().unwrap();
    set(&mut *session, "k", b"value", None);
    l1.asked();
    l1.fail_with(Fault::Passing, 1);
    assert!(session.delete(b"k").unwrap());
    assert_eq!(l1.asked(), ["delete k", "delete k"]);
    assert_eq!((get(&mut *session, "k"), l1.asked()), (None, vec!["get k".to_owned()]));
    l1.fail_with(Fault::Passing, 2);
    session.delete(b"k").unwrap();
    l1.asked();
    assert_eq!((get(&mut *session, "k"), l1.asked()), (None, Vec::new()));
}

#[test]
fn entries_that_could_not_be_cleared_above_are_not_answered() {
    let (store, l1, l2) = stack("clear-fails");
    let mut session = store.session().unwrap();
    set(&mut *session, "k", b"value", None);
    l1.fail(true);
    assert!(session.clear().is_err());
    l1.fail(false);
    assert!(l1.held("k").is_some() && l2.held("k").is_none());
    assert_eq!(get(&mut *session, "k"), None);
    // A tier below that could not be cleared still has all its entries.
    l2.put("other", b"value", None);
    l2.fail(true);
    assert!(session.clear().is_err());
    l2.fail(false);
    assert_eq!(get(&mut *session, "other"), Some(b"value".to_vec()));
}

#[test]
fn trust_that_is_lost_while_a_tier_is_cleared_is_not_restored() {
    let (store, l1, _) = stack("clear-races");
    let (mut session, mut other) = (store.session().unwrap(), store.session().unwrap());
    // The delete of the other session fails in L1 after L1 was emptied.
    let watched = Arc::clone(&l1);
    l1.when_done(move || {
        watched.fail(true);
        other.delete(b"k").unwrap();
        watched.fail(false);
    });
    session.clear().unwrap();
    l1.asked();
    assert_eq!((get(&mut *session, "k"), l1.asked()), (None, Vec::new()));
}

#[test]
fn a_tier_that_is_not_believed_is_not_asked_and_says_so() {
    let (store, l1, l2) = stack("hangs");
    let mut session = store.session().unwrap();
    l2.put("k", b"value", None);
    l1.fail(true);
    assert!(get(&mut *session, "k").is_some());
    assert_eq!(l1.asked(), ["get k", "add k", "delete k"]);
    for _ in 0..3 {
        set(&mut *session, "k", b"value", None);
        assert!(get(&mut *session, "k").is_some());
        session.get_many(&[b"k", b"absent"], &mut |_, _, _| {}).unwrap();
        session.delete(b"k").unwrap();
    }
    assert_eq!(l1.asked(), [""; 0]);
    let told = &store.tiers()[0];
    assert_eq!((told.hits, told.misses, told.errors, told.not_asked), (0, 0, 1, 9));
    // In the lowest tier, an error counts as an error, and neither as a hit nor as a miss.
    l2.fail(true);
    assert_eq!(get(&mut *session, "k"), None);
    session.get_many(&[b"k", b"absent"], &mut |_, _, _| {}).unwrap();
    let told = &store.tiers()[1];
    assert_eq!((told.hits, told.misses, told.errors), (7, 3, 3));
}

#[test]
fn a_value_that_was_under_way_when_trust_was_lost_has_passed_when_it_is_back() {
    with_time_enough("late-put", |ttl, name| {
        let store = open(&format!("tiered:spy:/{name}/1|spy:/{name}/2|?l1_ttl={}s", ttl.as_secs()));
        let l1 = spy(&format!("/{name}/1"));
        let (mut session, mut other) = (store.session().unwrap(), store.session().unwrap());
        let (watched, put) = (Arc::clone(&l1), Arc::new(OnceLock::new()));
        let when_put = Arc::clone(&put);
        l1.when_begun(move || {
            watched.fail_with(Fault::Lasting, 1);
            other.delete(b"another").unwrap();
            // Trust would return when half of the TTL of this entry has passed.
            sleep(ttl / 2);
            when_put.set(Instant::now()).unwrap();
        });
        set(&mut *session, "k", b"old", None);
        // L1 gets no word of this delete.
        session.delete(b"k").unwrap();
        let of_l1 = value(&l1, "k");
        sleep(ttl * 7 / 10);
        assert_eq!(get(&mut *session, "k"), None);
        let is_in_time = put.get().unwrap().elapsed() < ttl;
        assert!(!is_in_time || of_l1 == Some(b"old".to_vec()), "the entry is not in L1");
        is_in_time
    });
}
