//! A server that is stopped in mid-run, then killed and started again. Every operation has an outcome, the acknowledged
//! entries are there, and the sessions work on.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use larder_store::{Error, Session, SetOptions, SetOutcome, Store};
use larder_testkit::{PATIENCE, Postgres};
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
    let store = open(&format!("{}?timeout=2s", server.url()));
    let session = &mut *store.session().unwrap();
    set(session, "key", b"value");
    server.pause();
    // The first get uses the open connection, and the second tries to open another.
    for _ in 0..2 {
        let start = Instant::now();
        let message = failure(session.get(b"key", &mut Vec::new()), "timeout");
        assert!(message.contains("no answer within 2000 ms from 127.0.0.1:"), "{message}");
        // The kernel's clocks are coarse.
        assert!(start.elapsed() > Duration::from_millis(1950), "{:?}", start.elapsed());
    }
    server.go_on();
    let deadline = Instant::now() + PATIENCE;
    while session.get(b"key", &mut Vec::new()).is_err() {
        assert!(Instant::now() < deadline, "the session does not work again");
    }
    assert_eq!(get(session, "key"), Some(b"value".to_vec()));
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
    const THREADS: usize = 4;
    let mut server = Postgres::start(&[]);
    let store = open(&format!("{}?table=logged&timeout=500ms", server.url()));
    let (ended, n_good) = (AtomicBool::new(false), AtomicUsize::new(0));
    let done: Vec<Done> = scope(|scope| {
        let run = |thread: usize| {
            let (store, ended, n_good) = (&*store, &ended, &n_good);
            scope.spawn(move || work(store, thread, ended, n_good))
        };
        let threads: Vec<_> = (0..THREADS).map(run).collect();
        let good_ones = |n: usize| {
            let (start, before) = (Instant::now(), n_good.load(Ordering::SeqCst));
            while n_good.load(Ordering::SeqCst) < before + n {
                assert!(start.elapsed() < PATIENCE, "operations fail for good");
                sleep(Duration::from_millis(1));
            }
        };
        good_ones(500);
        server.pause();
        sleep(Duration::from_secs(2));
        server.kill();
        sleep(Duration::from_millis(200));
        server.restart();
        good_ones(500);
        ended.store(true, Ordering::SeqCst);
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
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
    let session = &mut *store.session().unwrap();
    for (thread, done) in done.iter().enumerate() {
        let Done { sets, gets, stored, hits, misses, failed_sets, failed_gets } = done;
        assert_eq!((*sets, *gets), (stored.len() + failed_sets, hits + misses + failed_gets));
        let errors = failed_sets + failed_gets;
        // At the least, the operation under way fails, and then each further attempt.
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

/// Stores values and reads them back until `ended` is set; counts each operation and its one outcome.
fn work(store: &dyn Store, thread: usize, ended: &AtomicBool, n_good: &AtomicUsize) -> Done {
    let mut session = store.session().unwrap();
    let mut done = Done::default();
    for i in 0.. {
        if ended.load(Ordering::SeqCst) {
            break;
        }
        let key = key(thread, i);
        done.sets += 1;
        match session.set(key.as_bytes(), &bytes(1000 + i), &SetOptions::default()) {
            Ok(outcome) => {
                assert_eq!(outcome, SetOutcome::Stored);
                done.stored.push(i);
                n_good.fetch_add(1, Ordering::SeqCst);
            }
            Err(error) => failed(&mut done.failed_sets, &error),
        }
        if let Some(last) = done.stored.last() {
            read(&mut *session, thread, *last, &mut done);
        }
    }
    done
}

fn read(session: &mut dyn Session, thread: usize, i: usize, done: &mut Done) {
    let mut value = Vec::new();
    done.gets += 1;
    match session.get(key(thread, i).as_bytes(), &mut value) {
        Ok(Some(_)) => {
            assert!(value == bytes(1000 + i), "{thread}: a wrong value");
            done.hits += 1;
        }
        Ok(None) => done.misses += 1,
        Err(error) => failed(&mut done.failed_gets, &error),
    }
}

fn failed(n_failed: &mut usize, error: &Error) {
    assert!(error.is_retryable(), "{error}");
    *n_failed += 1;
    // A refused connection fails at once.
    sleep(Duration::from_millis(5));
}
