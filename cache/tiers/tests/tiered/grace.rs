//! A time of grace: an expired entry is kept for its loaders, and for the time in which the lowest tier fails.

use std::sync::Arc;
use std::time::Duration;

use larder_store::{Counted, Delta, Initial, Session, SetMode, SetOutcome};
use larder_tiers::{Config, Found, Tiers, TiersSession};

use super::spy::{Spy, spy};
use super::{get, mode, open, set, ttl, value};

const GRACE: Duration = Duration::from_hours(1);
const MINUTE: Duration = Duration::from_mins(1);
/// The time that is left of an entry whose TTL has passed a minute ago.
const OVER: Duration = Duration::from_mins(59);

/// A stack of two spies with a time of grace, and the spies.
fn stack(name: &str) -> (Tiers, Arc<Spy>, Arc<Spy>) {
    let paths = [1, 2].map(|level| format!("/grace-{name}/{level}"));
    let stores = paths.each_ref().map(|path| open(&format!("spy:{path}")));
    let config = Config { grace: larder_store::Span(GRACE), jitter: 0, ..Config::default() };
    let [l1, l2] = paths.map(|path| spy(&path));
    (Tiers::new(stores.into(), &config).unwrap(), l1, l2)
}

fn look(session: &mut TiersSession, key: &str) -> Option<(Vec<u8>, Found)> {
    let mut value = Vec::new();
    let found = session.lookup(key.as_bytes(), &mut value).unwrap().found;
    found.map(|found| (value, found))
}

#[test]
fn an_entry_is_kept_after_its_ttl_and_only_its_loaders_find_it() {
    let (store, l1, l2) = stack("kept");
    let mut session = store.open_session().unwrap();
    set(&mut session, "k", b"old", Some(MINUTE));
    assert!(ttl(&l2, "k") > GRACE && ttl(&l2, "k") <= GRACE + MINUTE);
    // L1 keeps it for ten seconds, and for the time of grace.
    assert!(ttl(&l1, "k") > GRACE && ttl(&l1, "k") <= GRACE + Duration::from_secs(10));
    let (_, found) = look(&mut session, "k").unwrap();
    assert!(!found.meta.stale && found.tier == 1);
    // Its TTL passes.
    for tier in [&l1, &l2] {
        tier.put("k", b"old", Some(OVER));
    }
    assert_eq!(get(&mut session, "k"), None);
    let mut hits = 0;
    session.get_many(&[b"k"], &mut |_, _, _| hits += 1).unwrap();
    assert_eq!(hits, 0);
    let (old, found) = look(&mut session, "k").unwrap();
    assert!(found.meta.stale && found.tier == 2 && old == b"old", "{found:?}");
    assert!(l2.held("k").is_some(), "a read takes nothing away");
    assert_eq!(ttl(&l1, "k").max(GRACE), GRACE, "and fills in nothing that has expired");
}

#[test]
fn where_the_lowest_tier_fails_an_old_value_is_the_answer_but_not_where_it_is_gone_there() {
    let (store, l1, l2) = stack("fails");
    let mut session = store.open_session().unwrap();
    l1.put("k", b"old", Some(OVER));
    l2.fail(true);
    let mut old = Vec::new();
    let meta = session.get(b"k", &mut old).unwrap().unwrap();
    assert!(meta.stale && old == b"old");
    let mut stale = Vec::new();
    session
        .get_many(&[b"k"], &mut |_, value, meta| stale.push((value.to_vec(), meta.stale)))
        .unwrap();
    assert_eq!(stale, [(b"old".to_vec(), true)]);
    l2.fail(false);
    assert_eq!(get(&mut session, "k"), None, "the lowest tier says that it is gone");
    assert!(look(&mut session, "k").is_none());
    // From then on it is gone for good.
    l2.fail(true);
    assert_eq!(get(&mut session, "k"), None);
    l1.put("k", b"old", Some(OVER));
    l2.fail(false);
    session.get_many(&[b"k", b"other"], &mut |_, _, _| panic!("it is gone")).unwrap();
    assert_eq!(value(&l1, "k"), None);
}

#[test]
fn a_fresh_value_takes_the_place_of_one_above_that_is_over() {
    let (store, l1, l2) = stack("replaced");
    let mut session = store.open_session().unwrap();
    for by_batch in [false, true] {
        l1.put("k", b"old", Some(OVER));
        l2.put("k", b"new", Some(GRACE + MINUTE));
        if by_batch {
            session.get_many(&[b"k"], &mut |_, value, _| assert_eq!(value, b"new")).unwrap();
        } else {
            assert_eq!(get(&mut session, "k"), Some(b"new".to_vec()));
        }
        assert_eq!(value(&l1, "k"), Some(b"new".to_vec()));
    }
}

#[test]
fn an_expired_entry_is_found_by_plain_reads_for_the_time_that_was_asked_for() {
    let paths = ["spy:/grace-expired/1", "spy:/grace-expired/2?leases=true"];
    let config = Config { grace: larder_store::Span(GRACE), jitter: 0, ..Config::default() };
    let store = Tiers::new(paths.map(open).into(), &config).unwrap();
    let (mut session, l2) = (store.open_session().unwrap(), spy("/grace-expired/2"));
    for life in [Some(2 * MINUTE), None] {
        set(&mut session, "k", b"old", life);
        assert!(session.leases().unwrap().expire(b"k", Some(MINUTE)).unwrap());
        assert!(ttl(&l2, "k") > GRACE && ttl(&l2, "k") <= GRACE + MINUTE);
    }
    let mut old = Vec::new();
    assert!(session.get(b"k", &mut old).unwrap().unwrap().stale && old == b"old");
    // That time passes.
    set(&mut session, "k", b"old", Some(Duration::from_millis(1)));
    session.leases().unwrap().expire(b"k", Some(MINUTE)).unwrap();
    std::thread::sleep(Duration::from_millis(2));
    assert_eq!(get(&mut session, "k"), None);
}

#[test]
fn for_all_writes_that_depend_on_the_key_an_entry_that_is_over_is_gone() {
    let (store, _, l2) = stack("writes");
    let mut session = store.open_session().unwrap();
    let over = || l2.put("k", b"5", Some(OVER));
    over();
    assert_eq!(session.set(b"k", b"x", &mode(SetMode::Replace)).unwrap(), SetOutcome::NotStored);
    over();
    assert_eq!(session.set(b"k", b"x", &mode(SetMode::Append)).unwrap(), SetOutcome::NotStored);
    over();
    assert!(session.set(b"k", b"new", &mode(SetMode::Add)).unwrap().is_stored());
    assert_eq!(value(&l2, "k").as_deref(), Some(&b"new"[..]));
    over();
    assert!(!session.touch(b"k", Some(MINUTE)).unwrap());
    over();
    let first = Initial { number: 1, ttl: Some(MINUTE) };
    let counted = session.incr(b"k", Delta::Up(1), Some(first)).unwrap();
    assert!(matches!(counted, Some(Counted { number: 1, .. })), "{counted:?}");
    assert!(ttl(&l2, "k") > GRACE);
    // A fresh entry is there for them.
    set(&mut session, "fresh", b"5", Some(MINUTE));
    assert!(session.touch(b"fresh", Some(2 * MINUTE)).unwrap());
    assert!(ttl(&l2, "fresh") > GRACE + MINUTE);
}

#[test]
fn what_comes_while_an_entry_that_is_over_is_removed_stays() {
    for options in ["", "?versions=false&leases=true"] {
        let paths = ["spy:/grace-met/1".to_owned(), format!("spy:/grace-met/2{options}")];
        let config = Config { grace: larder_store::Span(GRACE), jitter: 0, ..Config::default() };
        let store = Tiers::new(paths.iter().map(|url| open(url)).collect(), &config).unwrap();
        let (mut session, l2) = (store.open_session().unwrap(), spy("/grace-met/2"));
        l2.put("k", b"old", Some(OVER));
        let host = spy("/grace-met/2");
        // Another host writes once this one has seen that the entry has expired.
        l2.when_done(move || host.put("k", b"new", Some(GRACE + MINUTE)));
        assert!(session.touch(b"k", Some(MINUTE)).unwrap(), "{options}");
        assert_eq!(value(&l2, "k"), Some(b"new".to_vec()), "{options}");
    }
}
