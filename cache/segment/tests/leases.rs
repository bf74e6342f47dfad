//! Leases of keys that are absent or stale.

mod support;

use std::collections::BTreeMap;
use std::time::Duration;

use larder_segment::{Cache, Condition, Failed, Leased, Options, Outcome, Session, Set, Token};
use support::folder;

const SMALL: Options = Options { item: 512, ..Options::of_size(1 << 20) };
const LONG: Duration = Duration::from_hours(1);

fn ask(session: &mut Session, key: &[u8]) -> Leased {
    session.get_or_lease(key, &mut Vec::new(), LONG, Duration::ZERO).expect("room for a lease")
}

fn load(session: &mut Session, key: &[u8]) -> Token {
    match ask(session, key) {
        Leased::Load { token, .. } => token,
        other => panic!("who should load is told {other:?}"),
    }
}

fn waits(session: &mut Session, key: &[u8]) -> bool {
    matches!(ask(session, key), Leased::Wait { .. })
}

fn fill(session: &mut Session, key: &[u8], token: Token) -> bool {
    let set = Set { condition: Condition::Unchanged(token), ..Set::default() };
    matches!(session.set(key, b"filled", &set), Ok(Outcome::Stored(_)))
}

fn set(session: &mut Session, key: &[u8], value: &[u8]) {
    let outcome = session.set(key, value, &Set::default()).expect("room");
    assert!(matches!(outcome, Outcome::Stored(_)), "{outcome:?}");
}

#[test]
fn a_full_table_refuses_more_leases_and_keeps_those_it_gave() {
    let cache = Cache::private(&SMALL).expect("a region");
    assert_eq!(cache.shape()[0], ("partitions", 1));
    let mut session = cache.session();
    let mut given = BTreeMap::new();
    let mut refused = None;
    for number in 0..1000_u64 {
        let key = number.to_le_bytes();
        match session.get_or_lease(&key, &mut Vec::new(), LONG, Duration::ZERO) {
            Ok(Leased::Load { token, .. }) => _ = given.insert(number, token),
            Err(Failed::Leases) => {
                assert!(given.len() > 300, "the first is refused after {}", given.len());
                refused = Some(number);
            }
            other => panic!("{number} is told {other:?}"),
        }
    }
    assert!((480..=512).contains(&given.len()), "{} leases of a table of 512", given.len());
    let refused = refused.expect("a table that is full").to_le_bytes();
    for (number, token) in given {
        let key = number.to_le_bytes();
        assert!(waits(&mut session, &key), "{number}");
        assert!(fill(&mut session, &key, token), "{number}");
    }
    load(&mut session, &refused);
}

#[test]
fn no_eviction_ends_a_lease() {
    let cache = Cache::private(&SMALL).expect("a region");
    let mut session = cache.session();
    set(&mut session, b"stale", b"old");
    assert_eq!(session.expire(b"stale", None), Ok(true));
    let tokens = [b"absent", &b"stale"[..]].map(|key| (key, load(&mut session, key)));
    for number in 0..20_000_u64 {
        set(&mut session, &number.to_le_bytes(), &[7; 500]);
        // Keys that are used push even used ones out.
        for _ in 0..3 {
            session.get(&number.to_le_bytes(), &mut Vec::new());
        }
    }
    assert!(session.get(b"stale", &mut Vec::new()).is_none(), "it was not evicted");
    for (key, token) in tokens {
        assert!(waits(&mut session, key), "{key:?}");
        assert!(fill(&mut session, key, token), "{key:?}");
    }
}

#[test]
fn a_touch_of_a_stale_entry_leaves_its_lease() {
    let cache = Cache::private(&SMALL).expect("a region");
    let mut session = cache.session();
    set(&mut session, b"key", b"old");
    assert_eq!(session.expire(b"key", None), Ok(true));
    let token = load(&mut session, b"key");
    assert_eq!(session.touch(b"key", Some(LONG)), Ok(true));
    let touched = session.get_and_touch(b"key", Some(LONG), &mut Vec::new()).expect("no wait");
    assert!(touched.is_some_and(|entry| entry.stale));
    assert!(waits(&mut session, b"key"));
    assert!(fill(&mut session, b"key", token));
}

#[test]
fn namespaces_have_leases_of_their_own_and_a_clear_ends_them() {
    let cache = Cache::private(&SMALL).expect("a region");
    let spaces = ["one", "other"].map(|name| cache.namespace(name).expect("a namespace"));
    let mut root = cache.session();
    let mut sessions = spaces.each_ref().map(larder_segment::Namespace::session);
    let of_root = load(&mut root, b"key");
    let [of_one, of_other] = sessions.each_mut().map(|session| load(session, b"key"));
    spaces[0].clear();
    let [one, other] = &mut sessions;
    assert!(!fill(one, b"key", of_one), "a lease from before a clear");
    assert!(!fill(one, b"key", of_other), "a lease of another namespace");
    load(one, b"key");
    assert!(waits(other, b"key") && waits(&mut root, b"key"));
    assert!(fill(other, b"key", of_other));
    cache.clear();
    assert!(!fill(&mut root, b"key", of_root), "a lease from before a clear");
    for session in [one, other, &mut root] {
        load(session, b"key");
    }
}

#[test]
fn a_session_of_a_removed_namespace_gets_no_lease() {
    let cache = Cache::private(&SMALL).expect("a region");
    let mut session = cache.namespace("app").expect("a namespace").session();
    let token = load(&mut session, b"key");
    assert!(cache.remove_namespace("app").expect("no wait"));
    let refused = session.get_or_lease(b"key", &mut Vec::new(), LONG, Duration::ZERO);
    assert_eq!(refused, Err(Failed::Removed));
    let set = Set { condition: Condition::Unchanged(token), ..Set::default() };
    assert_eq!(session.set(b"key", b"filled", &set), Err(Failed::Removed));
}

#[test]
fn a_lease_outlives_its_loader_and_the_closing_of_the_file() {
    let folder = folder();
    let path = folder.path().join("cache");
    let token = {
        let cache = Cache::open(&path, &SMALL).expect("a region");
        load(&mut cache.session(), b"key").to_bytes()
    };
    let cache = Cache::open(&path, &SMALL).expect("the region");
    let mut session = cache.session();
    assert!(waits(&mut session, b"key"), "nobody is asked whether the loader still lives");
    let token = Token::from_bytes(&token).expect("a token");
    assert!(fill(&mut session, b"key", token));
}

#[test]
fn large_values_are_filled_under_a_lease() {
    let cache = Cache::private(&SMALL).expect("a region");
    let (mut session, large) = (cache.session(), vec![3; 100_000]);
    for is_late in [false, true] {
        session.delete(b"key").expect("no wait");
        let token = load(&mut session, b"key");
        if is_late {
            session.delete(b"key").expect("no wait");
        }
        let set = Set { condition: Condition::Unchanged(token), ..Set::default() };
        let outcome = session.set(b"key", &large, &set).expect("room");
        assert_eq!(matches!(outcome, Outcome::Stored(_)), !is_late);
        let mut value = Vec::new();
        assert_eq!(session.get(b"key", &mut value).is_some(), !is_late);
        assert_eq!(value == large, !is_late);
    }
}
