//! The ways in which caches of several tiers are known to go wrong, the guard against each, and the tests that fail where
//! the guard is taken out. Files are those of `src/`; tests are those of this folder, unless they have a path.
//!
//! | trap | guard | tests |
//! |---|---|---|
//! | a reader stores an old value after a delete | tokens: `fill_token.rs`, `tokens.rs`; of a shared L1: `tier.rs` | `meanwhile`: a value that is overwritten while it is read …; `shared`: a value that another process changes while it is read … |
//! | an old L1 on other hosts | `l1_ttl`: `tier.rs`; the channel: `invalidation/publisher.rs` | above a ttl is capped …; `channel`: each write of one host …; `tests/consistency` |
//! | lost messages | numbers and an end of everything: `invalidation/numbers.rs`, `invalidation/subscriber.rs` | `channel`: a lost message …, what was stored without a subscriber …, while the channel is down … |
//! | the order of a write | the lowest tier first: `write/` | here: a value is above only once …, a read between the steps of a delete … |
//! | two writers in opposite orders | the tokens of writers: `fill_token.rs` | `meanwhile`: of two values written at once …; `shared`: of two values that two processes write … |
//! | a TTL that grows by a fill | the rest of the TTL below: `tier.rs` | above a ttl is capped …; `meanwhile`: a ttl is counted from before … |
//! | a soft and a hard delete are one | `expire` beside `delete`, and no fill of stale values: `leases/`, `read/` | `shared`: the lowest tier gives the leases …; here: a batch fills no stale value in, a deleted key has no older value … |
//! | tags by clocks | a tag is a counter, and a new one begins at random: `tags/number.rs`, `read/tag_state.rs` | `tags`: an entry whose counter is lost …, an older counter above …; `tests/tags` |
//! | a load that began before the end of a tag | tag versions from before the load: `load/mod.rs`, `load/many.rs` | `tests/tags`: a load that began before the end … |
//! | two loaders of an entry that a tag ended | it ends by its version, or by a turn: `write/end.rs` | `tests/tags`: of many that meet an entry …; `tests/herd.rs` |
//! | a load that began before a delete | the lease, or the fill token from before the load: `load/mod.rs` | `load`: a value that was loaded before a delete … |
//! | a refused set leaves the old value | the key is dropped: `tier.rs`, `write/` | a value that is known to be too large …, a write that fails below … |
//! | an absent key hides a new value | a fill token and a time: `loads/absent.rs` | `load`: a loader may decline …; here: an absent key is asked for again … |
//! | a write with an unknown outcome | a queued removal: `write/`, `write_behind/` | `write_behind`: a key whose write failed below … |
//! | a deleted value comes back where something fails | older values only where the lowest tier fails: `read/` | `grace`: where the lowest tier fails …; here: a deleted key has no older value … |
//! | storms of messages | each key once, and not to the own host: `invalidation/outbox.rs`, `invalidation/subscriber.rs` | here: a key that is written often …; `channel`: a message ends no other key … |
//! | the only subscriber of a host dies | a heartbeat that ends: `invalidation/election.rs` | `tests/hosts`: another process takes over … |
//! | a file of another version | its format: `cache/segment/src/superblock.rs` | `cache/segment/tests/file.rs`: what is no cache … |
//! | steps of the clock | durations of `Instant` here; of the file: `cache/segment/src/clock.rs` | `cache/segment/tests/clock.rs`: steps of the clock … |
//! | a write that leaves a tier out | that tier drops the key: `write/` | `write_behind`: a set around drops the key above; conditions are decided below |

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use larder_store::{Change, Error, Put, Session, SetOptions, Span, Store};
use larder_tiers::{Config, LoadOptions, Loaded, Tiers};

use super::bus::Bus;
use super::spy::spy;
use super::{get, open, set, stack, value};

#[test]
fn a_value_is_above_only_once_the_lowest_tier_has_it() {
    let many = |session: &mut dyn Session| {
        let put = Put { key: b"k", value: b"new", options: SetOptions::default() };
        session.set_many(&[put], &mut |_, outcome| assert!(outcome.is_ok())).unwrap();
    };
    let one = |session: &mut dyn Session| set(session, "k", b"new", None);
    for (name, write) in [("one", one as fn(&mut dyn Session)), ("many", many)] {
        let (store, l1, l2) = stack(&format!("traps-order/{name}"));
        let mut session = store.session().unwrap();
        set(&mut *session, "k", b"old", None);
        let above = Arc::clone(&l1);
        l2.when_begun(move || assert_ne!(value(&above, "k"), Some(b"new".to_vec()), "{name}"));
        write(&mut *session);
        assert_eq!(value(&l1, "k"), Some(b"new".to_vec()), "{name}");
    }
}

#[test]
fn a_read_between_the_steps_of_a_delete_leaves_nothing_above() {
    let many = |session: &mut dyn Session| {
        session.delete_many(&[b"k"], &mut |_, was_there| assert!(was_there.unwrap())).unwrap();
    };
    let one = |session: &mut dyn Session| assert!(session.delete(b"k").unwrap());
    for (name, delete) in [("one", one as fn(&mut dyn Session)), ("many", many)] {
        let (store, l1, l2) = stack(&format!("traps-steps/{name}"));
        let mut session = store.session().unwrap();
        set(&mut *session, "k", b"old", None);
        // The delete has reached the lowest tier, which still has the value, and a reader fills it in.
        let (other, forgetful) = (Arc::clone(&store), Arc::clone(&l1));
        l2.when_begun(move || {
            forgetful.lose("k");
            let read = move || get(&mut *other.session().unwrap(), "k");
            assert_eq!(thread::spawn(read).join().unwrap(), Some(b"old".to_vec()));
        });
        delete(&mut *session);
        assert!(l1.held("k").is_none() && l2.held("k").is_none(), "{name}");
        assert_eq!(get(&mut *session, "k"), None, "{name}");
    }
}

#[test]
fn a_batch_fills_no_stale_value_in() {
    let store = open("tiered:memory:|memory:");
    let mut session = store.session().unwrap();
    set(&mut *session, "k", b"old", None);
    assert!(session.leases().unwrap().expire(b"k", None).unwrap());
    session.get_many(&[b"k", b"absent"], &mut |_, _, meta| assert!(meta.stale)).unwrap();
    let found = session.get(b"k", &mut Vec::new()).unwrap();
    assert!(found.is_none_or(|meta| meta.stale), "the stale value is fresh above");
}

/// A stack with an hour of grace, over two spies or with leases below.
fn with_grace(near: &str, far: &str) -> Tiers {
    let config = Config { grace: Span(Duration::from_hours(1)), ..Config::default() };
    Tiers::new(vec![open(near), open(far)], &config).unwrap()
}

#[test]
fn a_deleted_key_has_no_older_value_for_readers_or_loaders() {
    let over = Some(Duration::from_mins(59));
    for (near, far) in [("spy:/traps-gone/1", "spy:/traps-gone/2"), ("memory:", "memory:")] {
        let store = with_grace(near, far);
        let mut session = store.open_session().unwrap();
        set(&mut session, "k", b"old", Some(Duration::from_millis(1)));
        while session.get(b"k", &mut Vec::new()).unwrap().is_some_and(|meta| !meta.stale) {
            thread::yield_now();
        }
        let spies =
            near.starts_with("spy").then(|| [1, 2].map(|n| spy(&format!("/traps-gone/{n}"))));
        for spy in spies.iter().flatten() {
            spy.put("k", b"old", over);
        }
        let load = |session: &mut larder_tiers::TiersSession| {
            let (mut value, options) = (Vec::new(), LoadOptions::default());
            let what = "the origin is down".to_owned();
            let failure = Error::Unavailable { engine: "loader", what, source: None };
            let loaded = session.get_or_load(b"k", &mut value, &options, |_| Err(failure));
            loaded.ok().flatten().map(|answer| (value, answer.stale))
        };
        // As long as it is only over, a loader that fails has it.
        assert_eq!(load(&mut session), Some((b"old".to_vec(), true)), "{far}");
        session.delete(b"k").unwrap();
        assert_eq!(load(&mut session), None, "{far}");
        if let Some([_, lowest]) = &spies {
            lowest.fail(true);
        }
        assert_eq!(load(&mut session), None, "{far}");
        assert_eq!(get(&mut session, "k"), None, "{far}");
    }
}

#[test]
fn an_absent_key_is_asked_for_again_after_its_time() {
    let store = with_grace("memory:", "memory:");
    let mut session = store.open_session().unwrap();
    let options = LoadOptions { absent: Duration::from_millis(50), ..LoadOptions::default() };
    let mut n_loads = 0;
    let begun = Instant::now();
    while n_loads < 3 {
        let loaded = session.get_or_load::<Error>(b"k", &mut Vec::new(), &options, |_| {
            n_loads += 1;
            Ok(Loaded::Absent)
        });
        assert!(loaded.unwrap().is_none());
        thread::sleep(Duration::from_millis(1));
        assert!(begun.elapsed() < Duration::from_mins(1), "it is absent for good");
    }
    assert!(begun.elapsed() >= 2 * options.absent, "it is not remembered");
}

#[test]
fn a_key_that_is_written_often_is_published_once() {
    let bus = Bus::new();
    let channel: Arc<Bus> = Arc::clone(&bus);
    let stores = vec![open("memory:"), open("spy:/traps-often")];
    let store = Tiers::with_channel(stores, &Config::default(), channel).unwrap();
    let mut session = store.session().unwrap();
    let held = bus.held();
    for _ in 0..1000 {
        set(&mut *session, "k", b"value", None);
    }
    drop(held);
    // The end publishes what waits.
    drop(session);
    drop(store);
    let keys = |change: Change| match change {
        Change::Keys(keys) => keys.len(),
        Change::Everything => 1000,
    };
    let n_keys: usize = bus.sent().into_iter().map(keys).sum();
    // One was on its way while the others were written.
    assert!((1..=2).contains(&n_keys), "{n_keys}");
}
