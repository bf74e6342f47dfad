//! Reads beside a writer that always leaves a value under the key: no read may miss.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use larder_segment::{Cache, Options, Session, Set};

const OPTIONS: Options = Options { item: 1024, ..Options::of_size(8 << 20) };

const KEY: &[u8] = b"key";

/// The time for which reader and writer work.
const LONG: Duration = Duration::from_millis(1500);

/// Stores a value of this length, and reads it again and again while another thread does its work.
fn read_beside(len: usize, work: impl Fn(&mut Session) + Send) {
    let cache = Cache::private(&OPTIONS).expect("a region");
    let mut session = cache.session();
    let value = vec![b'v'; len];
    let set = |session: &mut Session| {
        session.set(KEY, &value, &Set::default()).expect("room");
    };
    set(&mut session);
    let is_over = &AtomicBool::new(false);
    let writer = Arc::clone(&cache);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut session = writer.session();
            let began = Instant::now();
            while began.elapsed() < LONG {
                work(&mut session);
            }
            is_over.store(true, Ordering::Relaxed);
        });
        let (mut found, mut reads) = (Vec::new(), 0_u32);
        while !is_over.load(Ordering::Relaxed) {
            reads += 1;
            if session.get(KEY, &mut found).is_some() {
                assert_eq!(found, value);
                continue;
            }
            // A reader without a processor for a long time may find that the key was evicted. Then the key is absent now,
            // too.
            assert!(session.get(KEY, &mut found).is_none(), "missed after {reads} reads");
            set(&mut session);
        }
    });
}

#[test]
fn a_value_in_chunks_that_is_stored_again_is_never_missing() {
    let value = vec![b'v'; 100_000];
    read_beside(value.len(), move |session| {
        session.set(KEY, &value, &Set::default()).expect("room");
    });
}

#[test]
fn a_value_that_is_moved_on_is_never_missing() {
    // Entries that are stored once and never read push the entries that are read from segment to
    // segment.
    let number = Cell::new(0_u64);
    read_beside(100, move |session| {
        for _ in 0..20 {
            number.set(number.get() + 1);
            session.set(&number.get().to_le_bytes(), &[b'w'; 1000], &Set::default()).expect("room");
        }
    });
}
