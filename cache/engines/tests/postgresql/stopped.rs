//! A server that is stopped in mid-run, then killed and started again. Every operation has an outcome, the acknowledged
//! entries are there, and the sessions work on.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use larder_store::{Error, Session, SetOptions, Store};
use larder_testkit::{PATIENCE, Postgres, within};
use libtest_mimic::Trial;

use crate::session_support::{failure, get, open, set};
use crate::{bytes, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("a_server_that_dies_is_an_error_until_it_is_back", a_server_that_dies),
        trial("a_server_that_pauses_is_a_timeout_until_it_goes_on", a_server_that_pauses),
        trial("every_operation_is_accounted_for_over_a_restart", over_a_restart),
    ]
}

fn a_server_that_dies() {
    let mut server = Postgres::start(&["fsync=off"]);
    let store = open(&format!("{}?table=logged", server.url()));
    let session = &mut *store.session().unwrap();
    set(session, "key", b"value");
    server.kill();
    let address = format!("127.0.0.1:{}", server.port());
    let closed = failure(session.get(b"key", &mut Vec::new()), "unavailable");
    // The server's child may notice that its parent is gone before the kernel ends it, and then it says so.
    let parted = ["closed the connection", "answered: terminating connection"];
    assert!(parted.iter().any(|how| closed.contains(&format!("{address} {how}"))), "{closed}");
    let refused = failure(session.get(b"key", &mut Vec::new()), "unavailable");
    assert!(refused.contains(&format!("{address} refused the connection")), "{refused}");
    let many = session.get_many(&[b"a", b"b"], &mut |_, _, _| {});
    assert_eq!(failure(many, "unavailable"), refused);
    failure(store.stats(), "unavailable");
    server.restart();
    assert_eq!(get(session, "key"), Some(b"value".to_vec()));
    assert_eq!(store.stats().unwrap().connections, Some(2));
}

fn a_server_that_pauses() {
    let server = Postgres::start(&["fsync=off"]);
    let store = open(&format!("{}?timeout=5s", server.url()));
    let session = &mut *store.session().unwrap();
    set(session, "key", b"value");
    server.pause();
    // The first get uses the open connection, and the second tries to open another.
    for _ in 0..2 {
        let start = Instant::now();
        let message = failure(session.get(b"key", &mut Vec::new()), "timeout");
        assert!(message.contains("no answer within 5000 ms from 127.0.0.1:"), "{message}");
        // The kernel's clocks are coarse.
        assert!(start.elapsed() > Duration::from_millis(4950), "{:?}", start.elapsed());
    }
    server.go_on();
    let deadline = Instant::now() + PATIENCE;
    while session.get(b"key", &mut Vec::new()).is_err() {
        assert!(Instant::now() < deadline, "the session does not work again");
    }
    assert_eq!(get(session, "key"), Some(b"value".to_vec()));
}

const THREADS: usize = 4;

/// The outcomes that the threads have seen so far.
#[derive(Default)]
struct Seen {
    ended: AtomicBool,
    n_good: AtomicUsize,
    n_failed: [AtomicUsize; THREADS],
}

/// Ends the threads where the test fails.
struct EndOnDrop<'a>(&'a AtomicBool);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// The outcomes of a thread's operations.
#[derive(Debug, Default)]
struct Done {
    sets: usize,
    gets: usize,
    stored: Vec<usize>,
    hits: usize,
    misses: usize,
    failed_sets: usize,
    failed_gets: usize,
}

fn over_a_restart() {
    let mut server = Postgres::start(&["fsync=off"]);
    let store = open(&format!("{}?table=logged&timeout=5s", server.url()));
    let seen = Seen::default();
    let done: Vec<Done> = scope(|scope| {
        let _ends = EndOnDrop(&seen.ended);
        let run = |thread: usize| {
            let (store, seen) = (&*store, &seen);
            scope.spawn(move || work(store, thread, seen))
        };
        let threads: Vec<_> = (0..THREADS).map(run).collect();
        let good_ones = |n: usize| {
            let wanted = seen.n_good.load(Ordering::SeqCst) + n;
            let is_reached = || seen.n_good.load(Ordering::SeqCst) >= wanted;
            assert!(within(PATIENCE, is_reached), "operations fail for good");
        };
        let failures_of_each = |n: usize| {
            let before = seen.n_failed.each_ref().map(|failed| failed.load(Ordering::SeqCst));
            let is_reached = || {
                let now = seen.n_failed.iter().map(|failed| failed.load(Ordering::SeqCst));
                now.zip(before).all(|(now, before)| now >= before + n)
            };
            assert!(within(PATIENCE, is_reached), "operations succeed without a server");
        };
        good_ones(500);
        server.pause();
        failures_of_each(1);
        server.kill();
        failures_of_each(2);
        server.restart();
        good_ones(500);
        seen.ended.store(true, Ordering::SeqCst);
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    // The server answers the final questions only, so they may take long.
    let patient = open(&format!("{}?table=logged", server.url()));
    // The store's counters agree with the results here: no operation counts twice, and no failure counts.
    let stats = store.stats().unwrap();
    let sum = |of: fn(&Done) -> usize| Some(done.iter().map(of).sum::<usize>() as u64);
    assert_eq!(stats.sets, sum(|done| done.sets - done.failed_sets));
    assert_eq!(stats.hits, sum(|done| done.gets - done.failed_gets));
    assert_eq!(stats.misses, Some(0));
    assert_eq!(stats.deletes, Some(0));
    // A failed set may have been carried out, but there are no more entries than that.
    let n_stored = sum(|done| done.stored.len()).unwrap();
    let at_most = n_stored + sum(|done| done.failed_sets).unwrap();
    assert!((n_stored..=at_most).contains(&stats.items.unwrap()), "{stats:?}");
    let session = &mut *patient.session().unwrap();
    for (thread, done) in done.iter().enumerate() {
        let Done { sets, gets, stored, hits, misses, failed_sets, failed_gets } = done;
        assert_eq!((*sets, *gets), (stored.len() + failed_sets, hits + misses + failed_gets));
        let errors = failed_sets + failed_gets;
        // One operation failed while the server paused, and two while it was gone.
        assert!(errors >= 3 && *misses == 0, "{thread}: {errors} errors, {misses} misses");
        for i in stored {
            let there = get(session, &key(thread, *i));
            assert!(
                there == Some(bytes(1000 + i)),
                "{thread}: set {i} was acknowledged and is gone"
            );
        }
    }
}

fn key(thread: usize, i: usize) -> String {
    format!("key:{thread}:{i}")
}

/// Stores values and reads them back until the end is set; counts each operation and its one outcome.
fn work(store: &dyn Store, thread: usize, seen: &Seen) -> Done {
    let mut session = store.session().unwrap();
    let mut done = Done::default();
    for i in 0.. {
        if seen.ended.load(Ordering::SeqCst) {
            break;
        }
        let key = key(thread, i);
        done.sets += 1;
        match session.set(key.as_bytes(), &bytes(1000 + i), &SetOptions::default()) {
            Ok(outcome) => {
                assert!(outcome.is_stored());
                done.stored.push(i);
                seen.n_good.fetch_add(1, Ordering::SeqCst);
            }
            Err(error) => failed(&mut done.failed_sets, &error, &seen.n_failed[thread]),
        }
        if let Some(last) = done.stored.last() {
            read(&mut *session, thread, *last, &mut done, &seen.n_failed[thread]);
        }
    }
    done
}

fn read(
    session: &mut dyn Session,
    thread: usize,
    i: usize,
    done: &mut Done,
    n_failed: &AtomicUsize,
) {
    let mut value = Vec::new();
    done.gets += 1;
    match session.get(key(thread, i).as_bytes(), &mut value) {
        Ok(Some(_)) => {
            assert!(value == bytes(1000 + i), "{thread}: a wrong value");
            done.hits += 1;
        }
        Ok(None) => done.misses += 1,
        Err(error) => failed(&mut done.failed_gets, &error, n_failed),
    }
}

fn failed(n_of_kind: &mut usize, error: &Error, n_failed: &AtomicUsize) {
    assert!(error.is_retryable(), "{error}");
    *n_of_kind += 1;
    n_failed.fetch_add(1, Ordering::SeqCst);
    // A refused connection fails at once.
    sleep(Duration::from_millis(5));
}
