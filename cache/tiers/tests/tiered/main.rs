//! `tiered:` over spied tiers: the requests, entries and answers of each tier.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod bus;
mod channel;
mod grace;
mod layers;
mod load;
mod load_many;
mod meanwhile;
mod model;
mod quarantine;
mod shared;
mod spied_leases;
mod spy;
mod tags;
mod traps;
mod write_behind;

use std::sync::Arc;
use std::time::{Duration, Instant};

use larder_store::{
    Delta, Error, Meta, Ownership, Remaining, Session, SetMode, SetOptions, SetOutcome, Store,
    StoreUrl, TierStats,
};
use larder_testkit::{get, set};
use larder_tiers::{Config, Tiers};
use spy::{Spy, catalog, spy};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);

fn open(url: &str) -> Arc<dyn Store> {
    catalog().open(&StoreUrl::parse(url).unwrap()).unwrap()
}

/// A stack of two tiers for one test, and the spies of both tiers.
fn stack(name: &str) -> (Arc<dyn Store>, Arc<Spy>, Arc<Spy>) {
    let store = open(&format!("tiered:spy:/{name}/1|spy:/{name}/2"));
    (store, spy(&format!("/{name}/1")), spy(&format!("/{name}/2")))
}

fn value(spy: &Spy, key: &str) -> Option<Vec<u8>> {
    spy.held(key).map(|(value, _)| value)
}

fn ttl(spy: &Spy, key: &str) -> Duration {
    match spy.held(key).unwrap().1.ttl {
        Remaining::For(left) => left,
        other => panic!("the remaining ttl is {other:?}"),
    }
}

fn counts(store: &dyn Store) -> Vec<(u64, u64, u64, u64)> {
    let told = |tier: &TierStats| (tier.hits, tier.misses, tier.fills, tier.refused);
    store.tiers().iter().map(told).collect()
}

#[test]
fn a_stack_is_made_of_open_stores() {
    let [near, far] = ["spy:/made/1", "spy:/made/2"].map(open);
    let store = Tiers::new(vec![near, far], &Config::default()).unwrap();
    set(&mut *store.session().unwrap(), "k", b"v", None);
    assert_eq!(value(&spy("/made/1"), "k").as_deref(), Some(&b"v"[..]));
    assert_eq!(value(&spy("/made/2"), "k").as_deref(), Some(&b"v"[..]));
    assert_eq!(
        store.tiers().iter().map(|tier| &*tier.name).collect::<Vec<_>>(),
        ["L1 spy:", "L2 spy:"]
    );
    let one = Tiers::new(vec![open("spy:/made/1")], &Config::default()).unwrap_err().to_string();
    assert!(one.contains("at least two tiers"), "{one}");
}

#[test]
fn a_hit_of_a_tier_below_is_filled_in_above_and_counted() {
    let (store, l1, l2) = stack("fill");
    let mut session = store.session().unwrap();
    l2.put("k", b"value", None);
    for _ in 0..3 {
        assert_eq!(get(&mut *session, "k"), Some(b"value".to_vec()));
    }
    assert_eq!(get(&mut *session, "absent"), None);
    // A fill uses `add`, so it does not replace a newer write.
    assert_eq!(l1.asked(), ["get k", "add k", "get k", "get k", "get absent"]);
    assert_eq!(l2.asked(), ["get k", "get absent"]);
    assert_eq!(l1.held("k").unwrap().1.flags, 7);
    assert_eq!(counts(&*store), [(2, 2, 1, 0), (1, 1, 0, 0)]);
    let stats = store.stats().unwrap();
    assert_eq!((stats.hits, stats.misses), (Some(3), Some(1)));
}

#[test]
fn above_a_ttl_is_capped_and_never_extended() {
    let store = open("tiered:spy:/ttl/1|spy:/ttl/2|?l1_ttl=10m&jitter=0");
    let [l1, l2] = [1, 2].map(|level| spy(&format!("/ttl/{level}")));
    let mut session = store.session().unwrap();
    // First, values that are written through.
    for (given, most) in [(None, 10), (Some(60), 10), (Some(5), 5)] {
        // Where the set above takes long, the entry could outlive the one below, and is taken back.
        let begun = Instant::now();
        loop {
            set(&mut *session, "k", b"value", given.map(Duration::from_mins));
            if l1.held("k").is_some() {
                break;
            }
            assert!(begun.elapsed() < MINUTE, "{given:?}: it is always taken back");
        }
        let kept = ttl(&l1, "k");
        assert!(kept <= most * MINUTE && kept > (most - 1) * MINUTE, "{given:?}: {kept:?}");
    }
    set(&mut *session, "k", b"value", Some(Duration::ZERO));
    assert!(l1.held("k").is_none() && l2.held("k").is_none());
    // Then values that are filled in.
    for (left, most) in [(None, 10), (Some(60), 10), (Some(3), 3)] {
        // The same holds for a fill.
        let begun = Instant::now();
        loop {
            l2.put("k", b"value", left.map(Duration::from_mins));
            l1.lose("k");
            assert!(get(&mut *session, "k").is_some());
            if l1.held("k").is_some() {
                break;
            }
            assert!(begun.elapsed() < MINUTE, "{left:?}: it is always taken back");
        }
        let kept = ttl(&l1, "k");
        assert!(kept <= most * MINUTE && kept > (most - 1) * MINUTE, "{left:?}: {kept:?}");
        assert!(left.is_none() || kept <= ttl(&l2, "k"), "outlives the entry below");
    }
    // The remaining TTL is too short for a fill.
    l2.put("k", b"value", Some(Duration::from_millis(8)));
    l1.lose("k");
    get(&mut *session, "k");
    assert!(l1.held("k").is_none());
}

#[test]
fn without_a_cap_an_entry_lives_above_as_long_as_below_and_tells_it() {
    let store = open("tiered:spy:/uncapped/1|spy:/uncapped/2|?l1_ttl=off");
    let mut session = store.session().unwrap();
    assert!(store.capabilities().ttl_left);
    set(&mut *session, "k", b"value", None);
    assert_eq!(spy("/uncapped/1").held("k").unwrap().1.ttl, Remaining::Forever);
    let meta = session.get(b"k", &mut Vec::new()).unwrap();
    assert_eq!(meta, Some(Meta { flags: 0, version: None, ttl: Remaining::Forever, stale: false }));
    // Where the set above takes long, the entry could outlive the one below, and is taken back.
    let above = spy("/uncapped/1");
    while above.held("k").is_none_or(|(_, meta)| meta.ttl == Remaining::Forever) {
        set(&mut *session, "k", b"value", Some(60 * MINUTE));
    }
    assert!(ttl(&above, "k") > 59 * MINUTE);
}

#[test]
fn a_value_that_l1_does_not_take_drops_the_old_one() {
    let store = open("tiered:spy:/large/1?max=10|spy:/large/2");
    let (l1, mut session) = (spy("/large/1"), store.session().unwrap());
    set(&mut *session, "k", b"small", None);
    assert!(l1.held("k").is_some());
    set(&mut *session, "k", b"larger than ten", None);
    assert_eq!(value(&l1, "k"), None);
    for _ in 0..2 {
        assert_eq!(get(&mut *session, "k"), Some(b"larger than ten".to_vec()));
    }
    assert_eq!(counts(&*store), [(0, 2, 0, 3), (2, 0, 0, 0)]);
}

#[test]
fn a_value_that_is_known_to_be_too_large_for_l1_is_not_sent_there() {
    let store = open("tiered:moka:?size=4k|spy:/known/2");
    let mut session = store.session().unwrap();
    set(&mut *session, "k", b"small", None);
    set(&mut *session, "k", &[7; 5000], None);
    assert_eq!(get(&mut *session, "k"), Some(vec![7; 5000]));
    assert_eq!(counts(&*store)[0], (0, 1, 0, 2));
}

#[test]
fn delete_removes_from_every_tier_and_is_true_if_any_had_it() {
    let (store, l1, l2) = stack("delete");
    let mut session = store.session().unwrap();
    set(&mut *session, "k", b"value", None);
    l1.asked();
    l2.asked();
    assert!(session.delete(b"k").unwrap());
    assert_eq!((l1.asked(), l2.asked()), (vec!["delete k".into()], vec!["delete k".into()]));
    assert!(l1.held("k").is_none() && l2.held("k").is_none());
    for only in [&l1, &l2] {
        only.put("k", b"value", None);
        assert!(session.delete(b"k").unwrap());
    }
    assert!(!session.delete(b"k").unwrap());
}

#[test]
fn a_write_that_fails_below_drops_the_key_above_and_is_the_error() {
    let store = open("tiered:spy:/l2-fails/1|spy:/l2-fails/2|?on_write_error=keep");
    let [l1, l2] = [1, 2].map(|level| spy(&format!("/l2-fails/{level}")));
    let mut session = store.session().unwrap();
    let writes: [Write; 5] = [
        |session| session.set(b"k", b"new", &SetOptions::default()).is_err(),
        |session| session.set(b"k", b"+", &mode(SetMode::Append)).is_err(),
        |session| session.delete(b"k").is_err(),
        |session| session.touch(b"k", None).is_err(),
        |session| session.incr(b"k", Delta::Up(1), None).is_err(),
    ];
    for (number, write) in writes.into_iter().enumerate() {
        set(&mut *session, "k", b"5", None);
        l2.fail(true);
        assert!(write(&mut *session), "write {number} is no error");
        assert!(l1.held("k").is_none(), "write {number} leaves the key in L1");
        l2.fail(false);
        assert_eq!(get(&mut *session, "k"), Some(b"5".to_vec()));
    }
}

/// A write that returns whether it was an error.
type Write = fn(&mut dyn Session) -> bool;

fn mode(mode: SetMode) -> SetOptions {
    SetOptions { mode, ..SetOptions::default() }
}

#[test]
fn a_read_fails_only_where_no_tier_above_answered() {
    let store = open("tiered:spy:/read-fails/1|spy:/read-fails/2|?on_error=error");
    let l2 = spy("/read-fails/2");
    let mut session = store.session().unwrap();
    set(&mut *session, "k", b"value", None);
    l2.fail(true);
    assert_eq!(get(&mut *session, "k"), Some(b"value".to_vec()));
    session.get_many(&[b"k", b"k"], &mut |_, _, _| {}).unwrap();
    assert!(session.get(b"absent", &mut Vec::new()).is_err());
    assert!(session.get_many(&[b"k", b"absent"], &mut |_, _, _| {}).is_err());
}

#[test]
fn a_dead_lowest_tier_is_a_miss_that_is_counted() {
    let (store, _, l2) = stack("dead");
    let mut session = store.session().unwrap();
    set(&mut *session, "k", b"value", None);
    l2.fail(true);
    assert_eq!(get(&mut *session, "absent"), None);
    let mut hits = Vec::new();
    session.get_many(&[b"k", b"absent"], &mut |i, _, _| hits.push(i)).unwrap();
    assert_eq!(hits, [0]);
    assert_eq!(store.tiers()[1].errors, 2);
    assert!(session.set(b"k", b"new", &SetOptions::default()).is_err(), "a write is no miss");
}

#[test]
fn the_tier_that_answered_is_told() {
    let [near, far] = ["spy:/told/1", "spy:/told/2"].map(open);
    let store = Tiers::new(vec![near, far], &Config::default()).unwrap();
    let mut session = store.open_session().unwrap();
    let mut tier_of = |key: &str| {
        let lookup = session.lookup(key.as_bytes(), &mut Vec::new()).unwrap();
        (lookup.found.map(|found| found.tier), lookup.failed)
    };
    spy("/told/2").put("k", b"value", None);
    assert_eq!(
        ["k", "k", "absent"].map(&mut tier_of),
        [(Some(2), false), (Some(1), false), (None, false)]
    );
    spy("/told/2").fail(true);
    assert_eq!(["k", "absent"].map(tier_of), [(Some(1), false), (None, true)]);
}

#[test]
fn a_batch_asks_each_tier_once_and_only_for_missing_keys() {
    let store = open("tiered:spy:/batch/1|spy:/batch/2|spy:/batch/3");
    let [l1, l2, l3] = [1, 2, 3].map(|level| spy(&format!("/batch/{level}")));
    let mut session = store.session().unwrap();
    l1.put("a", b"A", None);
    l2.put("b", b"B", None);
    l3.put("c", b"C", None);
    let keys: [&[u8]; 5] = [b"a", b"b", b"c", b"d", b"c"];
    let batch = |session: &mut dyn Session| {
        let mut hits = Vec::new();
        session.get_many(&keys, &mut |i, value, _| hits.push((i, value.to_vec()))).unwrap();
        hits.sort();
        hits
    };
    let all = [(0, b"A".to_vec()), (1, b"B".to_vec()), (2, b"C".to_vec()), (4, b"C".to_vec())];
    assert_eq!(batch(&mut *session), all);
    assert_eq!(l1.asked(), ["get_many a b c d c", "add b", "add c", "add c"]);
    assert_eq!(l2.asked(), ["get_many b c d c", "add c", "add c"]);
    assert_eq!(l3.asked(), ["get_many c d c"]);
    assert_eq!(counts(&*store), [(1, 4, 2, 0), (1, 3, 1, 0), (2, 1, 0, 0)]);
    assert_eq!(batch(&mut *session), all);
    assert_eq!(
        (l1.asked().len(), l2.asked(), l3.asked()),
        (1, vec!["get_many d".into()], vec!["get_many d".into()])
    );
    // When L1 has all keys, no other tier is asked.
    session.get_many(&[b"a", b"b"], &mut |_, _, _| {}).unwrap();
    assert_eq!((l2.asked().len(), l3.asked().len()), (0, 0));
}

#[test]
fn a_key_that_l1_cannot_take_spoils_no_batch() {
    let store = open("tiered:spy:/long/1?max_key=3|spy:/long/2");
    let [l1, l2] = [1, 2].map(|level| spy(&format!("/long/{level}")));
    let mut session = store.session().unwrap();
    for key in ["a", "long", "b"] {
        l2.put(key, key.as_bytes(), None);
    }
    for _ in 0..2 {
        let mut hits = Vec::new();
        let keys: [&[u8]; 3] = [b"a", b"long", b"b"];
        session.get_many(&keys, &mut |i, value, _| hits.push((i, value.to_vec()))).unwrap();
        hits.sort();
        assert_eq!(hits, [(0, b"a".to_vec()), (1, b"long".to_vec()), (2, b"b".to_vec())]);
    }
    assert_eq!(l1.asked(), ["get_many a b", "add a", "add b", "get_many a b"]);
    assert_eq!(l2.asked(), ["get_many a long b", "get_many long"]);
    assert_eq!(get(&mut *session, "long"), Some(b"long".to_vec()));
    set(&mut *session, "long", b"new", None);
    assert!(session.delete(b"long").unwrap());
    assert_eq!(l1.asked(), [""; 0]);
    // L1 was not asked and did not fail: its miss counts.
    assert_eq!(counts(&*store), [(2, 5, 2, 4), (5, 0, 0, 0)]);
    assert_eq!(store.tiers()[0].errors, 0);
}

#[test]
fn values_that_are_written_are_counted_apart() {
    let (store, _, l2) = stack("puts");
    let mut session = store.session().unwrap();
    for _ in 0..3 {
        set(&mut *session, "k", b"value", None);
    }
    l2.put("other", b"value", None);
    get(&mut *session, "other");
    let l1 = &store.tiers()[0];
    assert_eq!((l1.puts, l1.fills, l1.refused), (3, 1, 0));
}

#[test]
fn connections_are_known_where_every_server_tells_them() {
    let connections = |tiers: &str| open(&format!("tiered:{tiers}")).stats().unwrap().connections;
    let known = "spy:/connections/1?server=true&connections=3";
    let unknown = "spy:/connections/2?server=true";
    let embedded = "spy:/connections/3";
    for (tiers, sum) in [
        (format!("{known}|{known}"), Some(6)),
        (format!("{embedded}|{known}"), Some(3)),
        (format!("{known}|{embedded}"), Some(3)),
        (format!("{known}|{unknown}"), None),
        (format!("{unknown}|{known}"), None),
        (format!("{embedded}|{embedded}"), None),
    ] {
        assert_eq!(connections(&tiers), sum, "{tiers}");
    }
    // One server behind two tiers uses its CPU time once.
    let both = open(&format!("tiered:{known}|{unknown}"));
    assert_eq!(both.info().server_pids, [77]);
}

#[test]
fn conditions_are_decided_below() {
    let (store, l1, l2) = stack("conditions");
    let mut session = store.session().unwrap();
    let mut outcome = |mode_of, key: &str, value: &[u8]| {
        session.set(key.as_bytes(), value, &mode(mode_of)).unwrap()
    };
    // L1 has forgotten the key, or never had it, or still has a key that is gone below.
    l2.put("there", b"5", None);
    l1.put("gone", b"old", None);
    assert_eq!(outcome(SetMode::Add, "there", b"x"), SetOutcome::NotStored);
    assert_eq!(outcome(SetMode::Replace, "gone", b"x"), SetOutcome::NotStored);
    assert!(l1.held("gone").is_none(), "what is gone below goes above");
    assert!(outcome(SetMode::Add, "gone", b"new").is_stored());
    assert_eq!(value(&l1, "gone"), Some(b"new".to_vec()));
    assert!(outcome(SetMode::Append, "there", b"0").is_stored());
    let refused = session.set(b"there", b"x", &mode(SetMode::Cas(1)));
    assert!(matches!(refused, Err(Error::Unsupported { operation: "cas", .. })), "{refused:?}");
    assert_eq!(get(&mut *session, "there"), Some(b"50".to_vec()));
    assert!(l1.held("there").is_some());
    assert_eq!(session.incr(b"there", Delta::Up(1), None).unwrap().map(|n| n.number), Some(51));
    assert!(l1.held("there").is_none());
    assert_eq!(get(&mut *session, "there"), Some(b"51".to_vec()));
    assert!(session.touch(b"there", Some(SECOND)).unwrap());
    assert!(l1.held("there").is_none());
}

#[test]
fn tiers_that_do_not_fit_together_are_refused_in_one_line() {
    for (url, needle) in [
        ("tiered:", "at least two tiers; write `tiered:moka:|memcached:`"),
        ("tiered:moka:", "at least two tiers"),
        ("tiered:moka:|?l1_ttl=1s", "at least two tiers"),
        ("tiered:null:|moka:", "L1 null: keeps nothing"),
        ("tiered:spy:/r1?ttl=off|moka:", "L1 spy: has no TTL"),
        ("tiered:moka:|spy:/r2?ttl_left=off&name=x|?l1_ttl=off", "write `|?l1_ttl=10s`"),
        ("tiered:moka:|nosuch:", "unknown engine `nosuch:`"),
        ("tiered:moka:?sise=1m|moka:", "moka: unknown option `sise`"),
        (
            "tiered:moka:|moka:|?l1_tll=1s",
            "tiered: unknown option `l1_tll`; known: l1_ttl, jitter, grace, on_error, soft_timeout, on_write_error, write, tags, queue, spans, room",
        ),
    ] {
        let opened = StoreUrl::parse(url).and_then(|url| catalog().open(&url));
        let error = opened.expect_err(url).to_string();
        assert!(error.contains(needle) && !error.contains('\n'), "{url}: {error}");
    }
}

#[test]
fn a_stack_tells_its_tiers_and_their_settings() {
    let store = open("tiered:moka:?size=64m&name=near|spy:/info/2|?room=1m&l1_ttl=off");
    let info = store.info();
    assert_eq!((info.scheme, info.ownership), ("tiered", Ownership::Embedded));
    assert!(info.version.unwrap().starts_with("moka 0."));
    for (name, text) in [("l1_ttl", "off"), ("l1.size", "64 MiB"), ("l1.policy", "tinylfu")] {
        assert_eq!(info.settings[name], text);
    }
    let names: Vec<String> = store.tiers().into_iter().map(|tier| tier.name).collect();
    assert_eq!(names, ["L1 near", "L2 spy:"]);
    // The option `room` of the stack applies to the tier without a capacity.
    assert_eq!(store.stats().unwrap().capacity_bytes, Some(1 << 20));
}
