//! A managed server.

use std::os::unix::fs::PermissionsExt;
use std::thread::sleep;
use std::time::{Duration, Instant};

use larder_store::{Durability, Ownership, Reach, SetOptions};
use larder_testkit::{PATIENCE, takes_at_least};
use libtest_mimic::Trial;

use crate::session_support::{failure, get, open, set, try_open};
use crate::{bytes, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("values_of_all_lengths_come_back_whole", values_of_all_lengths),
        trial("the_largest_value_comes_back_whole", the_largest_value),
        trial("the_longest_key_is_taken_and_no_longer", the_longest_key),
        trial("effective_settings_are_read_back", effective_settings_are_read_back),
        trial("the_log_gives_durability", the_log_gives_durability),
        trial("a_unix_socket_reaches_this_host_only", a_unix_socket_reaches_this_host_only),
        trial("no_stranger_gets_in_without_the_password", no_stranger_gets_in_without_the_password),
        trial("a_delayed_wire_is_told_of_and_felt", a_delayed_wire),
        trial("a_session_keeps_its_server", a_session_keeps_its_server),
        trial("expired_entries_are_removed", expired_entries_are_removed),
    ]
}

fn values_of_all_lengths() {
    for url in ["postgresql:?timeout=60s", "postgresql:?tls=on&table=logged&timeout=60s"] {
        let store = open(url);
        assert_eq!(store.capabilities().max_value_len, Some(256 << 20));
        let session = &mut *store.session().unwrap();
        // Lengths around the limits of a row, of a read by the driver and of a socket.
        for len in [0, 1, 1990, 2040, 8180, 8192, 131_072, 131_073, 1 << 20, 30 << 20] {
            set(session, "key", &bytes(len));
            assert!(get(session, "key") == Some(bytes(len)), "{len} bytes at {url}");
        }
        assert_eq!(store.stats().unwrap().connections, Some(1), "no new connection was needed");
    }
}

fn the_largest_value() {
    let store = open("postgresql:?timeout=60s");
    let session = &mut *store.session().unwrap();
    let largest = bytes(store.capabilities().max_value_len.unwrap());
    set(session, "key", &largest);
    assert!(get(session, "key") == Some(largest), "it is another one");
}

fn the_longest_key() {
    let store = open("postgresql:");
    let session = &mut *store.session().unwrap();
    let limit = store.capabilities().max_key_len.unwrap();
    // The two keys differ at their end, and the index cannot compress them.
    let keys = [0, 1].map(|last| [&bytes(limit - 1)[..], &[last]].concat());
    for key in &keys {
        session.set(key, &key[limit - 1..], &SetOptions::default()).unwrap();
    }
    for key in &keys {
        let mut value = Vec::new();
        assert!(session.get(key, &mut value).unwrap().is_some() && value == key[limit - 1..]);
    }
    let long = [&keys[0][..], b"x"].concat();
    let refused = session.set(&long, b"value", &SetOptions::default());
    let message = failure(refused, "key_too_long");
    assert_eq!(
        message,
        format!("postgresql: key of {} bytes > key limit of {limit} bytes", limit + 1)
    );
}

fn effective_settings_are_read_back() {
    let url = "postgresql:?table=logged&synchronous_commit=off&shared_buffers=32m&namespace=cache";
    let store = open(url);
    let info = store.info();
    assert_eq!((info.scheme, info.ownership), ("postgresql", Ownership::Managed));
    assert!(info.version.unwrap().starts_with(|first: char| first.is_ascii_digit()));
    for (name, value) in [
        ("fsync", "on"),
        ("synchronous_commit", "off"),
        ("shared_buffers", "32MB"),
        ("wal_level", "replica"),
        ("wal_writer_delay", "200ms"),
        ("table", "logged"),
        ("namespace", "cache"),
        ("tls", "off"),
    ] {
        assert_eq!(info.settings[name], value, "{name}");
    }
    let name = std::fs::read_to_string(format!("/proc/{}/comm", info.server_pids[0])).unwrap();
    assert_eq!(name.trim(), "postgres");
    assert!(info.data_paths[0].join("PG_VERSION").exists() && info.file_system.is_some());
    let before = store.stats().unwrap();
    assert_eq!((before.items, before.connections), (Some(0), Some(0)));
    let session = &mut *store.session().unwrap();
    set(session, "key", &bytes(100_000));
    let after = store.stats().unwrap();
    assert_eq!((after.items, after.sets, after.connections), (Some(1), Some(1), Some(1)));
    assert!(after.bytes > before.bytes.map(|bytes| bytes + 100_000), "{before:?} {after:?}");
}

fn the_log_gives_durability() {
    for (options, durability) in [
        ("", Durability::Volatile),
        ("?table=logged", Durability::FsyncEach),
        ("?table=logged&fsync=off", Durability::OsCache),
    ] {
        let info = open(&format!("postgresql:{options}")).info();
        let in_memory = info.file_system.unwrap().is_memory();
        let expected = if in_memory { durability.min(Durability::OsCache) } else { durability };
        assert_eq!(info.durability, expected, "{options}");
    }
}

fn a_unix_socket_reaches_this_host_only() {
    let store = open("postgresql://me:s%40crt@?socket=on");
    assert_eq!(store.capabilities().reach, Reach::Host);
    let path = store.info().addresses.remove(0);
    let folder = path.strip_suffix("/.s.PGSQL.5432").unwrap();
    let session = &mut *store.session().unwrap();
    set(session, "key", &bytes(500_000));
    let encoded = folder.replace('/', "%2F");
    for url in [
        format!("postgresql://me:s%40crt@/postgres?host={folder}"),
        format!("postgresql://me:s%40crt@{encoded}/postgres"),
    ] {
        let other = open(&url);
        assert_eq!(get(&mut *other.session().unwrap(), "key"), Some(bytes(500_000)), "{url}");
        assert_eq!(other.info().server_pids, store.info().server_pids);
        assert_eq!(other.info().ownership, Ownership::External);
    }
    let tcp = open("postgresql:");
    assert_eq!(tcp.capabilities().reach, Reach::Network);
    assert!(tcp.info().addresses[0].starts_with("127.0.0.1:"));
}

fn no_stranger_gets_in_without_the_password() {
    let store = open("postgresql:");
    let address = store.info().addresses.remove(0);
    for user_info in ["larder:larder@", "postgres:postgres@"] {
        let stranger = try_open(&format!("postgresql://{user_info}{address}/postgres"));
        let message = failure(stranger, "unavailable");
        assert_eq!(message, format!("postgresql: {address} refused the user or the password"));
    }
    let folder = store.info().data_paths.remove(0);
    let mode = folder.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "others may look into {}", folder.display());
}

/// The least time of one round trip over a wire with a delay of 20 ms. The kernel's clocks are coarse.
const ONE_WAIT: Duration = Duration::from_millis(19);

fn a_delayed_wire() {
    let near = open("postgresql:");
    set(&mut *near.session().unwrap(), "key", b"value");
    for url in [
        "postgresql:?via=delay:20ms",
        "postgresql:?socket=on&via=delay:20ms",
        "postgresql:?tls=on&via=delay:20ms",
    ] {
        let store = open(url);
        let info = store.info();
        assert_eq!(info.settings["via"], "delay:20ms", "{url}");
        assert!(info.settings["via_added"].contains(" ms at the median, "), "{url}");
        assert_eq!((info.server_pids.len(), store.capabilities().reach), (1, Reach::Network));
        let (session, near) = (&mut *store.session().unwrap(), &mut *near.session().unwrap());
        let direct = || assert_eq!(get(near, "key"), Some(b"value".to_vec()));
        set(session, "key", b"value");
        get(session, "key");
        let delayed = || assert_eq!(get(session, "key"), Some(b"value".to_vec()));
        takes_at_least(ONE_WAIT, url, direct, delayed);
    }
    let refused =
        failure(try_open("postgresql://127.0.0.1:1?via=delay:1s&timeout=5s"), "invalid_options");
    assert!(refused.contains("takes 8s by delay:1s"), "{refused}");
}

fn a_session_keeps_its_server() {
    let store = open("postgresql:");
    let pid = store.info().server_pids[0];
    let mut session = store.session().unwrap();
    drop(store);
    set(&mut *session, "key", b"value");
    drop(session);
    let runs = std::fs::exists(format!("/proc/{pid}")).unwrap();
    assert!(!runs, "the server ends with its last user");
}

fn expired_entries_are_removed() {
    let store = open("postgresql:");
    let session = &mut *store.session().unwrap();
    let soon = SetOptions { ttl: Some(Duration::from_millis(50)), ..SetOptions::default() };
    for i in 0..600 {
        session.set(format!("key:{i}").as_bytes(), b"value", &soon).unwrap();
    }
    set(session, "stays", b"value");
    // No request reads these entries, so only the removal by time can remove them.
    let deadline = Instant::now() + PATIENCE;
    while store.stats().unwrap().items != Some(1) {
        assert!(Instant::now() < deadline, "{:?}", store.stats());
        sleep(Duration::from_millis(20));
    }
    assert_eq!(store.stats().unwrap().expirations, Some(600));
}
