//! External servers: their state after a store, and the ways to reach them.

use std::thread::sleep;
use std::time::{Duration, Instant};

use larder_store::{Delta, Ownership, SetOptions};
use larder_testkit::PATIENCE;
use libtest_mimic::Trial;
use mysql::prelude::Queryable;

use crate::session_support::{failure, get, open, set, try_open};
use crate::support::{MariaDb, shared, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("a_foreign_server_is_left_as_it_was", a_foreign_server_is_left_as_it_was),
        trial("a_table_that_was_there_stays", a_table_that_was_there_stays),
        trial("a_table_that_is_not_ours_is_refused", a_table_that_is_not_ours_is_refused),
        trial("a_table_that_others_have_open_stays", a_table_that_others_have_open_stays),
        trial("a_table_is_held_again_after_a_restart", a_table_is_held_again_after_a_restart),
        trial("expired_entries_are_gone_in_the_end", expired_entries_are_gone_in_the_end),
        trial("two_stores_share_a_table", two_stores_share_a_table),
        trial("a_server_is_reached_on_its_socket", a_server_is_reached_on_its_socket),
        trial("strangers_are_told_apart", strangers_are_told_apart),
    ]
}

fn variables(server: &MariaDb) -> Vec<(String, String)> {
    let mut variables: Vec<(String, String)> =
        server.owner().query("SHOW GLOBAL VARIABLES").unwrap();
    // These variables change by themselves.
    variables.retain(|(name, _)| !name.starts_with("gtid") && !name.contains("timestamp"));
    variables
}

fn a_foreign_server_is_left_as_it_was() {
    let server = shared();
    let before = variables(server);
    let store = open(&server.url("namespace=left"));
    let info = store.info();
    assert_eq!(info.ownership, Ownership::External);
    assert_eq!((info.server_pids, info.data_paths.len()), (vec![server.pid()], 0));
    assert_eq!(info.addresses, [format!("127.0.0.1:{}", server.port())]);
    assert!(!format!("{store:?} {}", store.info().url).contains("crt"), "{store:?}");
    let capabilities = store.capabilities();
    assert!(!capabilities.clear && capabilities.persistent);
    let mut session = store.session().unwrap();
    set(&mut *session, "key", b"value");
    failure(session.clear(), "unsupported");
    assert!(server.tables().contains(&"left".to_owned()));
    drop(store);
    assert_eq!(get(&mut *session, "key"), Some(b"value".to_vec()), "a session outlives its store");
    drop(session);
    assert!(server.tables().contains(&"left".to_owned()), "it is not empty");
    let store = open(&server.url("namespace=left"));
    assert!(store.session().unwrap().delete(b"key").unwrap());
    drop(store);
    assert!(server.tables().contains(&"left".to_owned()), "the second store found it there");
    server.owner().query_drop("DROP TABLE `left`").unwrap();

    let store = open(&server.url("namespace=emptied"));
    let mut session = store.session().unwrap();
    set(&mut *session, "key", b"value");
    assert!(session.delete(b"key").unwrap());
    drop((store, session));
    assert!(!server.tables().contains(&"emptied".to_owned()), "it was ours, and is empty");
    assert_eq!(variables(server), before);
}

fn a_table_that_was_there_stays() {
    let server = shared();
    let first = open(&server.url("namespace=stays"));
    set(&mut *first.session().unwrap(), "key", b"value");
    drop(first);
    let second = open(&server.url("namespace=stays"));
    let session = &mut *second.session().unwrap();
    assert_eq!(get(session, "key"), Some(b"value".to_vec()));
}

fn a_table_that_is_not_ours_is_refused() {
    let server = shared();
    let mut owner = server.owner();
    for (name, columns) in [
        ("strange", "id INT PRIMARY KEY, value TEXT"),
        ("fewer", "`key` VARBINARY(3072) PRIMARY KEY, value LONGBLOB"),
    ] {
        owner.query_drop(format!("CREATE TABLE {name} ({columns})")).unwrap();
        let message =
            failure(try_open(&server.url(&format!("namespace={name}"))), "invalid_options");
        assert!(
            message.contains(&format!(
                "has another table of this name in `cache`; write namespace=NAME, not `{name}`"
            )),
            "{message}"
        );
        assert!(server.tables().contains(&name.to_owned()));
    }
    let like = "CREATE TABLE volatile ENGINE = MEMORY AS SELECT 1 AS `key`";
    owner.query_drop(like).unwrap();
    failure(try_open(&server.url("namespace=volatile")), "invalid_options");
}

fn a_table_that_others_have_open_stays() {
    let server = shared();
    let [first, second] = [(); 2].map(|()| open(&server.url("namespace=held")));
    let session = &mut *second.session().unwrap();
    drop(first);
    set(session, "key", b"value");
    assert_eq!(get(session, "key"), Some(b"value".to_vec()));
}

fn a_table_is_held_again_after_a_restart() {
    let mut server = MariaDb::start(&[]);
    let [first, second] = [(); 2].map(|()| open(&server.url("")));
    let session = &mut *second.session().unwrap();
    server.kill();
    server.start_again();
    // No list shows a transaction that only names a table. Each store has one connection that sleeps in such a
    // transaction.
    let held = "SELECT count(*) FROM information_schema.processlist WHERE user = 'me'";
    let deadline = Instant::now() + PATIENCE;
    let mut owner = server.owner();
    while owner.query_first::<u64, _>(held).unwrap().unwrap() < 4 {
        assert!(Instant::now() < deadline, "the stores do not come back");
        sleep(Duration::from_millis(20));
    }
    drop(first);
    set(session, "key", b"value");
    assert_eq!(get(session, "key"), Some(b"value".to_vec()));
}

fn expired_entries_are_gone_in_the_end() {
    let server = shared();
    let expiring = SetOptions { ttl: Some(Duration::from_millis(1)), ..SetOptions::default() };
    for (kept, namespace) in [(true, "expired"), (false, "emptied2")] {
        let store = open(&server.url(&format!("namespace={namespace}")));
        let mut session = store.session().unwrap();
        for i in 0..300 {
            session.set(format!("key:{i}").as_bytes(), b"value", &expiring).unwrap();
        }
        if kept {
            set(&mut *session, "kept", b"value");
        }
        sleep(Duration::from_millis(2));
        drop((session, store));
        assert_eq!(server.tables().contains(&namespace.to_owned()), kept);
    }
    let rows: Option<u64> = server.owner().query_first("SELECT count(*) FROM expired").unwrap();
    assert_eq!(rows, Some(1));
}

fn two_stores_share_a_table() {
    let server = shared();
    let stores = [(); 2].map(|()| open(&server.url("namespace=shared&ssl-mode=disabled")));
    let [mut one, mut two] = stores.map(|store| store.session().unwrap());
    set(&mut *one, "key", b"of one");
    assert_eq!(get(&mut *two, "key"), Some(b"of one".to_vec()));
    assert_eq!(two.incr(b"key", Delta::Up(1), None).unwrap_err().kind(), "not_a_number");
    assert!(two.delete(b"key").unwrap());
    assert_eq!(get(&mut *one, "key"), None);
}

fn a_server_is_reached_on_its_socket() {
    let server = shared();
    let socket = server.socket();
    let url = format!("mysql://me:s%40crt@localhost/cache?socket={socket}&namespace=socket");
    let store = open(&url);
    assert_eq!(store.info().addresses, [socket]);
    set(&mut *store.session().unwrap(), "key", b"value");
    let url = "mysql://me:s%40crt@localhost/cache?socket=/nowhere/s";
    let message = failure(try_open(url), "unavailable");
    assert_eq!(message, "mysql: /nowhere/s is not there; is mysql running on it?");
    // The password and the kind of the server's socket do not matter to a relay.
    let through = open(&server.url("namespace=relayed&via=delay:200us"));
    set(&mut *through.session().unwrap(), "key", b"value");
    assert_ne!(through.info().addresses[0], format!("127.0.0.1:{}", server.port()));
    assert_eq!(through.info().settings["via"], "delay:200us");
}

fn strangers_are_told_apart() {
    let server = shared();
    let port = server.port();
    for (url, kind, needle) in [
        (
            format!("mysql://me:wrong@127.0.0.1:{port}/cache"),
            "unavailable",
            "refused the user or the password",
        ),
        (
            format!("mysql://me@127.0.0.1:{port}/cache"),
            "unavailable",
            "refused the user or the password",
        ),
        (
            format!("mysql://owner:owner@127.0.0.1:{port}/nowhere"),
            "unavailable",
            "has no database `nowhere`; make it, or name another",
        ),
        (
            format!("mysql://me:s%40crt@127.0.0.1:{port}/mysql"),
            "unavailable",
            "refused the database to this user",
        ),
        (
            server.url("ssl-mode=REQUIRED"),
            "unavailable",
            "does not encrypt; write ssl-mode=DISABLED",
        ),
        (
            "mysql://me:secret@127.0.0.1:1/cache".into(),
            "unavailable",
            "127.0.0.1:1 refused the connection; is mysql running there?",
        ),
        (
            "mysql://me:secret@no.such.host.invalid/cache".into(),
            "unavailable",
            "no.such.host.invalid:3306: ",
        ),
    ] {
        let message = failure(try_open(&url), kind);
        assert!(message.contains(needle), "{url}: {message}");
        assert!(!message.contains("secret") && !message.contains("wrong"), "{message}");
    }
    // This user may read and write, but not create a table.
    let mut owner = server.owner();
    owner.query_drop("CREATE USER reader IDENTIFIED BY 'pw'").unwrap();
    owner.query_drop("GRANT SELECT ON cache.* TO reader").unwrap();
    let url = format!("mysql://reader:pw@127.0.0.1:{port}/cache?namespace=theirs");
    let message = failure(try_open(&url), "protocol");
    assert!(message.contains("CREATE command denied"), "{message}");
    let store = open(&server.url("namespace=readable"));
    set(&mut *store.session().unwrap(), "key", b"value");
    let readable = open(&format!("mysql://reader:pw@127.0.0.1:{port}/cache?namespace=readable"));
    let session = &mut *readable.session().unwrap();
    assert_eq!(get(session, "key"), Some(b"value".to_vec()));
    let message = failure(session.set(b"key", b"", &SetOptions::default()), "protocol");
    assert!(
        message.contains("INSERT, UPDATE command denied")
            || message.contains("INSERT command denied"),
        "{message}"
    );
    assert_eq!(get(session, "key"), Some(b"value".to_vec()));
}
