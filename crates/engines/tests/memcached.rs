//! `memcached:` against real servers.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod memcached_support;
mod session_support;

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use larder_store::{
    Delta, Error, Ownership, Put, Reach, Remaining, Session, SetMode, SetOptions, SetOutcome, Store,
};
use larder_testkit::{PATIENCE, takes_at_least, within};
use libtest_mimic::Arguments;
use memcached_support::{memcached, trial};
use session_support::{failure, get, open, set, try_open};

fn main() -> ExitCode {
    larder_host::relay::serve_if_asked();
    let trials = vec![
        trial("values_go_up_to_the_item_limit", values_go_up_to_the_item_limit),
        trial("a_larger_item_limit_is_an_option", a_larger_item_limit_is_an_option),
        trial("an_item_limit_below_a_chunk_is_an_option", a_smaller_item_limit),
        trial("a_full_server_says_so", a_full_server_says_so),
        trial("a_server_that_dies_is_an_error_until_it_is_back", a_server_that_dies),
        trial("an_absent_server_is_named", an_absent_server_is_named),
        trial("a_pool_opens_while_one_node_answers", a_pool_opens_while_one_node_answers),
        trial("four_nodes_share_keys_as_libmemcached_would", four_nodes_share_keys),
        trial("a_relay_before_nodes_leaves_keys_where_they_are", keys_behind_a_relay),
        trial("a_delayed_wire_is_told_of_and_felt", a_delayed_wire),
        trial("a_socket_behind_a_relay_is_on_a_port", a_socket_behind_a_relay),
        trial("a_server_behind_a_relay_goes_by_its_own_name", a_server_behind_a_relay),
        trial("a_batch_is_whole_whatever_its_size", a_batch_is_whole_whatever_its_size),
        trial(
            "a_batch_of_writes_is_whole_whatever_its_size",
            a_batch_of_writes_is_whole_whatever_its_size,
        ),
        trial("a_refused_value_keeps_no_other_value_out", a_refused_value_keeps_no_other_value_out),
        trial("a_look_is_no_hit", a_look_is_no_hit),
        trial("connections_are_counted", connections_are_counted),
        trial("a_connection_for_every_operation", a_connection_for_every_operation),
        trial("a_unix_socket_reaches_this_host_only", a_unix_socket_reaches_this_host_only),
        trial("an_external_server_is_never_cleared", an_external_server),
        trial("effective_settings_are_read_back", effective_settings_are_read_back),
        trial("values_without_room_go_to_the_extstore", values_without_room_go_to_the_extstore),
        trial("a_session_keeps_its_server", a_session_keeps_its_server),
        trial("counters_are_summed_over_nodes", counters_are_summed_over_nodes),
        trial("versions_and_ttl_come_with_a_hit", versions_and_ttl_come_with_a_hit),
        trial("without_versions_there_is_no_cas", without_versions_there_is_no_cas),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Bytes that differ along the value, so that a misplaced part is noticed.
fn bytes(len: usize) -> Vec<u8> {
    (0..=250_u8).cycle().take(len).collect()
}

/// The addresses of a store's nodes.
fn nodes(store: &dyn Store) -> Vec<String> {
    store.info().settings["nodes"].split(", ").map(String::from).collect()
}

/// The line that a server answers to a request of one line, over a connection of its own.
fn ask(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(format!("{request}\r\n").as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line.trim_end().into()
}

fn values_go_up_to_the_item_limit() {
    for protocol in ["text", "meta"] {
        let store = open(&format!("memcached:?protocol={protocol}"));
        assert_eq!(store.capabilities().max_value_len, Some(1 << 20));
        let session = &mut *store.session().unwrap();
        // Lengths around the limits of the copy in a request, of the receive buffer and of a socket.
        for len in [0, 1, 4095, 4096, 4097, 16_330, 16_384, 16_390, 40_000, 262_144, 1_048_000] {
            set(session, "key", &bytes(len));
            assert_eq!(get(session, "key"), Some(bytes(len)), "{len} bytes by {protocol}");
        }
        let refused = session.set(b"key", &bytes(1 << 20), &SetOptions::default());
        let message = failure(refused, "value_too_large");
        assert_eq!(message, "memcached: value 1 MiB > item limit 1 MiB");
        assert_eq!(get(session, "key"), None, "the older value is still there by {protocol}");
        set(session, "key", b"the session works on");
        assert_eq!(store.stats().unwrap().connections, Some(1), "no new connection was needed");
    }
}

fn a_smaller_item_limit() {
    for (size, limit) in
        [("4k", 4 << 10), ("16k", 16 << 10), ("768k", 768 << 10), ("1216k", 1216 << 10)]
    {
        let store = open(&format!("memcached:?item_size={size}"));
        assert_eq!(store.capabilities().max_value_len, Some(limit));
        let mut session = store.session().unwrap();
        set(&mut *session, "key", &bytes(limit - 1000));
        assert_eq!(get(&mut *session, "key"), Some(bytes(limit - 1000)), "{size}");
        let refused = session.set(b"key", &bytes(limit), &SetOptions::default());
        failure(refused, "value_too_large");
        assert_eq!(get(&mut *session, "key"), None, "{size}");
    }
}

fn a_larger_item_limit_is_an_option() {
    let store = open("memcached:?i=4m&m=100m");
    assert_eq!(store.capabilities().max_value_len, Some(4 << 20));
    let session = &mut *store.session().unwrap();
    let value = bytes(2170 << 10);
    set(session, "key", &value);
    assert_eq!(get(session, "key"), Some(value));
    let message = failure(try_open("memcached:?item_size=600m"), "invalid_options");
    assert!(message.contains("option `m`: 64 MiB < 1.2 GiB, twice `item_size`"), "{message}");
}

fn a_full_server_says_so() {
    let (_server, port) = memcached(0, &["-M", "-m", "8"]);
    let store = open(&format!("memcached://127.0.0.1:{port}"));
    assert!(!store.capabilities().evicts, "-M: no evictions");
    let session = &mut *store.session().unwrap();
    let full = (0..200).find_map(|i| {
        let key = format!("key:{i}");
        session.set(key.as_bytes(), &bytes(100_000), &SetOptions::default()).err()
    });
    let message = failure(full.map_or(Ok(()), Err), "full");
    assert!(message.contains("out of memory") && message.contains(&port.to_string()), "{message}");
    assert_eq!(get(session, "key:0"), Some(bytes(100_000)), "the session works on");
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
    let vectors = include_str!("../../protocol/tests/data/ketama.txt").lines();
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

fn a_batch_is_whole_whatever_its_size() {
    for url in ["memcached:?protocol=text", "memcached:?protocol=meta", "memcached:?nodes=3"] {
        let store = open(url);
        let session = &mut *store.session().unwrap();
        // The keys are long, so that the batch takes several requests. Some values are larger than a receive buffer,
        // one is larger than the buffers of a socket.
        let keys: Vec<String> = (0..1000).map(|i| format!("{i:0>200}")).collect();
        let value = |i: usize| {
            bytes(match i % 100 {
                7 => 900_000 * usize::from(i == 7) + 20_000,
                rest => rest * 10,
            })
        };
        let is_there = |i: usize| !i.is_multiple_of(3);
        for (i, key) in keys.iter().enumerate().filter(|(i, _)| is_there(*i)) {
            set(session, key, &value(i));
        }
        let mut batch: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
        batch.push(batch[1]);
        let mut hits = HashSet::new();
        session
            .get_many(&batch, &mut |i, found, _| {
                assert!(found == value(if i == 1000 { 1 } else { i }), "value {i} of {url}");
                assert!(hits.insert(i), "key {i} came twice");
            })
            .unwrap();
        let wanted: HashSet<usize> = (0..1000).filter(|i| is_there(*i)).chain([1000]).collect();
        assert_eq!(hits, wanted, "{url}");
        session.get_many(&[], &mut |_, _, _| panic!("a hit of nothing")).unwrap();
    }
}

/// Neither side may wait for the other to read: some batches and some values are larger than all buffers between them.
fn a_batch_of_writes_is_whole_whatever_its_size() {
    for url in [
        "memcached:?protocol=text&m=256m",
        "memcached:?protocol=meta&m=256m",
        "memcached:?nodes=3&m=256m",
        "memcached:?socket=on&m=256m",
        "memcached:?connect=operation&m=256m",
    ] {
        let store = open(url);
        let session = &mut *store.session().unwrap();
        for (n, len) in [(20_000, 10), (1000, 5000), (300, 100_000), (20, 1_000_000)] {
            let keys: Vec<String> = (0..n).map(|i| format!("{n}:{i}")).collect();
            let value = bytes(len);
            let put = |key| Put { key, value: &value, options: SetOptions::default() };
            let batch: Vec<Put<'_>> = keys.iter().map(|key| put(key.as_bytes())).collect();
            let mut places = Vec::new();
            session
                .set_many(&batch, &mut |i, outcome| {
                    assert!(outcome.unwrap().is_stored(), "{i} of {n} in {url}");
                    places.push(i);
                })
                .unwrap();
            assert_eq!(places, (0..n).collect::<Vec<_>>(), "{url}");
            for key in [&keys[0], &keys[n / 2], &keys[n - 1]] {
                assert_eq!(get(session, key), Some(bytes(len)), "{key} in {url}");
            }
            let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
            let mut n_deleted = 0;
            session
                .delete_many(&keys, &mut |i, was_there| {
                    assert_eq!((i, was_there.unwrap()), (n_deleted, true), "{url}");
                    n_deleted += 1;
                })
                .unwrap();
            assert_eq!(n_deleted, n, "{url}");
        }
    }
}

fn a_refused_value_keeps_no_other_value_out() {
    for protocol in ["text", "meta"] {
        let store = open(&format!("memcached:?protocol={protocol}"));
        let session = &mut *store.session().unwrap();
        let (large, small) = (bytes(1 << 20), bytes(100));
        set(session, "key:1", b"old");
        let put = |(i, key): (usize, &'static str)| Put {
            key: key.as_bytes(),
            value: if i == 1 { &large } else { &small },
            options: SetOptions::default(),
        };
        let keys = ["key:0", "key:1", "key:2", "key:3"];
        let batch: Vec<Put<'_>> = keys.into_iter().enumerate().map(put).collect();
        let mut told = Vec::new();
        session.set_many(&batch, &mut |_, outcome| told.push(outcome)).unwrap();
        let refused = told.remove(1);
        let message = failure(refused, "value_too_large");
        assert_eq!(message, "memcached: value 1 MiB > item limit 1 MiB");
        assert!(told.into_iter().all(|outcome| outcome.unwrap().is_stored()));
        assert_eq!(get(session, "key:1"), None, "the older value is still there by {protocol}");
        for key in ["key:0", "key:2", "key:3"] {
            assert_eq!(get(session, key), Some(small.clone()));
        }
        assert_eq!(store.stats().unwrap().connections, Some(1), "no new connection was needed");
    }
}

fn a_look_is_no_hit() {
    let store = open("memcached:");
    let session = &mut *store.session().unwrap();
    set(session, "key", b"value");
    let was_hit = |session: &mut dyn Session| session.look(b"key").unwrap().unwrap().was_hit;
    assert_eq!((was_hit(session), was_hit(session)), (Some(false), Some(false)));
    assert_eq!(get(session, "key"), Some(b"value".to_vec()));
    assert_eq!(was_hit(session), Some(true));
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

fn an_external_server() {
    let (server, port) = memcached(0, &["-m", "100"]);
    let address = format!("127.0.0.1:{port}");
    let store = open(&format!("memcached://{address}"));
    assert_eq!(store.info().ownership, Ownership::External);
    assert_eq!(store.info().server_pids, [server.pid()]);
    assert!(!store.capabilities().clear);
    assert_eq!(ask(&address, "set theirs 0 0 1\r\nx"), "STORED");
    let session = &mut *store.session().unwrap();
    let message = failure(session.clear(), "unsupported");
    assert!(message.contains("larder did not start"), "{message}");
    set(session, "ours", b"v");
    session.delete(b"ours").unwrap();
    assert_eq!(get(session, "theirs"), Some(b"x".to_vec()));
    let message = failure(try_open(&format!("memcached://{address}?m=1g")), "invalid_options");
    assert!(message.contains("option `m`"), "{message}");
}

fn effective_settings_are_read_back() {
    let store = open("memcached:?m=100&item_size=2m&server_threads=2&nodes=2&max_connections=3000");
    let info = store.info();
    assert_eq!((info.scheme, info.ownership), ("memcached", Ownership::Managed));
    assert!(info.version.is_some_and(|version| version.starts_with("1.")));
    for (name, value) in [
        ("maxbytes", "104857600"),
        ("item_size_max", "2097152"),
        ("slab_chunk_max", "524288"),
        ("num_threads", "2"),
        ("maxconns", "3000"),
        ("evictions", "on"),
        ("cas_enabled", "yes"),
        ("protocol", "meta"),
        ("connect", "session"),
    ] {
        assert_eq!(info.settings[name], value, "{name}");
    }
    assert_eq!(store.stats().unwrap().capacity_bytes, Some(200 << 20));
    assert_eq!(info.server_pids.len(), 2);
    for pid in info.server_pids {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap();
        assert_eq!(name.trim(), "memcached");
    }
    // A pool of different servers says so.
    let (_other, port) = memcached(0, &["-m", "32"]);
    let nodes = nodes(&*store).remove(0);
    let mixed = open(&format!("memcached://{nodes},127.0.0.1:{port}"));
    let maxbytes = format!("104857600; 127.0.0.1:{port} has 33554432");
    assert_eq!(mixed.info().settings["maxbytes"], maxbytes);
    assert_eq!(mixed.capabilities().max_value_len, Some(1 << 20), "the smaller limit counts");
}

fn values_without_room_go_to_the_extstore() {
    let store = open("memcached:?m=16m&extstore=64m");
    let address = nodes(&*store).remove(0);
    let info = store.info();
    let file = info.data_paths.first().unwrap();
    assert!(file.is_file(), "{}", file.display());
    let settings = ["extstore", "ext_item_size"].map(|name| info.settings[name].as_str());
    assert_eq!(settings, ["64 MiB", "512"]);
    let counter = |name: &str| -> u64 {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.write_all(b"stats\r\n").unwrap();
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        let mut lines = lines.take_while(|line| line != "END");
        let line = lines.find(|line| line.starts_with(&format!("STAT {name} "))).unwrap();
        line.rsplit_once(' ').unwrap().1.parse().unwrap()
    };
    // The server moves values behind its callers, so sets go on until it has moved some.
    let session = &mut *store.session().unwrap();
    let value = |number: u32| format!("{number:08}").repeat(1024).into_bytes();
    let mut stored = 0;
    let is_moved = within(PATIENCE, || {
        for number in stored..stored + 100 {
            set(session, &number.to_string(), &value(number));
        }
        stored += 100;
        counter("extstore_objects_written") > 100
    });
    assert!(is_moved, "{stored} values stored");
    for number in 0..stored {
        if let Some(read) = get(session, &number.to_string()) {
            assert_eq!(read, value(number));
        }
    }
    assert!(counter("get_extstore") > 0, "{stored} values stored");
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

fn versions_and_ttl_come_with_a_hit() {
    for protocol in ["text", "meta"] {
        let store = open(&format!("memcached:?protocol={protocol}"));
        let capabilities = store.capabilities();
        assert_eq!(
            (capabilities.ttl_left, capabilities.version),
            (protocol == "meta", protocol == "meta")
        );
        let session = &mut *store.session().unwrap();
        let ttl = Some(Duration::from_millis(99_500));
        let options = SetOptions { ttl, flags: u32::MAX, ..SetOptions::default() };
        let before = Instant::now();
        session.set(b"key", b"value", &options).unwrap();
        let mut metas = Vec::new();
        metas.push(session.get(b"key", &mut Vec::new()).unwrap().unwrap());
        session.get_many(&[b"key"], &mut |_, _, meta| metas.push(meta)).unwrap();
        let meta = metas[0];
        assert_eq!((meta.flags, metas.len()), (u32::MAX, 2));
        assert_eq!((metas[1].flags, metas[1].version), (meta.flags, meta.version));
        match meta.ttl {
            Remaining::Unknown => assert_eq!(protocol, "text"),
            Remaining::For(left) if before.elapsed() < Duration::from_secs(5) => {
                // The remaining TTL is rounded up, and the server's clock ticks once a second.
                assert!((90..=100).contains(&left.as_secs()), "{left:?}");
            }
            other => panic!("{other:?}"),
        }
        if protocol == "text" {
            assert_eq!(meta.version, None, "a writer is not told the version of its entry");
            continue;
        }
        let cas = |version| SetOptions { mode: SetMode::Cas(version), ..SetOptions::default() };
        let version = meta.version.unwrap();
        assert!(session.set(b"key", b"2", &cas(version)).unwrap().is_stored());
        assert_eq!(session.set(b"key", b"3", &cas(version)).unwrap(), SetOutcome::Exists);
        assert_eq!(session.set(b"absent", b"3", &cas(version)).unwrap(), SetOutcome::NotFound);
        assert_eq!(get(session, "key"), Some(b"2".to_vec()));
    }
}

fn without_versions_there_is_no_cas() {
    let (_server, port) = memcached(0, &["-C"]);
    for protocol in ["text", "meta"] {
        let store = open(&format!("memcached://127.0.0.1:{port}?protocol={protocol}"));
        assert!(!store.capabilities().version);
        let session = &mut *store.session().unwrap();
        set(session, "key", b"value");
        let meta = session.get(b"key", &mut Vec::new()).unwrap().unwrap();
        assert_eq!(meta.version, None);
        let options = SetOptions { mode: SetMode::Cas(1), ..SetOptions::default() };
        let refused = session.set(b"key", b"other", &options);
        assert!(matches!(refused, Err(Error::Unsupported { operation: "cas", .. })), "{refused:?}");
    }
}
