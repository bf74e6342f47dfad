//! Faults of a server: it is killed, silent or full, or another client holds a lock.

use std::fs;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use larder_store::{Session, SetOptions};
use larder_testkit::{PATIENCE, signal, within};
use libtest_mimic::Trial;
use mysql::prelude::Queryable;

use crate::session_support::{failure, get, open, set, try_open};
use crate::support::{MariaDb, shared, trial};

/// The server renews its table of locks only after a tenth of a second without a query of it.
const LOCKS_ARE_OLD: Duration = Duration::from_millis(150);

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("a_server_that_was_killed_is_reached_again", a_server_that_was_killed),
        trial(
            "silence_is_a_timeout_and_its_late_answer_is_not_taken_for_another",
            silence_is_a_timeout,
        ),
        trial("a_lock_that_is_held_is_busy", a_lock_that_is_held_is_busy),
        trial(
            "no_statement_waits_for_a_lock_after_its_timeout",
            no_statement_waits_for_a_lock_after_its_timeout,
        ),
        trial("a_deadlock_is_done_again", a_deadlock_is_done_again),
        trial("batches_in_opposite_orders_are_all_stored", opposite_batches),
        trial("a_full_table_is_full", a_full_table_is_full),
        trial("a_connection_that_is_closed_is_opened_again", a_connection_that_is_closed),
        trial("a_packet_that_is_refused_ends_no_session", a_packet_that_is_refused),
        trial("too_many_connections_are_busy", too_many_connections_are_busy),
    ]
}

fn opposite_batches() {
    let store = open(&shared().url("namespace=opposite"));
    crate::batches::opposite_batches_are_all_stored(&*store);
}

/// Tries until it succeeds; every error before that must be of an expected kind.
fn eventually<T>(mut act: impl FnMut() -> larder_store::Result<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match act() {
            Ok(done) => return done,
            Err(error) => {
                assert!(error.is_retryable() && Instant::now() < deadline, "{error}");
                sleep(Duration::from_millis(5));
            }
        }
    }
}

fn a_server_that_was_killed() {
    let mut server = MariaDb::start(&[]);
    let store = open(&server.url(""));
    let session = &mut *store.session().unwrap();
    set(session, "key", b"value");
    let port = server.port();
    server.kill();
    failure(session.get(b"key", &mut Vec::new()), "unavailable");
    let message = failure(session.set(b"key", b"", &SetOptions::default()), "unavailable");
    assert!(message.contains(&format!("127.0.0.1:{port} refused the connection")), "{message}");
    failure(store.stats(), "unavailable");
    server.start_again();
    assert_eq!(get(session, "key"), Some(b"value".to_vec()), "the same session");
    assert_eq!(get(&mut *store.session().unwrap(), "key"), Some(b"value".to_vec()));
    assert_eq!(store.stats().unwrap().items, Some(1));
}

fn silence_is_a_timeout() {
    const SILENCE: Duration = Duration::from_secs(5);
    let store = open("mysql:?flush=2&timeout=5s");
    let address = store.info().addresses[0].clone();
    let session = &mut *store.session().unwrap();
    set(session, "slow", b"slow");
    set(session, "quick", b"quick");
    let pid = store.info().server_pids[0];
    signal(pid, libc::SIGSTOP);
    let deadline = Instant::now() + PATIENCE;
    while !is_stopped(pid) {
        assert!(Instant::now() < deadline, "the server goes on");
        sleep(Duration::from_millis(1));
    }
    let start = Instant::now();
    let message = failure(session.get(b"slow", &mut Vec::new()), "timeout");
    assert_eq!(message, format!("mysql: no answer within 5000 ms from {address}"));
    // The kernel's clocks are coarse.
    assert!(start.elapsed() > SILENCE * 9 / 10, "{:?}", start.elapsed());
    // The server accepts no new session either.
    failure(session.get(b"quick", &mut Vec::new()), "timeout");
    failure(store.stats(), "timeout");
    signal(pid, libc::SIGCONT);
    let mut value = Vec::new();
    for key in ["quick", "slow", "quick"] {
        eventually(|| session.get(key.as_bytes(), &mut value));
        assert_eq!(value, key.as_bytes());
    }
}

/// Whether each thread of a process has stopped, which takes a moment.
fn is_stopped(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    threads.flatten().all(|thread| {
        fs::read_to_string(thread.path().join("stat")).is_ok_and(|stat| stat.contains(") T "))
    })
}

fn a_lock_that_is_held_is_busy() {
    let server = shared();
    let store = open(&server.url("namespace=locked&timeout=10s"));
    let session = &mut *store.session().unwrap();
    set(session, "key", b"value");
    let mut owner = server.owner();
    owner.query_drop("BEGIN").unwrap();
    owner.query_drop("SELECT 1 FROM locked FOR UPDATE").unwrap();
    let before = n_given_up(&mut server.owner());
    let error = session.set(b"key", b"other", &SetOptions::default()).unwrap_err();
    match error.kind() {
        "busy" => assert!(error.to_string().contains("Lock wait timeout exceeded"), "{error}"),
        // The server gives the wait up one second before the client. Where its answer comes later, its own count tells
        // which of its limits ended the wait.
        kind => {
            assert_eq!(kind, "timeout", "{error}");
            assert!(within(PATIENCE, || n_given_up(&mut server.owner()) > before));
        }
    }
    assert_eq!(get(session, "key"), Some(b"value".to_vec()), "readers do not wait");
    owner.query_drop("ROLLBACK").unwrap();
    set(session, "key", b"other");
}

/// How many waits for locks of rows the server has given up.
fn n_given_up(owner: &mut mysql::Conn) -> u64 {
    let count = "SELECT count FROM information_schema.innodb_metrics WHERE name = 'lock_timeouts'";
    owner.query_first(count).unwrap().unwrap()
}

fn no_statement_waits_for_a_lock_after_its_timeout() {
    // The server is this test's own, because it counts the statements of all clients.
    let server = MariaDb::start(&[]);
    let patient = open(&server.url("namespace=brief"));
    set(&mut *patient.session().unwrap(), "key", b"value");
    // The server counts its own limit of waits for locks in whole seconds.
    let store = eventually(|| try_open(&server.url("namespace=brief&timeout=300ms")));
    let session = &mut *store.session().unwrap();
    eventually(|| session.get(b"key", &mut Vec::new()));
    let mut owner = server.owner();
    owner.query_drop("BEGIN").unwrap();
    owner.query_drop("SELECT 1 FROM brief FOR UPDATE").unwrap();
    let mut watcher = server.owner();
    let before = n_ended(&mut watcher);
    failure(session.set(b"key", b"other", &SetOptions::default()), "timeout");
    let is_over = || n_ended(&mut watcher) > before || n_given_up(&mut watcher) > 0;
    assert!(within(PATIENCE, is_over), "the statement still waits");
    assert_eq!(n_given_up(&mut watcher), 0, "the statement waited for the lock's own limit");
    owner.query_drop("ROLLBACK").unwrap();
    let unchanged = get(&mut *patient.session().unwrap(), "key");
    assert_eq!(unchanged, Some(b"value".to_vec()), "what has failed is not done later");
}

/// How many statements the server has ended because of the time that they took.
fn n_ended(owner: &mut mysql::Conn) -> u64 {
    let status = "SHOW GLOBAL STATUS LIKE 'Max_statement_time_exceeded'";
    owner.query_first::<(String, u64), _>(status).unwrap().unwrap().1
}

fn a_deadlock_is_done_again() {
    let server = shared();
    let store = open(&server.url("namespace=deadlock&timeout=60s"));
    let session = &mut *store.session().unwrap();
    for key in ["a", "b"] {
        let groups = session.groups().unwrap();
        groups.set_tagged(key.as_bytes(), b"value", &SetOptions::default(), b"tag").unwrap();
    }
    let mut owner = server.owner();
    // Of two transactions in a deadlock, the server gives up the one with fewer changes.
    owner.query_drop("CREATE TABLE weight (n INT)").unwrap();
    owner.query_drop("BEGIN").unwrap();
    for _ in 0..50 {
        owner.query_drop("INSERT INTO weight VALUES (1)").unwrap();
    }
    owner.query_drop("UPDATE deadlock SET flags = 1 WHERE `key` = 'b'").unwrap();
    let n_deadlocks = |owner: &mut mysql::Conn| {
        let (_, n): (String, u64) =
            owner.query_first("SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'").unwrap().unwrap();
        n
    };
    let before = n_deadlocks(&mut owner);
    scope(|scope| {
        // This delete takes `a`, and waits for `b`.
        let deleting = scope.spawn(|| session.groups().unwrap().delete_tag(b"tag"));
        // Only waits for this table count, because other tests wait for locks on this server, too.
        let waits = "SELECT count(*) FROM information_schema.innodb_locks WHERE lock_table LIKE '%deadlock%'";
        let deadline = Instant::now() + PATIENCE;
        let mut watcher = server.owner();
        while watcher.query_first::<u64, _>(waits).unwrap() == Some(0) {
            assert!(Instant::now() < deadline && !deleting.is_finished());
            sleep(LOCKS_ARE_OLD);
        }
        owner.query_drop("UPDATE deadlock SET flags = 1 WHERE `key` = 'a'").unwrap();
        assert_eq!(n_deadlocks(&mut owner), before + 1);
        owner.query_drop("COMMIT").unwrap();
        assert_eq!(deleting.join().unwrap().unwrap(), 2);
    });
    assert_eq!((get(session, "a"), get(session, "b")), (None, None));
}

fn a_full_table_is_full() {
    let server =
        MariaDb::start(&["--innodb-file-per-table=OFF", "--innodb-data-file-path=ibdata1:20M"]);
    let store = open(&server.url(""));
    let session = &mut *store.session().unwrap();
    let value = vec![b'v'; 1 << 20];
    let full = (0..64).find_map(|i| {
        session.set(format!("key {i}").as_bytes(), &value, &SetOptions::default()).err()
    });
    let message = failure(Err::<(), _>(full.unwrap()), "full");
    assert!(message.contains("answered: The table 'larder' is full"), "{message}");
    assert_eq!(get(session, "key 0"), Some(value));
}

fn a_connection_that_is_closed() {
    let server = MariaDb::start(&[]);
    let store = open(&server.url(""));
    let session = &mut *store.session().unwrap();
    set(session, "key", b"value");
    let mut owner = server.owner();
    for _ in 0..3 {
        let ids: Vec<u64> =
            owner.query("SELECT id FROM information_schema.processlist WHERE user = 'me'").unwrap();
        for id in &ids {
            owner.query_drop(format!("KILL {id}")).unwrap();
        }
        assert!(!ids.is_empty());
        let message = failure(session.get(b"key", &mut Vec::new()), "unavailable");
        assert!(message.contains("127.0.0.1:"), "{message}");
        assert_eq!(get(session, "key"), Some(b"value".to_vec()));
    }
}

fn a_packet_that_is_refused() {
    let server = MariaDb::start(&["--max-allowed-packet=4M"]);
    let store = open(&server.url(""));
    assert_eq!(store.capabilities().max_value_len, Some((4 << 20) - 4096));
    server.owner().query_drop("SET GLOBAL max_allowed_packet = 1048576").unwrap();
    let session: &mut dyn Session = &mut *store.session().unwrap();
    let refused = session.set(b"key", &vec![0; 2 << 20], &SetOptions::default());
    let error = refused.unwrap_err();
    // The server closes the connection after its answer, so the answer may be lost.
    match error.kind() {
        "protocol" => {
            assert!(
                error.to_string().contains("the server takes less than when the store was opened")
            );
        }
        kind => assert_eq!(kind, "unavailable", "{error}"),
    }
    set(session, "key", b"value");
    assert_eq!(get(session, "key"), Some(b"value".to_vec()));
}

fn too_many_connections_are_busy() {
    let server = MariaDb::start(&["--max-connections=10"]);
    let store = open(&server.url(""));
    let others: Vec<mysql::Conn> = (0..8).map(|_| server.owner()).collect();
    let mut sessions: Vec<_> = (0..12).map(|_| store.session().unwrap()).collect();
    let refused = sessions
        .iter_mut()
        .find_map(|session| session.set(b"key", b"value", &SetOptions::default()).err());
    let message = failure(Err::<(), _>(refused.unwrap()), "busy");
    assert!(message.contains("Too many connections"), "{message}");
    failure(try_open(&server.url("")), "busy");
    drop(others);
    for session in &mut sessions[..2] {
        eventually(|| session.set(b"key", b"value", &SetOptions::default()));
    }
}
