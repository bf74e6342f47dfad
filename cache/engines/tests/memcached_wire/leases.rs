//! Leases of many keys on the wire.

use std::time::Duration;

use larder_store::{Fill, Leased, Put, Result, Session, SetOptions, Store, Token};
use larder_testkit::Peer;

use super::memcached_support::memcached;
use super::session_support::{failure, open, set};

const LONG: Duration = Duration::from_mins(5);

/// Fewer on each of two servers than one request may have.
const KEYS: usize = 120;

/// The keys that a batch leases with their tokens, and the result of the batch. Every other key is a hit.
fn lease_many(session: &mut dyn Session, keys: &[String]) -> (Vec<(String, Token)>, Result<()>) {
    let names: Vec<_> = keys.iter().map(String::as_bytes).collect();
    let mut held = Vec::new();
    let leases = session.leases().unwrap();
    let result =
        leases.get_or_lease_many(&names, LONG, Duration::ZERO, &mut |i, _, leased| match leased
            .unwrap()
        {
            Leased::Load { token, .. } => held.push((keys[i].clone(), token)),
            other => assert!(matches!(other, Leased::Hit(_)), "{other:?}"),
        });
    (held, result)
}

/// The number of values that a batch stores, and the result of the batch.
fn fill_many(session: &mut dyn Session, held: &[(String, Token)]) -> (usize, Result<()>) {
    let put = |key| Put { key, value: b"value", options: SetOptions::default() };
    let fills: Vec<_> =
        held.iter().map(|(key, token)| Fill { put: put(key.as_bytes()), token: *token }).collect();
    let mut n_stored = 0;
    let result = session.leases().unwrap().fill_many(&fills, &mut |_, outcome| {
        n_stored += usize::from(outcome.unwrap().is_stored());
    });
    (n_stored, result)
}

fn release_many(session: &mut dyn Session, held: &[(String, Token)]) -> usize {
    let held: Vec<_> = held.iter().map(|(key, token)| (key.as_bytes(), *token)).collect();
    let mut n_released = 0;
    let count = &mut |_, outcome: Result<bool>| n_released += usize::from(outcome.unwrap());
    session.leases().unwrap().release_many(&held, count).unwrap();
    n_released
}

/// A pool of two servers behind relays, which count requests.
fn pool_of_two() -> (std::sync::Arc<dyn Store>, impl Fn() -> [usize; 2], impl Sized) {
    let servers = [memcached(0, &[]), memcached(0, &[])];
    let relays = servers.each_ref().map(|(_, port)| Peer::relaying(*port, 1 << 16));
    let [one, two] = relays.each_ref().map(Peer::port);
    let store = open(&format!("memcached://127.0.0.1:{one},127.0.0.1:{two}"));
    (store, move || relays.each_ref().map(Peer::n_requests), servers)
}

pub(crate) fn one_request_a_node() {
    let (store, n_requests, _servers) = pool_of_two();
    let session = &mut *store.session().unwrap();
    let keys: Vec<String> = (0..KEYS).map(|i| format!("key:{i}")).collect();
    let mut before = n_requests();
    // The relay may see a request in two pieces.
    let mut is_one = |what: &str| {
        let now = n_requests();
        let of_each = [now[0] - before[0], now[1] - before[1]];
        assert!(of_each.iter().all(|n| (1..5).contains(n)), "{what}: {of_each:?} requests");
        before = now;
    };
    let (held, result) = lease_many(session, &keys);
    result.unwrap();
    assert_eq!(held.len(), KEYS);
    is_one("leases");
    assert_eq!(release_many(session, &held), KEYS);
    is_one("releases");
    let (held, _) = lease_many(session, &keys);
    is_one("leases after the releases");
    assert_eq!(fill_many(session, &held).0, KEYS);
    is_one("fills");
    let (held, _) = lease_many(session, &keys);
    assert!(held.is_empty());
    is_one("values");
}

pub(crate) fn stale_entries() {
    let (store, n_requests, _servers) = pool_of_two();
    let session = &mut *store.session().unwrap();
    let keys: Vec<String> = (0..100).map(|i| format!("key:{i}")).collect();
    for key in &keys {
        set(session, key, b"old");
        assert!(session.leases().unwrap().expire(key.as_bytes(), None).unwrap());
    }
    let before = n_requests();
    let (held, _) = lease_many(session, &keys);
    assert_eq!(held.len(), 100);
    let after = n_requests();
    // The values, the leases, and the marks.
    assert!((0..2).all(|node| (3..10).contains(&(after[node] - before[node]))), "{after:?}");
    assert_eq!(fill_many(session, &held).0, 100);
    let last = n_requests();
    // A look at the leases, the values, and the ends of the leases.
    assert!((0..2).all(|node| (3..10).contains(&(last[node] - after[node]))), "{last:?}");
}

pub(crate) fn lost_node() {
    let (one, lost) = (memcached(0, &[]), memcached(0, &[]));
    let store = open(&format!("memcached://127.0.0.1:{},127.0.0.1:{}", one.1, lost.1));
    let session = &mut *store.session().unwrap();
    let keys: Vec<String> = (0..100).map(|i| format!("key:{i}")).collect();
    let (all, result) = lease_many(session, &keys);
    result.unwrap();
    assert_eq!((all.len(), release_many(session, &all)), (100, 100));
    let (held, _) = lease_many(session, &keys);
    let lost_port = lost.1.to_string();
    drop(lost);
    let (n_stored, result) = fill_many(session, &held);
    assert!(failure(result, "unavailable").contains(&lost_port));
    assert!((10..90).contains(&n_stored), "{n_stored} of 100 keys are on the node that is left");
    let others: Vec<String> = (100..200).map(|i| format!("key:{i}")).collect();
    let (held, result) = lease_many(session, &others);
    assert!(failure(result, "unavailable").contains(&lost_port));
    assert!((10..90).contains(&held.len()), "{} of 100 keys are leased", held.len());
    assert_eq!(fill_many(session, &held).0, held.len());
}

pub(crate) fn large_values() {
    let (_server, port) = memcached(0, &[]);
    for piece in [1, 7, 1000] {
        let relay = Peer::relaying(port, piece);
        let store = open(&format!("memcached://127.0.0.1:{}", relay.port()));
        let session = &mut *store.session().unwrap();
        let large = vec![b'\n'; 40_000.min(2000 * piece)];
        set(session, "large", &large);
        set(session, "stale", &large);
        session.leases().unwrap().expire(b"stale", None).unwrap();
        session.delete(b"absent").unwrap();
        let keys: [&[u8]; 4] = [b"large", b"absent", b"stale", b"large"];
        let mut told = Vec::new();
        let leases = session.leases().unwrap();
        leases
            .get_or_lease_many(&keys, LONG, Duration::ZERO, &mut |i, value, leased| {
                let kind = match leased.unwrap() {
                    Leased::Hit(_) => "hit",
                    Leased::Load { stale: None, .. } => "load",
                    Leased::Load { stale: Some(_), .. } => "stale",
                    Leased::Wait { .. } => "wait",
                };
                told.push((i, kind, value.len()));
            })
            .unwrap();
        told.sort_unstable();
        let len = large.len();
        assert_eq!(told, [(0, "hit", len), (1, "load", 0), (2, "stale", len), (3, "hit", len)]);
    }
}
