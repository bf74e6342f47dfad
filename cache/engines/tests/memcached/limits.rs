//! Limits of values and of memory, and values on a disk.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use larder_store::{Put, SetOptions};
use larder_testkit::{PATIENCE, within};
use libtest_mimic::Trial;

use super::memcached_support::{memcached, trial};
use super::session_support::{failure, get, open, set, try_open};
use super::{bytes, nodes};

pub(super) fn trials() -> Vec<Trial> {
    vec![
        trial("values_go_up_to_the_item_limit", values_go_up_to_the_item_limit),
        trial("a_larger_item_limit_is_an_option", a_larger_item_limit_is_an_option),
        trial("an_item_limit_below_a_chunk_is_an_option", a_smaller_item_limit),
        trial("a_full_server_says_so", a_full_server_says_so),
        trial("a_refused_value_keeps_no_other_value_out", a_refused_value_keeps_no_other_value_out),
        trial("values_without_room_go_to_the_extstore", values_without_room_go_to_the_extstore),
    ]
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
