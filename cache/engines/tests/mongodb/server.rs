//! An external server: its remaining entries, its refusals, and its absence.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

use larder_engines::ENGINES;
use larder_host::managed::Server;
use larder_store::{
    Durability, Meta, Remaining, Session, SetMode, SetOptions, SetOutcome, StoreUrl,
};
use larder_testkit::{PATIENCE, signal_group};
use libtest_mimic::Trial;
use mongodb::bson::{DateTime, doc};

use crate::session_support::{failure, get, open, set, try_open};
use crate::support::{Stranger, stand_in_on, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("a_collection_that_was_made_stays_for_other_stores", a_made_collection),
        trial("documents_that_were_there_stay", documents_that_were_there_stay),
        trial("a_foreign_collection_is_neither_filled_nor_indexed", a_foreign_collection),
        trial("an_entry_is_a_document_that_can_be_read", a_readable_document),
        trial("an_external_server_is_not_cleared", no_clear),
        trial("a_server_that_was_killed_is_found_again", killed_and_restarted),
        trial("a_server_that_stands_still_is_given_up_in_time", stopped),
        trial("unacknowledged_sets_are_found_by_their_session", unacknowledged),
        trial("the_largest_value_is_stored_and_a_larger_one_refused", the_largest_value),
        trial("the_server_that_answered_is_told", the_server_that_answered),
        Trial::test("a_port_without_a_server_is_refused", || {
            a_port_without_a_server();
            Ok(())
        }),
        Trial::test("a_peer_that_is_silent_is_given_up_in_time", || {
            silent_peer();
            Ok(())
        }),
    ]
}

fn url(port: u16, more: &str) -> String {
    format!("mongodb://127.0.0.1:{port}/test{more}")
}

fn a_made_collection() {
    let (_server, port) = stand_in_on(0, &[]);
    let stranger = Stranger::at(port);
    let first = open(&url(port, "?collection=entries"));
    assert_eq!(first.info().settings["tag_index"], "on");
    assert_eq!(stranger.indexes("test", "entries"), ["_id_", "larder_expires", "larder_tag"]);
    let second = open(&url(port, "?collection=entries"));
    assert_eq!(second.info().settings["tag_index"], "on");
    // The end of one store takes nothing from another store with the same collection, whatever the collection holds.
    drop(first);
    let mut session = second.session().unwrap();
    set(&mut *session, "key", b"value");
    drop((session, second));
    let store = open(&url(port, "?collection=entries"));
    assert_eq!(get(&mut *store.session().unwrap(), "key").unwrap(), b"value");
    assert!(store.session().unwrap().delete(b"key").unwrap());
    drop(store);
    assert_eq!(stranger.collections("test"), ["entries"]);
}

fn documents_that_were_there_stay() {
    let (_server, port) = stand_in_on(0, &[]);
    let stranger = Stranger::at(port);
    stranger.insert("test", "theirs", doc! { "_id": "key", "value": "theirs" });
    let store = open(&url(port, ""));
    let mut session = store.session().unwrap();
    set(&mut *session, "key", b"ours");
    assert!(session.delete(b"key").unwrap());
    drop((session, store));
    assert_eq!(stranger.collections("test"), ["larder", "theirs"]);
    let document = stranger.find("test", "theirs", "key").unwrap();
    assert_eq!(document.get_str("value").unwrap(), "theirs");
}

fn a_foreign_collection() {
    let (_server, port) = stand_in_on(0, &[]);
    let stranger = Stranger::at(port);
    // An index that removes expired documents would remove this document.
    let session = doc! { "_id": "key", "user": "x", "expires": DateTime::from_millis(1) };
    stranger.insert("test", "sessions", session.clone());
    let message = failure(try_open(&url(port, "?collection=sessions")), "invalid_options");
    let expected = "mongodb: option `collection`: `test.sessions` holds documents that larder did not make; name \
                    another by `collection=`";
    assert_eq!(message, expected);
    assert_eq!(stranger.indexes("test", "sessions"), ["_id_"]);
    assert_eq!(stranger.find("test", "sessions", "key"), Some(session));
    // An empty collection takes entries, and is not indexed either.
    stranger.create("test", "empty");
    let store = open(&url(port, "?collection=empty"));
    let settings = store.info().settings;
    assert_eq!(settings["tag_index"], "none: larder did not make the collection");
    set(&mut *store.session().unwrap(), "key", b"value");
    assert_eq!(get(&mut *store.session().unwrap(), "key").unwrap(), b"value");
    assert_eq!(stranger.indexes("test", "empty"), ["_id_"]);
}

fn a_readable_document() {
    let (_server, port) = stand_in_on(0, &[]);
    let store = open(&url(port, ""));
    let mut session = store.session().unwrap();
    let options =
        SetOptions { flags: 7, ttl: Some(Duration::from_secs(100)), ..SetOptions::default() };
    let groups = session.groups().unwrap();
    groups.set_tagged(b"page:1", b"value", &options, b"news").unwrap();
    groups.get_tag(b"news", &mut |_, _, _| {}).unwrap();
    assert_eq!(store.stats().unwrap().hits, Some(1));
    let document = Stranger::at(port).find("test", "larder", "page:1").unwrap();
    let names: Vec<&str> = document.keys().map(String::as_str).collect();
    assert_eq!(names, ["_id", "value", "version", "flags", "expires", "tag"]);
    assert_eq!(document.get_binary_generic("value").unwrap(), b"value");
    assert_eq!((document.get_i64("flags").unwrap(), document.get_str("tag").unwrap()), (7, "news"));
    let mut value = Vec::new();
    let Meta { flags, version, ttl, .. } = session.get(b"page:1", &mut value).unwrap().unwrap();
    assert_eq!(flags, 7);
    assert_eq!(version.map(u64::cast_signed), document.get_i64("version").ok());
    assert!(matches!(ttl, Remaining::For(left) if left > Duration::from_secs(50)), "{ttl:?}");
}

fn no_clear() {
    let (_server, port) = stand_in_on(0, &[]);
    let store = open(&url(port, ""));
    assert!(!store.capabilities().clear);
    let message = failure(store.session().unwrap().clear(), "unsupported");
    assert!(message.contains("a server that larder did not start"), "{message}");
}

fn killed_and_restarted() {
    let (server, port) = stand_in_on(0, &[]);
    let store = open(&url(port, "?timeout=10s"));
    let quick = open(&url(port, "?timeout=10s&w=0&collection=quick"));
    let (mut session, mut quick_session) = (store.session().unwrap(), quick.session().unwrap());
    set(&mut *session, "key", b"value");
    set(&mut *quick_session, "key", b"value");
    assert!(get(&mut *quick_session, "key").is_some());
    drop(server);
    let mut value = Vec::new();
    let began = Instant::now();
    let message = failure(session.get(b"key", &mut value), "unavailable");
    assert!(began.elapsed() < PATIENCE && message.contains("127.0.0.1"), "{message}");
    // A read may first use another connection to the dead server, which ends without an answer.
    while !failure(session.get(b"key", &mut value), "unavailable")
        .contains("refused the connection; is mongod running there?")
    {
        assert!(began.elapsed() < PATIENCE);
    }
    failure(quick_session.get(b"key", &mut value), "unavailable");
    let _server = stand_in_on(port, &[]);
    // The entries are gone with the old server; only the answer matters.
    for session in [&mut session, &mut quick_session] {
        let until = Instant::now() + PATIENCE;
        // Each path to the server may first notice that its old connection is dead.
        let mut again = |session: &mut dyn Session| {
            session.set(b"key", b"anew", &SetOptions::default())?;
            session.get(b"key", &mut value)
        };
        while let Err(error) = again(&mut **session) {
            assert!(error.is_retryable() && Instant::now() < until, "{error}");
        }
        assert_eq!(value, b"anew");
    }
}

/// The state of a server's process, as a letter.
fn state(server: &Server) -> String {
    let stat = fs::read_to_string(format!("/proc/{}/stat", server.pid())).unwrap();
    stat.rsplit(") ").next().unwrap().into()
}

fn stopped() {
    let (server, port) = stand_in_on(0, &[]);
    let store = open(&url(port, "?timeout=5s"));
    let mut session = store.session().unwrap();
    set(&mut *session, "key", b"value");
    signal_group(server.pid(), libc::SIGSTOP);
    // Each thread of the server stops at its next step.
    let stopped = || state(&server).starts_with('T');
    let until = Instant::now() + PATIENCE;
    while !stopped() && Instant::now() < until {
        sleep(Duration::from_millis(1));
    }
    let mut value = Vec::new();
    for _ in 0..2 {
        let began = Instant::now();
        let message = failure(session.get(b"key", &mut value), "timeout");
        let took = began.elapsed();
        assert_eq!(message, format!("mongodb: no answer within 5000 ms from 127.0.0.1:{port}"));
        assert!(took >= Duration::from_secs(2) && took < PATIENCE, "{took:?}");
    }
    signal_group(server.pid(), libc::SIGCONT);
    let until = Instant::now() + PATIENCE;
    while let Err(error) = session.get(b"key", &mut value) {
        assert!(error.is_retryable() && Instant::now() < until, "{error}");
    }
    assert_eq!(value, b"value");
}

fn unacknowledged() {
    let (_server, port) = stand_in_on(0, &[]);
    let store = open(&url(port, "?w=0"));
    assert_eq!(store.info().durability, Durability::Unacknowledged);
    let mut session = store.session().unwrap();
    for round in 0..200 {
        let value = format!("round {round}");
        for i in 0..5 {
            set(&mut *session, &format!("key {i}"), value.as_bytes());
        }
        let i = round % 5;
        assert_eq!(get(&mut *session, &format!("key {i}")).unwrap(), value.as_bytes());
    }
    let add = SetOptions { mode: SetMode::Add, ..SetOptions::default() };
    set(&mut *session, "other", b"value");
    assert_eq!(session.set(b"other", b"x", &add).unwrap(), SetOutcome::NotStored);
    set(&mut *session, "last", b"value");
    drop(session);
    assert_eq!(get(&mut *store.session().unwrap(), "last").unwrap(), b"value");
    assert_eq!(store.stats().unwrap().items, Some(7));
}

fn the_largest_value() {
    let store = open("mongodb:");
    let limit = store.capabilities().max_value_len.unwrap();
    assert!(limit > 16_700_000 && limit < 16 << 20, "{limit}");
    let mut session = store.session().unwrap();
    // Every byte of this key takes two in a document.
    let key = [0xff; 1024];
    let (options, mut value, mut found) = (SetOptions::default(), vec![0xa5; limit], Vec::new());
    assert!(session.set(&key, &value, &options).unwrap().is_stored());
    session.get(&key, &mut found).unwrap().unwrap();
    assert!(found == value, "the largest value came back changed");
    value.push(0);
    failure(session.set(&key, &value, &options), "value_too_large");
    assert_eq!(session.get(&key, &mut found).unwrap(), None);
    // An operation with a condition, or on the present value, leaves the entry as it is.
    set(&mut *session, "key", b"small");
    for mode in [SetMode::Add, SetMode::Replace, SetMode::Append] {
        let refused = session.set(b"key", &value, &SetOptions { mode, ..options });
        failure(refused, "value_too_large");
        assert_eq!(get(&mut *session, "key").unwrap(), b"small", "{mode:?}");
    }
    failure(session.set(&[b'k'; 1025], b"value", &options), "key_too_long");
}

fn the_server_that_answered() {
    let store = open("mongodb:");
    let info = store.info();
    let version = info.version.unwrap();
    if info.settings.contains_key("stand_in") {
        assert!(version.starts_with("mongo-java-server 1."), "{version}");
        assert_eq!(info.durability, Durability::Volatile);
    } else {
        assert!(version.starts_with(|c: char| c.is_ascii_digit()), "{version}");
    }
    assert_eq!((info.server_pids.len(), info.addresses.len()), (1, 1));
    let (_server, port) = stand_in_on(0, &[]);
    let info = open(&url(port, "?appName=test&w=majority")).info();
    assert_eq!(info.version.as_deref(), Some("mongo-java-server"));
    assert_eq!(info.settings["stand_in"], "a stand-in: says nothing of MongoDB's speed");
    assert_eq!(info.settings["w"], "majority");
    assert_eq!(info.server_pids.len(), 1);
}

fn a_port_without_a_server() {
    // A connected client holds this port, so no other process can take it, and no process listens there.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let port = client.local_addr().unwrap().port();
    let url = format!("mongodb://me:s3cret@127.0.0.1:{port}/test?timeout=1s");
    let message = failure(try_open(&url), "unavailable");
    assert_eq!(
        message,
        format!("mongodb: 127.0.0.1:{port} refused the connection; is mongod running there?")
    );
}

fn silent_peer() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = format!("mongodb://me:s3cret@127.0.0.1:{port}/?timeout=600ms");
    let began = Instant::now();
    let parsed = StoreUrl::parse(&url).unwrap();
    let message = failure(ENGINES.open(&parsed), "timeout");
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    assert!(message.contains("600 ms") && !message.contains("s3cret"), "{message}");
}
