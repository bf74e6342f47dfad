//! Connections to a server: how many, over a socket, and behind a relay.

use std::time::Duration;

use larder_store::{Delta, Ownership, Reach, Session, Store};
use larder_testkit::takes_at_least;
use libtest_mimic::Trial;

use super::memcached_support::{memcached, trial};
use super::session_support::{failure, get, open, set};
use super::{ask, bytes, nodes};

pub(super) fn trials() -> Vec<Trial> {
    vec![
        trial("connections_are_counted", connections_are_counted),
        trial("a_connection_for_every_operation", a_connection_for_every_operation),
        trial("a_unix_socket_reaches_this_host_only", a_unix_socket_reaches_this_host_only),
        trial("a_delayed_wire_is_told_of_and_felt", a_delayed_wire),
        trial("a_socket_behind_a_relay_is_on_a_port", a_socket_behind_a_relay),
        trial("a_server_behind_a_relay_goes_by_its_own_name", a_server_behind_a_relay),
    ]
}

fn connections_are_counted() {
    let store = open("memcached:?nodes=2");
    let (key_a, key_b) = two_keys_of_two_nodes(&*store);
    let connections = || store.stats().unwrap().connections.unwrap();
    let before = connections();
    let (mut one, mut two) = (store.session().unwrap(), store.session().unwrap());
    assert_eq!(connections(), before, "sessions connect when they first ask");
    for _ in 0..3 {
        get(&mut *one, &key_a);
        assert_eq!(connections(), before + 1);
    }
    get(&mut *one, &key_b);
    assert_eq!(connections(), before + 2);
    let keys = [key_a.as_bytes(), key_b.as_bytes()];
    two.get_many(&keys, &mut |_, _, _| {}).unwrap();
    assert_eq!(connections(), before + 4);
}

/// Two keys, on the first and on the second node.
fn two_keys_of_two_nodes(store: &dyn Store) -> (String, String) {
    let nodes = nodes(store);
    let session = &mut *store.session().unwrap();
    let other = open(&format!("memcached://{}", nodes[0]));
    let on_first = &mut *other.session().unwrap();
    let keys = (0..).map(|i| format!("probe:{i}"));
    let mut found = [None, None];
    for key in keys {
        set(session, &key, b"v");
        let node = usize::from(get(on_first, &key).is_none());
        found[node].get_or_insert(key);
        if let [Some(a), Some(b)] = &found {
            return (a.clone(), b.clone());
        }
    }
    unreachable!("keys are endless")
}

fn a_connection_for_every_operation() {
    let store = open("memcached:?connect=operation");
    let session = &mut *store.session().unwrap();
    set(session, "key", b"1");
    assert!(get(session, "key").is_some());
    session.incr(b"key", Delta::Up(1), None).unwrap();
    session.touch(b"key", None).unwrap();
    session.get_many(&[b"key", b"other"], &mut |_, _, _| {}).unwrap();
    session.delete(b"key").unwrap();
    assert_eq!(store.stats().unwrap().connections, Some(6));
    assert_eq!(store.info().settings["connect"], "operation");
}

fn a_unix_socket_reaches_this_host_only() {
    let store = open("memcached:?socket=on");
    assert_eq!(store.capabilities().reach, Reach::Host);
    let path = nodes(&*store).remove(0);
    assert!(path.ends_with("/socket"), "{path}");
    assert_eq!(store.info().addresses, [path.as_str()]);
    let session = &mut *store.session().unwrap();
    set(session, "key", &bytes(500_000));
    let other = open(&format!("memcached://{path}"));
    assert_eq!(get(&mut *other.session().unwrap(), "key"), Some(bytes(500_000)));
    assert_eq!(other.info().server_pids, store.info().server_pids);
    assert_eq!(open("memcached:").capabilities().reach, Reach::Network);
}

fn a_delayed_wire() {
    let store = open("memcached:?via=delay:20ms");
    let info = store.info();
    assert_eq!(info.settings["via"], "delay:20ms");
    let added = &info.settings["via_added"];
    assert!(added.contains(" ms at the median, "), "{added}");
    assert_eq!((info.server_pids.len(), store.capabilities().reach), (1, Reach::Network));
    let near_store = open("memcached:");
    let (session, near) = (&mut *store.session().unwrap(), &mut *near_store.session().unwrap());
    set(session, "key", b"value");
    set(near, "key", b"value");
    // The kernel's clocks are coarse.
    let (one_wait, two_waits) = (Duration::from_millis(19), Duration::from_millis(38));
    let get_key = |session: &mut dyn Session| {
        assert_eq!(get(session, "key"), Some(b"value".to_vec()));
    };
    takes_at_least(one_wait, "a round trip", || get_key(near), || get_key(session));
    let anew = |store: &dyn Store| get_key(&mut *store.session().unwrap());
    takes_at_least(two_waits, "a new connection", || anew(&*near_store), || anew(&*store));
    // Another client goes through the same relay.
    let version = |of: &dyn Store| {
        assert!(ask(&of.info().addresses[0], "version").starts_with("VERSION "));
    };
    takes_at_least(two_waits, "another client", || version(&*near_store), || version(&*store));
}

fn a_socket_behind_a_relay() {
    let store = open("memcached:?socket=on&via=delay:100us");
    assert!(nodes(&*store)[0].ends_with("/socket"));
    assert_eq!(store.capabilities().reach, Reach::Network);
    assert!(ask(&store.info().addresses[0], "version").starts_with("VERSION "));
    let session = &mut *store.session().unwrap();
    set(session, "key", &bytes(500_000));
    assert_eq!(get(session, "key"), Some(bytes(500_000)));
}

fn a_server_behind_a_relay() {
    let (server, port) = memcached(0, &[]);
    let store = open(&format!("memcached://127.0.0.1:{port}?via=delay:100us"));
    assert_eq!(store.info().ownership, Ownership::External);
    assert_eq!(store.info().server_pids, [server.pid()]);
    let session = &mut *store.session().unwrap();
    set(session, "key", b"value");
    drop(server);
    let message = failure(session.get(b"key", &mut Vec::new()), "unavailable");
    assert!(message.contains(&format!("127.0.0.1:{port} closed the connection")), "{message}");
    let _server = memcached(port, &[]);
    assert_eq!(get(session, "key"), None, "a new server is empty");
}
