//! Servers that end, are absent or are several.

use std::collections::HashSet;

use larder_store::{SetOptions, Store};
use libtest_mimic::Trial;

use super::memcached_support::{memcached, trial};
use super::session_support::{failure, get, open, set, try_open};
use super::{ask, nodes};

pub(super) fn trials() -> Vec<Trial> {
    vec![
        trial("a_server_that_dies_is_an_error_until_it_is_back", a_server_that_dies),
        trial("an_absent_server_is_named", an_absent_server_is_named),
        trial("a_session_keeps_its_server", a_session_keeps_its_server),
        trial("a_pool_opens_while_one_node_answers", a_pool_opens_while_one_node_answers),
        trial("four_nodes_share_keys_as_libmemcached_would", four_nodes_share_keys),
        trial("a_relay_before_nodes_leaves_keys_where_they_are", keys_behind_a_relay),
        trial("counters_are_summed_over_nodes", counters_are_summed_over_nodes),
    ]
}

fn a_server_that_dies() {
    let (server, port) = memcached(0, &[]);
    let store = open(&format!("memcached://127.0.0.1:{port}"));
    let session = &mut *store.session().unwrap();
    set(session, "key", b"value");
    drop(server);
    let closed = failure(session.get(b"key", &mut Vec::new()), "unavailable");
    assert!(closed.contains(&format!("127.0.0.1:{port}")), "{closed}");
    let refused = failure(session.get(b"key", &mut Vec::new()), "unavailable");
    assert_eq!(
        refused,
        format!("memcached: 127.0.0.1:{port} refused the connection; is memcached running there?")
    );
    let _server = memcached(port, &[]);
    assert_eq!(get(session, "key"), None, "a new server is empty");
    set(session, "key", b"value");
    assert_eq!(store.stats().unwrap().connections, Some(2));
}

fn an_absent_server_is_named() {
    let (server, port) = memcached(0, &[]);
    drop(server);
    let message = failure(try_open(&format!("memcached://127.0.0.1:{port}")), "unavailable");
    assert!(message.contains(&format!("127.0.0.1:{port} refused")), "{message}");
    let url = format!("memcached://127.0.0.1:{port},127.0.0.1:{port}");
    let message = failure(try_open(&url), "unavailable");
    assert!(message.contains("none of 2 nodes answers; the first: 127.0.0.1"), "{message}");
    let message = failure(try_open("memcached:///nowhere/memcached.sock"), "unavailable");
    assert!(message.contains("/nowhere/memcached.sock is not there"), "{message}");
    let message = failure(try_open("memcached://no-such-host.invalid"), "unavailable");
    assert!(message.contains("no-such-host.invalid"), "{message}");
}

fn a_session_keeps_its_server() {
    let store = open("memcached:");
    let pid = store.info().server_pids[0];
    let mut session = store.session().unwrap();
    drop(store);
    set(&mut *session, "key", b"value");
    drop(session);
    assert!(
        !std::fs::exists(format!("/proc/{pid}")).unwrap(),
        "the server ends with its last user"
    );
}

fn a_pool_opens_while_one_node_answers() {
    let (_one, one) = memcached(0, &[]);
    let (two, two_port) = memcached(0, &[]);
    drop(two);
    let store = open(&format!("memcached://127.0.0.1:{one},127.0.0.1:{two_port}"));
    assert_eq!(store.info().settings["not_answering"], format!("127.0.0.1:{two_port}"));
    let session = &mut *store.session().unwrap();
    let outcomes: Vec<_> = (0..50)
        .map(|i| session.set(format!("k{i}").as_bytes(), b"v", &SetOptions::default()))
        .collect();
    let stored = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert!((1..50).contains(&stored), "{stored} of 50 are on the node that answers");
    let refused = outcomes.into_iter().filter_map(Result::err);
    assert!(refused.into_iter().all(|error| error.to_string().contains(&two_port.to_string())));
}

fn four_nodes_share_keys() {
    let store = open("memcached:?nodes=4");
    assert_eq!(store.info().addresses, nodes(&*store));
    share_keys(&*store);
}

fn keys_behind_a_relay() {
    let store = open("memcached:?nodes=4&via=delay:100us");
    let (nodes, relays) = (nodes(&*store), store.info().addresses);
    assert_eq!(nodes.iter().chain(&relays).collect::<HashSet<_>>().len(), 8, "{relays:?}");
    share_keys(&*store);
}

/// Checks that four servers share keys as libmemcached would share them.
fn share_keys(store: &dyn Store) {
    let nodes = nodes(store);
    assert_eq!(nodes.iter().collect::<HashSet<_>>().len(), 4, "{nodes:?}");
    let session = &mut *store.session().unwrap();
    // Four servers that larder starts have fixed places on the ring, whatever their ports.
    let pool =
        "pool weighted 127.0.0.1 11211 1 127.0.0.1 11212 1 127.0.0.1 11213 1 127.0.0.1 11214 1";
    let vectors = include_str!("../../../protocol/tests/data/ketama.txt").lines();
    let keys = vectors.skip_while(|line| *line != pool).skip(1);
    let mut n_keys = [0; 4];
    for line in keys.take_while(|line| !line.starts_with("pool ")) {
        let (key, node) = line.rsplit_once(' ').unwrap();
        let node: usize = node.parse().unwrap();
        set(session, key, b"v");
        let found = ask(&nodes[node], &format!("get {key}"));
        assert_eq!(found, format!("VALUE {key} 0 1"), "on node {node}");
        n_keys[node] += 1;
    }
    assert!(n_keys.iter().all(|n| *n > 5), "{n_keys:?}");
    assert_eq!(store.stats().unwrap().items, Some(n_keys.iter().sum()));
}

fn counters_are_summed_over_nodes() {
    let store = open("memcached:?nodes=4");
    let session = &mut *store.session().unwrap();
    let keys: Vec<String> = (0..40).map(|i| format!("key:{i}")).collect();
    for key in &keys {
        set(session, key, b"value");
    }
    assert!(keys.iter().all(|key| get(session, key).is_some()));
    assert_eq!(get(session, "absent"), None);
    session.delete(b"key:0").unwrap();
    let stats = store.stats().unwrap();
    assert_eq!((stats.sets, stats.hits, stats.misses), (Some(40), Some(40), Some(1)));
    assert_eq!((stats.deletes, stats.items, stats.evictions), (Some(1), Some(39), Some(0)));
    assert!(stats.bytes > Some(39 * 5));
    session.clear().unwrap();
    assert!(keys.iter().all(|key| get(session, key).is_none()), "clear reaches every node");
}
