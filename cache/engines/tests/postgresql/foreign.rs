//! An external server: its state after a store, and its refusals.

use std::thread::sleep;
use std::time::{Duration, Instant};

use larder_store::{Ownership, SetOptions};
use larder_testkit::{PATIENCE, Postgres};
use libtest_mimic::Trial;

use crate::session_support::{failure, get, open, set, try_open};
use crate::trial;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("an_external_server_is_left_as_it_was", left_as_it_was),
        trial("a_table_that_is_not_empty_stays", a_table_that_is_not_empty_stays),
        trial("a_table_that_others_have_open_stays", a_table_that_others_have_open_stays),
        trial("a_table_is_held_again_after_a_restart", a_table_is_held_again_after_a_restart),
        trial("expired_entries_are_gone_in_the_end", expired_entries_are_gone_in_the_end),
        trial("a_foreign_table_is_refused", a_foreign_table_is_refused),
        trial("an_absent_server_is_named", an_absent_server_is_named),
        trial("a_wrong_password_is_one_clear_line_without_it", a_wrong_password),
        trial("a_user_with_few_rights_is_told_which", a_user_with_few_rights),
        trial("a_foreign_lock_is_waited_for_until_the_timeout", a_foreign_lock),
        trial("too_many_sessions_are_refused", too_many_sessions),
    ]
}

/// Waits for this answer, because a server works on for a moment after its client is gone.
fn until_answer(server: &Postgres, question: &str, wanted: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = server.ask(question);
        if answer == wanted {
            return;
        }
        assert!(Instant::now() < deadline, "{question}: {answer}, not {wanted}");
        sleep(Duration::from_millis(20));
    }
}

fn tables(server: &Postgres) -> String {
    server.ask("SELECT string_agg(relname, ' ') FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'")
}

fn left_as_it_was() {
    let server = Postgres::start(&[]);
    server.ask("CREATE TABLE theirs AS SELECT 1 AS x");
    let settings =
        "SELECT md5(string_agg(name || '=' || setting, ',' ORDER BY name)) FROM pg_settings";
    let before = server.ask(settings);
    let store = open(&format!("{}?table=logged&synchronous_commit=off", server.url()));
    let info = store.info();
    assert_eq!((info.ownership, info.server_pids), (Ownership::External, vec![server.pid()]));
    assert_eq!(info.settings["synchronous_commit"], "off");
    assert!(info.data_paths.is_empty());
    let capabilities = store.capabilities();
    assert!(!capabilities.clear && capabilities.persistent);
    let mut session = store.session().unwrap();
    set(&mut *session, "ours", b"value");
    failure(session.clear(), "unsupported");
    assert_eq!(tables(&server), "theirs larder");
    assert!(session.delete(b"ours").unwrap());
    drop((session, store));
    assert_eq!(tables(&server), "theirs", "an empty table of ours is gone");
    assert_eq!(server.ask(settings), before);
    assert_eq!(server.ask("SELECT x FROM theirs"), "1");
    // No session is left, either.
    let question = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'";
    until_answer(&server, question, "1");
    let message = failure(try_open(&format!("{}?fsync=off", server.url())), "invalid_options");
    assert!(message.contains("option `fsync` is for servers that larder starts"), "{message}");
}

fn a_table_that_is_not_empty_stays() {
    let server = Postgres::start(&["fsync=off"]);
    let store = open(&server.url());
    assert_eq!(store.info().settings["table"], "unlogged");
    set(&mut *store.session().unwrap(), "key", b"value");
    drop(store);
    assert_eq!(tables(&server), "larder");
    let again = open(&server.url());
    assert_eq!(get(&mut *again.session().unwrap(), "key"), Some(b"value".to_vec()));
    again.session().unwrap().delete(b"key").unwrap();
    drop(again);
    assert_eq!(tables(&server), "larder", "it was there before");
    let message = failure(try_open(&format!("{}?table=logged", server.url())), "invalid_options");
    assert!(message.contains("has `larder` as unlogged already"), "{message}");
    // A setting is taken from the table where the URL does not give it.
    server.ask("ALTER TABLE larder SET LOGGED");
    assert_eq!(open(&server.url()).info().settings["table"], "logged");
}

fn a_table_that_others_have_open_stays() {
    let server = Postgres::start(&["fsync=off"]);
    let (first, second) = (open(&server.url()), open(&server.url()));
    let session = &mut *second.session().unwrap();
    drop(first);
    set(session, "key", b"value");
    assert_eq!(get(session, "key"), Some(b"value".to_vec()));
}

fn a_table_is_held_again_after_a_restart() {
    let mut server = Postgres::start(&["fsync=off"]);
    let url = format!("{}?table=logged", server.url());
    let (first, second) = (open(&url), open(&url));
    let session = &mut *second.session().unwrap();
    server.kill();
    server.restart();
    let held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock'";
    until_answer(&server, held, "2");
    drop(first);
    set(session, "key", b"value");
    assert_eq!(get(session, "key"), Some(b"value".to_vec()));
}

fn expired_entries_are_gone_in_the_end() {
    let server = Postgres::start(&["fsync=off"]);
    let store = open(&server.url());
    let mut session = store.session().unwrap();
    set(&mut *session, "kept", b"value");
    let expiring = SetOptions { ttl: Some(Duration::from_millis(1)), ..SetOptions::default() };
    for i in 0..300 {
        session.set(format!("key:{i}").as_bytes(), b"value", &expiring).unwrap();
    }
    sleep(Duration::from_millis(2));
    drop((session, store));
    assert_eq!(server.ask("SELECT count(*) FROM larder"), "1");
}

fn a_foreign_table_is_refused() {
    let server = Postgres::start(&["fsync=off"]);
    server.ask("CREATE TABLE larder (key text PRIMARY KEY, value text)");
    let message = failure(try_open(&server.url()), "invalid_options");
    let address = format!("127.0.0.1:{}", server.port());
    assert_eq!(
        message,
        format!(
            "postgresql: {address} has another table `larder`, with other columns; choose another name by \
             `namespace=`"
        )
    );
    let store = open(&format!("{}?namespace=cache", server.url()));
    set(&mut *store.session().unwrap(), "key", b"value");
    assert_eq!(server.ask("SELECT count(*) FROM cache"), "1");
    assert_eq!(server.ask("SELECT count(*) FROM larder"), "0");
}

fn an_absent_server_is_named() {
    // No server of another test takes this port.
    let message = failure(try_open("postgresql://me:secret@127.0.0.1:1/x"), "unavailable");
    assert_eq!(
        message,
        "postgresql: 127.0.0.1:1 refused the connection; is postgres running there?"
    );
    let message = failure(try_open("postgresql:///x?host=/nowhere"), "unavailable");
    assert!(message.contains("/nowhere/.s.PGSQL.5432 is not there"), "{message}");
    let message = failure(try_open("postgresql://no-such-host.invalid/x"), "unavailable");
    assert!(message.contains("no-such-host.invalid"), "{message}");
}

fn a_wrong_password() {
    let server = Postgres::start(&["fsync=off"]);
    let address = format!("127.0.0.1:{}", server.port());
    let store = open(&server.url());
    assert_eq!(store.info().url, format!("postgresql://me:***@{address}/postgres"));
    assert!(!format!("{store:?} {:?}", store.info()).contains("s@crt"));
    for user_info in ["me:wr0ng@", "nobody:wr0ng@", "nobody:s%40crt@"] {
        let url = format!("postgresql://{user_info}{address}/postgres");
        let message = failure(try_open(&url), "unavailable");
        assert_eq!(message, format!("postgresql: {address} refused the user or the password"));
    }
    let message = failure(try_open(&format!("postgresql://me@{address}/postgres")), "unavailable");
    assert_eq!(
        message,
        format!(
            "postgresql: {address} asks for a password; write postgresql://user:password@host/database"
        )
    );
    let message = failure(try_open(&server.url().replace("/postgres", "/other")), "unavailable");
    assert!(message.contains("database \"other\" does not exist"), "{message}");
}

fn a_user_with_few_rights() {
    let server = Postgres::start(&["fsync=off"]);
    server.ask("CREATE ROLE reader LOGIN PASSWORD 'secret'");
    let url = server.url().replace("me:s%40crt", "reader:secret");
    let message = failure(try_open(&url), "protocol");
    assert!(message.contains("permission denied for schema public; grant it"), "{message}");
    let owner = open(&server.url());
    set(&mut *owner.session().unwrap(), "key", b"value");
    server.ask("GRANT SELECT ON larder TO reader");
    let store = open(&url);
    let session = &mut *store.session().unwrap();
    assert_eq!(get(session, "key"), Some(b"value".to_vec()));
    let refused = session.set(b"key", b"other", &SetOptions::default());
    let message = failure(refused, "protocol");
    assert!(message.contains("permission denied for table larder"), "{message}");
    assert_eq!(get(session, "key"), Some(b"value".to_vec()), "the session works on");
    assert_eq!(store.stats().unwrap().connections, Some(1));
}

fn a_foreign_lock() {
    let server = Postgres::start(&["fsync=off"]);
    let store = open(&format!("{}?timeout=5s", server.url()));
    let session = &mut *store.session().unwrap();
    set(session, "key", b"value");
    // A canceled sleep ends the lock, too.
    let lock = format!(
        "DO $$ BEGIN LOCK TABLE larder; PERFORM pg_sleep({}); \
         EXCEPTION WHEN query_canceled THEN NULL; END $$",
        PATIENCE.as_secs()
    );
    std::thread::scope(|scope| {
        let locker = scope.spawn(|| server.ask(&lock));
        let locked = "FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted \
                      AND relation = 'larder'::regclass";
        until_answer(&server, &format!("SELECT count(*) {locked}"), "1");
        let message = failure(session.get(b"key", &mut Vec::new()), "timeout");
        assert!(message.contains("no answer within 5000 ms from 127.0.0.1:"), "{message}");
        let canceled = server.ask(&format!("SELECT pg_cancel_backend(pid) {locked}"));
        assert_eq!(canceled, "t", "it has not waited until the lock was gone");
        locker.join().unwrap();
    });
    assert_eq!(get(session, "key"), Some(b"value".to_vec()), "the session works on");
    // The server gives up a statement that its client gave up.
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    until_answer(&server, waiting, "0");
}

fn too_many_sessions() {
    let server = Postgres::start(&["fsync=off", "max_connections=8"]);
    server.ask("CREATE ROLE guest LOGIN PASSWORD 'guest'; GRANT ALL ON SCHEMA public TO guest");
    let store = open(&server.url().replace("me:s%40crt", "guest:guest"));
    let mut sessions: Vec<_> = (0..8).map(|_| store.session().unwrap()).collect();
    let refused = sessions.iter_mut().find_map(|session| session.delete(b"key").err());
    let message = failure(refused.map_or(Ok(()), Err), "busy");
    assert!(message.contains("connection slots are reserved"), "{message}");
}
