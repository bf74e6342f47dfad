//! Tags over spied tiers: the requests, and what is left where a counter is old, lost, or not told.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use larder_store::{Delta, Error, Leases, Session, SetMode, SetOptions, SetOutcome, Span, Store};
use larder_testkit::PATIENCE;
use larder_tiers::{Cap, Config, LoadOptions, Loaded, MAX_TAGS, Tiers, TiersSession};

use super::bus::Bus;
use super::spy::{Spy, spy};
use super::{get, mode, open, set, value};

const COUNTER: &str = "~larder-tag-t";

fn config() -> Config {
    Config { tags: true, ..Config::default() }
}

/// A stack with tags over two spies.
fn tagged(name: &str, config: &Config) -> (Tiers, [Arc<Spy>; 2]) {
    let paths = [1, 2].map(|level| format!("/tags/{name}/{level}"));
    let stores = paths.iter().map(|path| open(&format!("spy:{path}"))).collect();
    (Tiers::new(stores, config).unwrap(), paths.map(|path| spy(&path)))
}

fn put(session: &mut TiersSession, key: &str, value: &[u8], tags: &[&[u8]]) {
    let options = SetOptions::default();
    assert!(session.set_tagged(key.as_bytes(), value, &options, tags).unwrap().is_stored());
}

fn many(session: &mut TiersSession, keys: &[&str]) -> Vec<Option<Vec<u8>>> {
    let asked: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes()).collect();
    let mut found = vec![None; keys.len()];
    session.get_many(&asked, &mut |i, value, _| found[i] = Some(value.to_vec())).unwrap();
    found
}

#[test]
fn a_hit_asks_l1_alone_and_a_batch_for_all_counters_at_once() {
    let (store, [l1, l2]) = tagged("asks", &config());
    let mut session = store.open_session().unwrap();
    put(&mut session, "a", b"1", &[b"t"]);
    put(&mut session, "b", b"2", &[b"t", b"u"]);
    set(&mut session, "c", b"3", None);
    get(&mut session, "a");
    let _ = [l1.asked(), l2.asked()];
    assert_eq!(get(&mut session, "a"), Some(b"1".to_vec()));
    assert_eq!(get(&mut session, "c"), Some(b"3".to_vec()));
    assert_eq!(l1.asked(), ["get a", &format!("get {COUNTER}"), "get c"]);
    let found = many(&mut session, &["a", "b", "c", "d"]);
    let some = |value: &[u8]| Some(value.to_vec());
    assert_eq!(found, [some(b"1"), some(b"2"), some(b"3"), None]);
    assert_eq!(l1.asked(), ["get_many a b c d", "get_many ~larder-tag-t ~larder-tag-u"]);
    assert_eq!(l2.asked(), ["get_many d"]);
    // Three bytes are all that an entry without tags pays.
    assert_eq!(value(&l2, "c").map(|stored| stored.len()), Some(4));
}

#[test]
fn the_end_of_a_tag_is_one_step_however_many_entries_it_has() {
    let (store, [l1, l2]) = tagged("step", &config());
    let mut session = store.open_session().unwrap();
    let keys: Vec<String> = (0..50).map(|i| format!("k{i}")).collect();
    for key in &keys {
        put(&mut session, key, b"v", &[b"t"]);
    }
    set(&mut session, "other", b"v", None);
    let _ = [l1.asked(), l2.asked()];
    session.delete_tag(b"t").unwrap();
    assert_eq!(l2.asked(), [format!("incr {COUNTER}")]);
    assert_eq!(l1.asked(), [format!("delete {COUNTER}")]);
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    assert!(many(&mut session, &keys).iter().all(Option::is_none));
    assert_eq!(get(&mut session, keys[0]), None);
    assert_eq!(get(&mut session, "other"), Some(b"v".to_vec()));
}

#[test]
fn an_older_counter_above_ends_no_newer_entry_below() {
    let (one, [_, l2]) = tagged("older", &config());
    let near = spy("/tags/older/near");
    let stores = vec![open("spy:/tags/older/near"), open("spy:/tags/older/2")];
    let other = Tiers::new(stores, &config()).unwrap();
    let (mut one, mut other) = (one.open_session().unwrap(), other.open_session().unwrap());
    for by_batch in [false, true] {
        near.lose("k");
        put(&mut one, "k", b"old", &[b"t"]);
        assert_eq!(get(&mut other, "k"), Some(b"old".to_vec()));
        let counter = value(&near, COUNTER);
        assert!(counter.is_some(), "the counter is above");
        one.delete_tag(b"t").unwrap();
        put(&mut one, "k", b"new", &[b"t"]);
        near.lose("k");
        assert_eq!(value(&near, COUNTER), counter, "the other host has not heard of it");
        let found =
            if by_batch { many(&mut other, &["k", "x"])[0].clone() } else { get(&mut other, "k") };
        assert_eq!(found, Some(b"new".to_vec()));
        // An operation for which the tier decides does not end it either.
        near.put(COUNTER, &counter.unwrap(), None);
        assert!(!other.set(b"k", b"added", &mode(SetMode::Add)).unwrap().is_stored());
        assert!(l2.held("k").is_some());
    }
}

#[test]
fn an_entry_that_is_over_above_makes_room_for_the_newer_one() {
    let config = Config { grace: Span(Duration::from_hours(1)), ..config() };
    let (one, _) = tagged("room", &config);
    let near = spy("/tags/room/near");
    let stores = vec![open("spy:/tags/room/near"), open("spy:/tags/room/2")];
    let other = Tiers::new(stores, &config).unwrap();
    let (mut one, mut other) = (one.open_session().unwrap(), other.open_session().unwrap());
    for by_batch in [false, true] {
        put(&mut one, "k", b"old", &[b"t"]);
        near.lose("k");
        assert_eq!(get(&mut other, "k"), Some(b"old".to_vec()));
        one.expire_tag(b"t").unwrap();
        put(&mut one, "k", b"new", &[b"t"]);
        near.lose(COUNTER);
        let found =
            if by_batch { many(&mut other, &["k", "x"])[0].clone() } else { get(&mut other, "k") };
        assert_eq!(found, Some(b"new".to_vec()));
        assert!(value(&near, "k").is_some_and(|stored| stored.starts_with(b"new")));
    }
}

#[test]
fn an_entry_whose_counter_is_lost_does_not_come_back_with_another() {
    let (store, [l1, l2]) = tagged("lost", &config());
    let mut session = store.open_session().unwrap();
    put(&mut session, "k", b"old", &[b"t"]);
    let (above, below) = (value(&l1, "k").unwrap(), value(&l2, "k").unwrap());
    l1.lose(COUNTER);
    l2.lose(COUNTER);
    assert_eq!(get(&mut session, "k"), None);
    assert_eq!(many(&mut session, &["k"]), [None]);
    for _ in 0..100 {
        put(&mut session, "new", b"v", &[b"t"]);
        l1.put("k", &above, None);
        l2.put("k", &below, None);
        assert_eq!(get(&mut session, "k"), None);
        assert_eq!(get(&mut session, "new"), Some(b"v".to_vec()));
        l1.lose(COUNTER);
        l2.lose(COUNTER);
    }
}

#[test]
fn where_the_lowest_tier_fails_an_entry_is_an_answer_only_with_its_counters() {
    for grace in [false, true] {
        let grace_time = Span(if grace { Duration::from_hours(1) } else { Duration::ZERO });
        let config = Config { grace: grace_time, ..config() };
        let (store, [l1, l2]) = tagged(&format!("fails/{grace}"), &config);
        let mut session = store.open_session().unwrap();
        put(&mut session, "k", b"v", &[b"t"]);
        get(&mut session, "k");
        l2.fail(true);
        assert_eq!(get(&mut session, "k"), Some(b"v".to_vec()));
        // An older copy of the counter is enough for an older value.
        let number = value(&l1, COUNTER).unwrap();
        l1.put(COUNTER, &number, Some(Duration::from_mins(1)));
        let found = session.lookup(b"k", &mut Vec::new()).unwrap().found;
        assert_eq!(found.map(|found| found.meta.stale), Some(grace), "{grace}");
        l1.lose(COUNTER);
        assert_eq!(get(&mut session, "k"), None, "{grace}");
        assert_eq!(many(&mut session, &["k"]), [None], "{grace}");
        l2.fail(false);
        assert_eq!(get(&mut session, "k"), Some(b"v".to_vec()), "{grace}");
    }
}

/// As where the counter is on another server than the entry.
#[test]
fn an_entry_whose_counter_cannot_be_read_is_no_answer() {
    let stores = vec![open("spy:/tags/unsure/1"), open("spy:/tags/unsure/2?leases=on")];
    let [l1, l2] = [1, 2].map(|level| spy(&format!("/tags/unsure/{level}")));
    let store = Tiers::new(stores, &config()).unwrap();
    let mut session = store.open_session().unwrap();
    put(&mut session, "k", b"v", &[b"t"]);
    let keys: [&[u8]; 2] = [b"k", b"absent"];
    let forget = || {
        l1.lose("k");
        l1.lose(COUNTER);
    };
    l2.fail_each("get ~larder-tag-t");
    forget();
    assert_eq!(get(&mut session, "k"), None);
    assert_eq!(l1.held("k"), None, "it is not filled above");
    forget();
    assert!(session.get_or_lease(b"k", &mut Vec::new(), PATIENCE).is_err());
    forget();
    let mut answers = Vec::new();
    let asked = session.get_or_lease_many(&keys, PATIENCE, Duration::ZERO, &mut |i, _, leased| {
        answers.push((i, leased.is_ok()));
    });
    answers.sort_unstable();
    assert!(asked.is_ok() && answers == [(0, false), (1, true)], "{answers:?}");
    forget();
    assert_eq!(many(&mut session, &["k", "absent"]), [None, None]);
    assert_eq!(l1.held("k"), None, "it is not filled above");
    l2.fail_each("none");
    assert_eq!(many(&mut session, &["k", "absent"]), [Some(b"v".to_vec()), None]);
}

#[test]
fn a_value_whose_counter_cannot_be_read_leaves_no_older_value() {
    let (store, [l1, l2]) = tagged("failed", &config());
    let mut session = store.open_session().unwrap();
    set(&mut session, "k", b"old", None);
    l2.fail_each("get_many");
    let stored = session.set_tagged(b"k", b"new", &SetOptions::default(), &[b"t"]);
    assert!(stored.is_err());
    assert!(l1.held("k").is_none());
    l2.fail_each("none");
    let end = Instant::now() + PATIENCE;
    while l2.held("k").is_some() {
        assert!(Instant::now() < end, "the older value stays below");
        thread::yield_now();
    }
}

#[test]
fn what_a_stack_with_tags_cannot_do_is_refused() {
    let (store, [_, l2]) = tagged("refused", &config());
    let mut session = store.open_session().unwrap();
    let able = store.capabilities();
    assert!(!able.append && !able.incr && able.add);
    set(&mut session, "n", b"7", None);
    let refused = |done: Result<(), Error>| matches!(done, Err(Error::Unsupported { .. }));
    for join in [SetMode::Append, SetMode::Prepend] {
        assert!(refused(session.set(b"n", b"0", &mode(join)).map(drop)), "{join:?}");
    }
    assert!(refused(session.incr(b"n", Delta::Up(1), None).map(drop)));
    assert_eq!(get(&mut session, "n"), Some(b"7".to_vec()));
    let names = [&b"t"[..]; MAX_TAGS + 1];
    let stored = session.set_tagged(b"k", b"v", &SetOptions::default(), &names);
    assert!(stored.unwrap_err().to_string().contains("17 tags > limit 16"));
    // What a program without tags has stored is no entry, and no obstacle.
    l2.put("foreign", b"text", None);
    assert_eq!(get(&mut session, "foreign"), None);
    assert!(session.set(b"foreign", b"v", &mode(SetMode::Add)).unwrap().is_stored());
    let plain = Tiers::new(vec![open("memory:"), open("memory:")], &Config::default()).unwrap();
    let mut plain = plain.open_session().unwrap();
    let told = plain.delete_tag(b"t").unwrap_err().to_string();
    assert!(told.contains("without `tags=on`"), "{told}");
    let options = LoadOptions { tags: &[b"t"], ..LoadOptions::default() };
    let loaded = plain.get_or_load::<Error>(b"k", &mut Vec::new(), &options, |_| unreachable!());
    assert!(refused(loaded.map(drop)));
}

#[test]
fn the_end_of_a_tag_ends_what_is_known_as_absent() {
    let (store, _) = tagged("absent", &config());
    let mut session = store.open_session().unwrap();
    let absent = Duration::from_hours(1);
    let options = LoadOptions { absent, tags: &[b"t"], ..LoadOptions::default() };
    let mut n_loads = 0;
    let mut ask = |session: &mut TiersSession| {
        let loaded = session.get_or_load::<Error>(b"k", &mut Vec::new(), &options, |_| {
            n_loads += 1;
            Ok(Loaded::Absent)
        });
        assert!(loaded.unwrap().is_none());
        n_loads
    };
    assert_eq!([ask(&mut session), ask(&mut session)], [1, 1]);
    session.delete_tag(b"t").unwrap();
    assert_eq!([ask(&mut session), ask(&mut session)], [2, 2]);
}

#[test]
fn a_value_that_waits_to_be_written_ends_with_its_tag() {
    let config = Config { write: larder_tiers::WriteOrder::Behind, ..config() };
    let (store, [l1, l2]) = tagged("behind", &config);
    let mut session = store.open_session().unwrap();
    put(&mut session, "k", b"first", &[b"t"]);
    session.settle().unwrap();
    // Counters are made by `add`.
    l2.fail_each("set");
    put(&mut session, "k", b"v", &[b"t"]);
    l1.lose("k");
    assert_eq!(get(&mut session, "k"), Some(b"v".to_vec()));
    assert_eq!(many(&mut session, &["k"]), [Some(b"v".to_vec())]);
    l1.lose("k");
    session.delete_tag(b"t").unwrap();
    assert_eq!(get(&mut session, "k"), None);
    assert_eq!(many(&mut session, &["k"]), [None]);
    l2.fail_each("none");
    session.settle().unwrap();
    assert_eq!(get(&mut session, "k"), None);
    assert!(session.set(b"k", b"added", &mode(SetMode::Add)).unwrap().is_stored());
}

#[test]
fn other_hosts_hear_of_the_end_of_a_tag() {
    // Without the channel the copies above would live for an hour.
    let config = Config { l1_ttl: Cap(Some(Duration::from_hours(1))), ..config() };
    let bus = Bus::new();
    let host = || {
        let channel: Arc<Bus> = Arc::clone(&bus);
        let stores = vec![open("memory:?size=1m"), open("spy:/tags/hosts/2")];
        Tiers::with_channel(stores, &config, channel).unwrap()
    };
    let hosts = [host(), host()];
    let [mut one, mut other] = [0, 1].map(|i| hosts[i].open_session().unwrap());
    let until = |what: &str, is_so: &mut dyn FnMut() -> bool| {
        let end = Instant::now() + PATIENCE;
        while !is_so() {
            assert!(Instant::now() < end, "in vain until {what}");
            thread::sleep(Duration::from_millis(2));
        }
    };
    until("both subscribe", &mut || bus.n_subscribers() == 2);
    for lost in [false, true] {
        put(&mut one, "k", b"v", &[b"t"]);
        until("it is read", &mut || get(&mut other, "k").is_some());
        if lost {
            // Without a counter below there is nothing to step, and the other host still has its copy.
            spy("/tags/hosts/2").lose(COUNTER);
        }
        one.delete_tag(b"t").unwrap();
        until("it is gone", &mut || get(&mut other, "k").is_none());
        assert_eq!(get(&mut one, "k"), None);
    }
}

#[test]
fn a_set_without_tags_takes_them_away() {
    let (store, _) = tagged("away", &config());
    let mut session = store.open_session().unwrap();
    put(&mut session, "k", b"v", &[b"t"]);
    set(&mut session, "k", b"plain", None);
    session.delete_tag(b"t").unwrap();
    assert_eq!(get(&mut session, "k"), Some(b"plain".to_vec()));
    let replaced = session.set(b"k", b"more", &mode(SetMode::Replace)).unwrap();
    assert!(matches!(replaced, SetOutcome::Stored(_)));
}
