//! What is known of entries without their values, and the walk over all keys.

mod support;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use larder_segment::{Cache, Condition, Cursor, Delta, Facts, Options, Session, Set};
use support::folder;

fn set(session: &mut Session, key: &[u8], value: &[u8]) {
    session.set(key, value, &Set::default()).expect("a free lock");
}

/// All that one walk finds, in pieces of a few keys.
fn walk(session: &Session) -> Vec<(Vec<u8>, Facts)> {
    let (mut found, mut next) = (Vec::new(), Some(Cursor::default()));
    while let Some(from) = next {
        let from = Cursor::from_u64(from.to_u64());
        next = session.scan(from, 7, &mut |key, facts| found.push((key.to_vec(), facts)));
    }
    found
}

#[test]
fn facts_are_those_of_a_get_and_change_nothing() {
    let cache = Cache::private(&Options::of_size(8 << 20)).unwrap();
    let mut session = cache.session();
    for len in [0, 1, 100, 5000, 150_000, 1 << 20] {
        let of = Set { flags: 7, ttl: Some(Duration::from_hours(1)), ..Set::default() };
        session.set(b"key", &vec![1; len], &of).unwrap();
        let before = cache.stats();
        let facts = session.facts(b"key").unwrap();
        assert_eq!(cache.stats(), before, "neither a hit nor a miss");
        let mut value = Vec::new();
        let entry = session.get(b"key", &mut value).unwrap();
        assert_eq!((facts.len, facts.entry.flags), (value.len(), 7), "{len}");
        assert_eq!(facts.entry.version, entry.version);
        assert!(facts.entry.ttl.unwrap() > Duration::from_mins(59) && !facts.entry.stale);
    }
    assert_eq!(session.facts(b"other"), None);
    session.delete(b"key").unwrap();
    assert_eq!(session.facts(b"key"), None);
    session.set(b"key", b"gone", &Set { ttl: Some(Duration::ZERO), ..Set::default() }).unwrap();
    assert_eq!(session.facts(b"key"), None);
    set(&mut session, b"n", b"99");
    assert_eq!(session.incr(b"n", Delta::Up(1), None).unwrap().number(), Some(100));
    assert_eq!(session.facts(b"n").unwrap().len, 3, "the text of a number");
    session.expire(b"n", None).unwrap();
    assert!(session.facts(b"n").unwrap().entry.stale);
}

#[test]
fn an_entry_is_used_once_it_was_read() {
    let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
    let mut session = cache.session();
    set(&mut session, b"key", b"value");
    assert!(!session.facts(b"key").unwrap().is_used);
    assert!(!session.facts(b"key").unwrap().is_used, "facts are no use");
    session.get(b"key", &mut Vec::new()).unwrap();
    assert!(session.facts(b"key").unwrap().is_used);
    // It stays so when it is written anew because it was used.
    for key in 0..4000_u32 {
        set(&mut session, &key.to_le_bytes(), &[0; 200]);
    }
    assert!(session.facts(b"key").is_some_and(|facts| facts.is_used), "{:?}", cache.stats());
}

#[test]
fn a_walk_finds_each_key_of_its_namespace_once_where_nobody_writes() {
    let folder = folder();
    for cache in [
        Cache::private(&Options::of_size(16 << 20)).unwrap(),
        Cache::open(&folder.path().join("cache"), &Options::of_size(16 << 20)).unwrap(),
    ] {
        let mut wanted = HashMap::new();
        let (mut root, mut shop) = (cache.session(), cache.namespace("shop").unwrap().session());
        for key in 0..5000_u32 {
            let len = if key % 500 == 0 { 200_000 } else { key as usize % 900 };
            set(&mut root, &key.to_le_bytes(), &vec![1; len]);
            set(&mut shop, &key.to_le_bytes(), b"of the shop");
            wanted.insert(key.to_le_bytes().to_vec(), len);
        }
        assert_eq!(cache.stats().evictions(), 0);
        for key in 0..1000_u32 {
            root.delete(&key.to_le_bytes()).unwrap();
            wanted.remove(&key.to_le_bytes()[..]);
        }
        let found = walk(&root);
        assert_eq!(found.len(), wanted.len());
        let lens = found.into_iter().map(|(key, facts)| (key, facts.len)).collect();
        assert_eq!(wanted, lens);
        assert_eq!(walk(&shop).len(), 5000);
        assert!(walk(&shop).iter().all(|(_, facts)| facts.len == 11));
        shop.clear();
        assert_eq!(walk(&shop), []);
        cache.clear();
        assert_eq!(walk(&root), []);
    }
}

#[test]
fn a_key_that_stays_is_found_however_much_is_written_and_the_index_grows() {
    // Entries of 16 bytes, of which there are many more than the index begins with slots for.
    let options = Options { item: 4000, ..Options::of_size(8 << 20) };
    let cache = Cache::private(&options).unwrap();
    let mut session = cache.session();
    let stays = |key: u32| (u64::from(key) << 32 | 7).to_le_bytes();
    for key in 0..2000 {
        set(&mut session, &stays(key), b"stays");
    }
    let (is_over, others) = (Arc::new(AtomicBool::new(false)), cache.session());
    let writer = {
        let (is_over, mut session) = (Arc::clone(&is_over), others);
        std::thread::spawn(move || {
            for n in 0_u32.. {
                if is_over.load(Ordering::Relaxed) {
                    return n;
                }
                set(&mut session, &(n % 30_000).to_le_bytes(), b"others");
                let over = Set { condition: Condition::Present, ..Set::default() };
                session.set(&stays(n % 2000), b"again", &over).unwrap();
            }
            0
        })
    };
    let wanted: HashSet<Vec<u8>> = (0..2000).map(|key| stays(key).to_vec()).collect();
    let slots = || cache.survey().partitions.iter().map(|of| of.slots).sum::<u64>();
    let before = slots();
    let mut walks = 0_u32;
    while slots() < 2 * before || walks < 20 {
        let found: HashSet<Vec<u8>> = walk(&session).into_iter().map(|(key, _)| key).collect();
        let missing = wanted.difference(&found).count();
        assert_eq!(missing, 0, "in walk {walks}: {:?}", cache.stats());
        assert!(!writer.is_finished(), "the writer has failed");
        let of_one = session.facts(&stays(walks % 2000));
        assert!(of_one.is_some_and(|facts| facts.len == 5), "{of_one:?}");
        walks += 1;
    }
    is_over.store(true, Ordering::Relaxed);
    assert!(writer.join().unwrap() > 0);
    // Both buckets of a key may be full before the index has grown. That is rare: hashes differ from run to run.
    let evictions = cache.stats().evictions();
    assert!(evictions < 10, "the index has grown, and {evictions} entries had to go");
}
