//! A pool of servers, one of which does not answer.

use std::collections::BTreeSet;

use larder_store::{Session, Store};
use larder_testkit::{Memcached, signal};

use super::{get, open, set_surely, wait_until};

const KEYS: usize = 60;

fn key(n: usize) -> String {
    format!("larder-test:pool:{n}")
}

/// A stack above a pool of three, whose L1 keeps values for a moment. The breakers have a short time between probes.
fn stack(servers: &[Memcached]) -> std::sync::Arc<dyn Store> {
    let hosts: Vec<String> = servers.iter().map(Memcached::address).collect();
    let far = format!("memcached://{}?timeout=300ms&breaker=3,probe:200ms", hosts.join(","));
    open(&format!("tiered:memory:?size=1m|{far}|?soft_timeout=100ms&l1_ttl=1ms"))
}

/// The keys that a batch finds.
fn found(session: &mut dyn Session) -> BTreeSet<usize> {
    let keys: Vec<String> = (0..KEYS).map(key).collect();
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    let mut found = BTreeSet::new();
    session.get_many(&keys, &mut |i, _, _| assert!(found.insert(i))).unwrap();
    found
}

fn state(store: &dyn Store) -> String {
    store.info().settings["l2.breaker_state"].clone()
}

/// Freezes the first server, and reads until its breaker alone is open. Returns the keys that are not on it.
fn freeze(servers: &[Memcached], store: &dyn Store) -> BTreeSet<usize> {
    let session = &mut *store.session().unwrap();
    for n in 0..KEYS {
        set_surely(session, &key(n), b"old");
    }
    wait_until("all keys", || found(session).len() == KEYS);
    signal(servers[0].pid(), libc::SIGSTOP);
    let open = format!("{} open", servers[0].address());
    wait_until("an open breaker", || {
        found(session);
        state(store) == open
    });
    let mut others = BTreeSet::new();
    // A busy machine may make another server seem dead for a moment.
    wait_until("the keys of the others", || {
        let now = found(session);
        let is_whole = others.is_subset(&now);
        others.extend(now);
        is_whole && others.len() > KEYS / 3 && state(store) == open
    });
    assert!(others.len() < KEYS);
    others
}

pub(super) fn frozen() {
    let servers = [(); 3].map(|()| Memcached::start());
    let store = stack(&servers);
    let session = &mut *store.session().unwrap();
    let others = freeze(&servers, &*store);
    for n in 0..KEYS {
        if others.contains(&n) {
            wait_until("a hit", || get(session, &key(n)) == Some(b"old".to_vec()));
            set_surely(session, &key(n), b"new");
        } else {
            assert_eq!(get(session, &key(n)), None);
        }
    }
    signal(servers[0].pid(), libc::SIGCONT);
    wait_until("recovery", || found(session).len() == KEYS && state(&*store) == "closed");
}

pub(super) fn back() {
    let servers = [(); 3].map(|()| Memcached::start());
    let store = stack(&servers);
    let session = &mut *store.session().unwrap();
    let others = freeze(&servers, &*store);
    let lost: Vec<usize> = (0..KEYS).filter(|n| !others.contains(n)).collect();
    let (written, kept) = lost.split_at(lost.len() / 2);
    let mut refused = 0;
    for n in written {
        // Most of these are refused, because the breaker is open. A probe fails.
        let error = session.delete(key(*n).as_bytes()).unwrap_err();
        refused += usize::from(error.is_not_made());
    }
    assert!(refused > 0);
    // It comes back with its data.
    signal(servers[0].pid(), libc::SIGCONT);
    wait_until("the other keys", || kept.iter().all(|n| get(session, &key(*n)).is_some()));
    for n in written {
        wait_until("the removal", || get(session, &key(*n)).is_none());
    }
    wait_until("recovery", || {
        found(session);
        state(&*store) == "closed"
    });
    for n in written {
        assert_eq!(get(session, &key(*n)), None);
    }
    for n in kept {
        wait_until("an answer", || get(session, &key(*n)) == Some(b"old".to_vec()));
    }
}
