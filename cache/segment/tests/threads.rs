//! Threads that read and write the same keys, more than there is room for. Sanitizers and Miri run this test, so it uses no
//! files, no processes and little time.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use larder_segment::{Cache, Condition, Failed, Leased, Options, Session, Set};

/// The smallest region, where an interpreter runs it with few keys.
const OPTIONS: Options = Options { item: 16_000, max_key: 64, ..Options::of_size(1 << 20) };
const KEYS: u64 = if cfg!(miri) { 3 } else { 200 };
const ROUNDS: u64 = if cfg!(miri) { 60 } else { 20_000 };

/// The value of a key in a round: of one word over and over, some of it in chunks.
fn value(key: u64, round: u64) -> Vec<u8> {
    let words = if round.is_multiple_of(16) { 2500 } else { 100 + round % 800 };
    (0..words).flat_map(|_| (key << 32 | round).to_ne_bytes()).collect()
}

fn check(session: &mut Session, key: u64, found: &mut Vec<u8>) -> bool {
    let is_there = session.get(&key.to_ne_bytes(), found).is_some();
    if is_there {
        let word = u64::from_ne_bytes(*found.first_chunk().unwrap());
        assert_eq!(word >> 32, key);
        assert!(*found == value(key, word & 0xffff_ffff), "{key}: {word:x}");
    }
    is_there
}

#[test]
fn threads_find_whole_values_while_others_write_and_evict_them() {
    let cache = Cache::private(&OPTIONS).unwrap();
    let has_ended = AtomicBool::new(false);
    let (mut hits, cache_of) = (0, || Arc::clone(&cache));
    std::thread::scope(|scope| {
        let writers = [0, 1].map(|writer| {
            let cache = cache_of();
            scope.spawn(move || {
                let mut session = cache.session();
                for round in 0..ROUNDS {
                    let key = (round * 7 + writer) % KEYS;
                    let name = key.to_ne_bytes();
                    // Another thread may hold the lock for longer than the session waits under
                    // Miri.
                    let _ = session.set(&name, &value(key, round), &Set::default());
                    if round % 9 == writer {
                        session.delete(&name).unwrap();
                    }
                }
            })
        });
        let reader = scope.spawn(|| {
            let (mut session, mut found, mut hits) = (cache_of().session(), Vec::new(), 0);
            while !has_ended.load(Ordering::Relaxed) {
                hits += (0..KEYS).filter(|key| check(&mut session, *key, &mut found)).count();
            }
            hits
        });
        for writer in writers {
            writer.join().unwrap();
        }
        has_ended.store(true, Ordering::Relaxed);
        hits = reader.join().unwrap();
    });
    assert!(hits > 0, "nothing was ever found");
    if !cfg!(miri) {
        assert!(cache.stats().evictions() > 0, "the region never was full");
    }
}

#[test]
fn of_threads_that_ask_at_once_one_loads_each_key() {
    const LOADED: u64 = if cfg!(miri) { 4 } else { 2000 };
    let cache = Cache::private(&Options::of_size(4 << 20)).unwrap();
    let loads: Vec<AtomicU64> = (0..LOADED).map(|_| AtomicU64::new(0)).collect();
    let work = || {
        let (mut session, mut found) = (cache.session(), Vec::new());
        for key in 0..LOADED {
            let name = key.to_ne_bytes();
            loop {
                match session.get_or_lease(
                    &name,
                    &mut found,
                    Duration::from_hours(1),
                    Duration::ZERO,
                ) {
                    Ok(Leased::Hit(_)) => break,
                    Ok(Leased::Load { token, .. }) => {
                        loads[usize::try_from(key).unwrap()].fetch_add(1, Ordering::Relaxed);
                        let condition = Condition::Unchanged(token);
                        let set = Set { condition, ..Set::default() };
                        // Another thread may hold the lock for longer than the session waits.
                        while session.set(&name, &name, &set).is_err() {
                            std::thread::yield_now();
                        }
                    }
                    Ok(Leased::Wait { .. }) | Err(Failed::Busy { .. }) => std::thread::yield_now(),
                    Err(other) => panic!("{other}"),
                }
            }
            assert_eq!(found, name);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(work);
        }
    });
    for (key, loads) in loads.into_iter().enumerate() {
        assert_eq!(loads.into_inner(), 1, "loads of {key}");
    }
}
