//! Traffic over the wire: an operation is one request and one answer.

use std::time::Duration;

use larder_store::{Put, Session, SetMode, SetOptions};
use larder_testkit::Postgres;
use libtest_mimic::Trial;

use crate::peer::Relay;
use crate::session_support::{get, open, set};
use crate::{bytes, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("an_operation_is_one_round_trip", an_operation_is_one_round_trip),
        trial("a_batch_of_100_is_one_round_trip", a_batch_of_100_is_one_round_trip),
        trial("batches_in_opposite_orders_are_all_stored", opposite_batches),
    ]
}

/// An external server, the relay that counts its requests, and the URL through that relay.
fn counted() -> (Postgres, Relay, String) {
    let server = Postgres::start(&["fsync=off"]);
    let relay = Relay::to(server.port());
    // The store's own requests and its removal of expired entries have their own connections, and would count too. So
    // the tests use sessions only, and no entry expires.
    let url = format!("postgresql://me:s%40crt@127.0.0.1:{}/postgres", relay.port());
    (server, relay, url)
}

/// The number of requests of an operation. The thread that removes expired entries asks once a second and may add
/// requests, so the fewest requests of several tries count.
fn requests(relay: &Relay, mut operation: impl FnMut()) -> usize {
    let tries = (0..5).map(|_| {
        let before = relay.n_requests();
        operation();
        relay.n_requests() - before
    });
    tries.min().unwrap()
}

fn an_operation_is_one_round_trip() {
    let (_server, relay, url) = counted();
    let store = open(&url);
    let session = &mut *store.session().unwrap();
    let options = |mode| SetOptions { mode, ttl: Some(Duration::from_mins(2)), flags: 7 };
    let mut stored = |mode, is_stored| {
        let set = |session: &mut dyn Session| {
            session.set(b"key", b"7", &options(mode)).unwrap().is_stored()
        };
        assert_eq!(set(session), is_stored, "{mode:?} is prepared here");
        assert_eq!(requests(&relay, || assert_eq!(set(session), is_stored)), 1, "{mode:?}");
    };
    stored(SetMode::Set, true);
    stored(SetMode::Add, false);
    stored(SetMode::Replace, true);
    stored(SetMode::Append, true);
    let mut each = |name, operation: &mut dyn FnMut(&mut dyn Session)| {
        operation(session);
        assert_eq!(requests(&relay, || operation(session)), 1, "{name}");
    };
    each("get", &mut |session| assert!(get(session, "key").is_some()));
    each("miss", &mut |session| assert!(get(session, "absent").is_none()));
    each("touch", &mut |session| {
        assert!(session.touch(b"key", Some(Duration::from_mins(1))).unwrap());
    });
    let mut is_there = true;
    each("delete", &mut |session| {
        assert_eq!(session.delete(b"key").unwrap(), is_there);
        is_there = false;
    });
    assert_eq!(store.stats().unwrap().connections, Some(1));
}

fn a_batch_of_100_is_one_round_trip() {
    let (_server, relay, url) = counted();
    let store = open(&url);
    let session = &mut *store.session().unwrap();
    let keys: Vec<String> = (0..100).map(|i| format!("key:{i}")).collect();
    for key in &keys {
        set(session, key, &bytes(1000));
    }
    let batch: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    let mut n_hits = 0;
    let mut read = || {
        n_hits = 0;
        session
            .get_many(&batch, &mut |_, value, _| n_hits += usize::from(value.len() == 1000))
            .unwrap();
        assert_eq!(n_hits, 100);
    };
    read();
    assert_eq!(requests(&relay, read), 1);
    let value = bytes(1000);
    let put = |key| Put { key, value: &value, options: SetOptions::default() };
    let entries: Vec<Put<'_>> = batch.iter().copied().map(put).collect();
    let mut store = || {
        let mut n_stored = 0;
        let mut done = |_, outcome: larder_store::Result<larder_store::SetOutcome>| {
            n_stored += usize::from(outcome.unwrap().is_stored());
        };
        session.set_many(&entries, &mut done).unwrap();
        assert_eq!(n_stored, 100);
    };
    store();
    assert_eq!(requests(&relay, store), 1);
    let mut n_deleted = 0;
    let mut remove = || {
        let mut done = |_, there: larder_store::Result<bool>| {
            n_deleted += usize::from(there.unwrap());
        };
        session.delete_many(&batch, &mut done).unwrap();
    };
    remove();
    assert_eq!(requests(&relay, remove), 1);
    assert_eq!(n_deleted, 100);
}

fn opposite_batches() {
    let server = Postgres::start(&["fsync=off"]);
    let url = format!("postgresql://me:s%40crt@127.0.0.1:{}/postgres", server.port());
    crate::batches::opposite_batches_are_all_stored(&*open(&url));
}
