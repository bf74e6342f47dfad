//! The facts that a server reports of itself and of its entries.

use std::time::{Duration, Instant};

use larder_store::{Error, Ownership, Remaining, Session, SetMode, SetOptions, SetOutcome};
use libtest_mimic::Trial;

use super::memcached_support::{memcached, trial};
use super::session_support::{failure, get, open, set, try_open};
use super::{ask, nodes};

pub(super) fn trials() -> Vec<Trial> {
    vec![
        trial("an_external_server_is_never_cleared", an_external_server),
        trial("effective_settings_are_read_back", effective_settings_are_read_back),
        trial("a_look_is_no_hit", a_look_is_no_hit),
        trial("versions_and_ttl_come_with_a_hit", versions_and_ttl_come_with_a_hit),
        trial("without_versions_there_is_no_cas", without_versions_there_is_no_cas),
    ]
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

fn a_look_is_no_hit() {
    let store = open("memcached:");
    let session = &mut *store.session().unwrap();
    set(session, "key", b"value");
    let was_hit = |session: &mut dyn Session| session.look(b"key").unwrap().unwrap().was_hit;
    assert_eq!((was_hit(session), was_hit(session)), (Some(false), Some(false)));
    assert_eq!(get(session, "key"), Some(b"value".to_vec()));
    assert_eq!(was_hit(session), Some(true));
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
