//! Sessions are light, and their requests allocate nothing once their buffers are warm.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

#[expect(dead_code, reason = "tests of one engine need more")]
mod session_support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::process::ExitCode;

use larder_store::{Answer, Delta, Pipeline, Put, Recipe, Session, SetOptions};
use larder_testkit::{has_program, trial_where};
use libtest_mimic::Arguments;

use session_support::open;

const MEMCACHED: Recipe = Recipe::server("memcached", "memcached");
const REDIS: Recipe = Recipe::server("redis-server", "redis-server");

fn main() -> ExitCode {
    larder_host::delay_proxy::serve_if_asked();
    let of_memcached = |name: &str, run: fn()| trial_where(|| has_program(&MEMCACHED), name, run);
    let of_redis = |name: &str, run: fn()| trial_where(|| has_program(&REDIS), name, run);
    let trials = vec![
        of_memcached("warm_buffers_are_enough::memcached", || {
            warm_buffers_are_enough(&[
                "memcached:",
                "memcached:?protocol=text",
                "memcached:?socket=on",
                "memcached:?nodes=3",
                "memcached:?nodes=3&protocol=text",
            ]);
        }),
        of_redis("warm_buffers_are_enough::redis", || {
            warm_buffers_are_enough(&["redis:", "redis:?nodes=3"]);
        }),
        of_memcached("sessions_are_light::memcached", || {
            sessions_are_light(&["memcached:", "memcached:?protocol=text", "memcached:?tls=on"]);
        }),
        of_redis("sessions_are_light::redis", || sessions_are_light(&["redis:", "redis:?tls=on"])),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// The system's allocator, with a count.
struct Counting;

thread_local! {
    /// The allocations of this thread, and the bytes that it has.
    static COUNTS: Cell<(u64, i64)> = const { Cell::new((0, 0)) };
}

fn count(n: u64, bytes: i64) {
    // A thread that ends has no counts any more.
    let _ = COUNTS.try_with(|counts| {
        let (n_before, bytes_before) = counts.get();
        counts.set((n_before + n, bytes_before + bytes));
    });
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, signed(layout.size()));
        // SAFETY: the caller keeps to the contract of this same function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(0, -signed(layout.size()));
        // SAFETY: the caller keeps to the contract of this same function.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, signed(size) - signed(layout.size()));
        // SAFETY: the caller keeps to the contract of this same function.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Keys of a batch.
const KEYS: usize = 100;

/// Sends requests of every kind together, waits for all answers, and counts the hits.
fn round(pipeline: &mut dyn Pipeline, keys: &[&[u8]], puts: &[Put<'_>], room: &mut [u8]) -> usize {
    let options = SetOptions::default();
    for (id, key) in keys.iter().take(16).enumerate() {
        pipeline.set(id, key, b"value", &options).unwrap();
        pipeline.get(id, key).unwrap();
        pipeline.touch(id, key, None).unwrap();
    }
    pipeline.set_many(16, puts).unwrap();
    pipeline.get_many(17, keys).unwrap();
    pipeline.delete(18, b"absent").unwrap();
    pipeline.get(19, b"absent").unwrap();
    pipeline.incr(20, b"absent", Delta::Up(1), None).unwrap();
    let mut n_hits = 0;
    while pipeline.n_outstanding() > 0 {
        pipeline.wait(room, &mut |_, answer| match answer {
            Answer::Hit { .. } | Answer::Entry { .. } => n_hits += 1,
            Answer::Failed(error) => panic!("{error}"),
            _ => {}
        });
    }
    n_hits
}

fn warm_buffers_are_enough(urls: &[&str]) {
    let keys: Vec<String> = (0..KEYS).map(|n| format!("key:{n:03}")).collect();
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    let values: Vec<Vec<u8>> = (0..KEYS).map(|n| vec![b'v'; n * 37]).collect();
    let options = SetOptions::default();
    let puts: Vec<Put<'_>> =
        keys.iter().zip(&values).map(|(key, value)| Put { key, value, options }).collect();
    for url in urls {
        let store = open(url);
        let session = &mut *store.session().unwrap();
        let mut room = vec![0; 64 * 1024];
        let mut allocations_of = |n_rounds: usize| {
            let before = COUNTS.get().0;
            for _ in 0..n_rounds {
                let pipeline = session.pipeline().unwrap();
                let n_hits = round(pipeline, &keys, &puts, &mut room);
                assert_eq!(n_hits, 16 + KEYS, "{url}");
            }
            COUNTS.get().0 - before
        };
        allocations_of(300);
        // A piece of an answer may be longer than any before.
        let n_allocations = allocations_of(300);
        assert!(n_allocations < 30, "{url}: {n_allocations} allocations in 300 rounds");
    }
}

/// A process may have ten thousand sessions.
fn sessions_are_light(urls: &[&str]) {
    const SESSIONS: usize = 500;
    const MOST_BYTES: i64 = 4096;
    for url in urls {
        let store = open(url);
        let before = COUNTS.get().1;
        let sessions: Vec<Box<dyn Session>> =
            (0..SESSIONS).map(|_| store.session().unwrap()).collect();
        let bytes = (COUNTS.get().1 - before) / signed(sessions.len());
        assert!(bytes <= MOST_BYTES, "{url}: {bytes} bytes for a session");
    }
}
