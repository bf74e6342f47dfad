//! Reads of one server that does not answer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use larder_store::{Error, StoreUrl};
use larder_testkit::{Memcached, signal};
use larder_tiers::{Cap, Config, LoadOptions, Loaded, Origin, Tiers};

use super::{ENGINES, errors, get, open, set, set_surely, wait_until};

pub(super) fn frozen() {
    let server = Memcached::start();
    let far = format!("memcached://{}?timeout=1h&breaker=off", server.address());
    let store = open(&format!("tiered:memory:?size=1m|{far}|?soft_timeout=50ms"));
    let session = &mut *store.session().unwrap();
    set(session, "near", b"value").unwrap();
    let (writes, is_written) = (store.session(), AtomicBool::new(false));
    signal(server.pid(), libc::SIGSTOP);
    thread::scope(|scope| {
        let mut writes = writes.unwrap();
        let is_written = &is_written;
        scope.spawn(move || {
            set(&mut *writes, "late", b"written").unwrap();
            is_written.store(true, Ordering::SeqCst);
        });
        // The signal may arrive late, so the first reads may have answers.
        wait_until("a failure", || {
            assert_eq!(get(session, "far"), None);
            errors(&*store) >= 10
        });
        let mut many = Vec::new();
        let keys: [&[u8]; 2] = [b"far", b"near"];
        session.get_many(&keys, &mut |i, value, _| many.push((i, value.to_vec()))).unwrap();
        assert_eq!(many, [(1, b"value".to_vec())]);
        assert_eq!(get(session, "near"), Some(b"value".to_vec()));
        assert_eq!(store.info().settings["soft_timeout"], "50ms");
        signal(server.pid(), libc::SIGCONT);
    });
    assert!(is_written.load(Ordering::SeqCst));
    assert_eq!(get(session, "late"), Some(b"written".to_vec()));
}

pub(super) fn late_answer() {
    let server = Memcached::start();
    let far = format!("memcached://{}?timeout=1h&breaker=off", server.address());
    // Values that fit a receive buffer, and others.
    for len in [10, 100_000] {
        let store = open(&format!("tiered:memory:?size=1m|{far}|?soft_timeout=10ms&l1_ttl=1ms"));
        let session = &mut *store.session().unwrap();
        let value = |n: u8| vec![n; len];
        for n in 0..8 {
            set(session, &format!("k{n}"), &value(n)).unwrap();
        }
        for round in 0..5 {
            signal(server.pid(), libc::SIGSTOP);
            let before = errors(&*store);
            wait_until("a failure", || {
                let _ = get(session, &format!("k{round}"));
                errors(&*store) > before
            });
            signal(server.pid(), libc::SIGCONT);
            // The first of these is another key than that of the late answer.
            for n in (0..8).map(|n| (n + round + 1) % 8) {
                let key = format!("k{n}");
                wait_until("an answer", || match get(session, &key) {
                    None => false,
                    Some(found) => {
                        assert!(found == value(n), "{key} is {:?}…", &found[..1]);
                        true
                    }
                });
            }
        }
    }
}

pub(super) fn refused() {
    let url = "tiered:memory:?size=1m|memory:?size=1m|?soft_timeout=50ms";
    let error = ENGINES.open(&StoreUrl::parse(url).unwrap()).unwrap_err();
    let text = error.to_string();
    assert!(error.is_usage() && !text.contains('\n'), "{text}");
    let says = "option `soft_timeout`: the reads of L2 memory: have no such bound";
    assert!(text.contains(says), "{text}");
}

/// Encrypted connections, and those of another client.
pub(super) fn frozen_others() {
    for (far, option) in
        [("memcacheds:", ""), ("rediss:", ""), ("redis:", ""), ("redis:", "&ttl_left=on")]
    {
        let far = format!("{far}?timeout=1h&breaker=off{option}");
        let store = open(&format!("tiered:memory:?size=1m|{far}|?soft_timeout=50ms"));
        let pid = store.info().server_pids[0];
        let session = &mut *store.session().unwrap();
        set_surely(session, "far", b"value");
        signal(pid, libc::SIGSTOP);
        wait_until("a failure", || {
            assert_eq!(get(session, "absent"), None);
            errors(&*store) >= 5
        });
        assert_eq!(get(session, "far"), Some(b"value".to_vec()), "{far}: L1 has it");
        signal(pid, libc::SIGCONT);
        set_surely(session, "other", b"other");
        let before = store.tiers()[1].misses;
        wait_until("an answer", || {
            assert_eq!(get(session, "absent"), None);
            store.tiers()[1].misses > before
        });
        store.close().unwrap();
    }
}

/// A caller that may load does so, and L1 keeps the value.
pub(super) fn frozen_loads() {
    let server = Memcached::start();
    let near = open("memory:?size=1m");
    let far = open(&format!("memcached://{}?timeout=1h&breaker=off", server.address()));
    let soft_timeout = Cap(Some(Duration::from_millis(50)));
    let config = Config { soft_timeout, ..Config::default() };
    let store = Tiers::new(vec![near, far], &config).unwrap();
    let mut session = store.open_session().unwrap();
    signal(server.pid(), libc::SIGSTOP);
    let mut value = Vec::new();
    let mut load = |key: &str| {
        let options = LoadOptions::default();
        let answer = session.get_or_load::<Error>(key.as_bytes(), &mut value, &options, |value| {
            value.extend_from_slice(b"loaded");
            Ok(Loaded::Value)
        });
        assert_eq!(value, b"loaded");
        answer.unwrap().unwrap().origin
    };
    // The signal may arrive late, so the first loads may have leases.
    let mut n = 0;
    wait_until("a failure", || {
        n += 1;
        assert_eq!(load(&format!("k{n}")), Origin::Loader);
        errors(&store) >= 3
    });
    assert_eq!(load(&format!("k{n}")), Origin::Tier(1));
    signal(server.pid(), libc::SIGCONT);
}
