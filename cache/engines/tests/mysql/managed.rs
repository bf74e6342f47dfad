//! Servers that the engine starts.

use std::fs;
use std::time::Duration;

use larder_store::{Durability, Ownership, Reach, Session, SetOptions};
use libtest_mimic::Trial;
use mysql::{Conn, OptsBuilder};

use crate::session_support::{failure, get, open, set, try_open};
use crate::support::trial;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(
            "a_managed_server_tells_its_version_and_settings",
            a_managed_server_tells_its_version_and_settings,
        ),
        trial("a_managed_server_lets_no_stranger_in", a_managed_server_lets_no_stranger_in),
        trial("options_arrive_at_the_server", options_arrive_at_the_server),
        trial("the_longest_key_and_value_fit_together", the_longest_key_and_value_fit_together),
        trial("rows_that_have_expired_are_removed", rows_that_have_expired_are_removed),
        trial("another_server_is_named_or_missed", another_server_is_named_or_missed),
    ]
}

fn a_managed_server_tells_its_version_and_settings() {
    let store = open("mysql:");
    let info = store.info();
    assert!(info.version.as_ref().unwrap().starts_with("MariaDB 1"), "{:?}", info.version);
    assert_eq!((info.scheme, &*info.url), ("mysql", "mysql:"));
    assert_eq!(info.ownership, Ownership::Managed);
    let expected = if info.file_system.as_ref().unwrap().is_memory() {
        Durability::OsCache
    } else {
        Durability::FsyncEach
    };
    assert_eq!(info.durability, expected);
    for (name, value) in [
        ("innodb_flush_log_at_trx_commit", "1"),
        ("innodb_buffer_pool_size", "134217728"),
        ("max_allowed_packet", "67108864"),
        ("log_bin", "OFF"),
        ("tls", "off"),
        ("namespace", "larder"),
    ] {
        assert_eq!(info.settings[name], value, "{name}");
    }
    let name = fs::read_to_string(format!("/proc/{}/comm", info.server_pids[0])).unwrap();
    assert_eq!(name.trim(), "mariadbd");
    assert!(info.addresses[0].starts_with("127.0.0.1:"), "{:?}", info.addresses);
    assert!(info.data_paths.iter().all(|path| path.is_dir()), "{:?}", info.data_paths);

    let capabilities = store.capabilities();
    assert_eq!(capabilities.max_key_len, Some(3072));
    assert_eq!(capabilities.max_value_len, Some((64 << 20) - 4096));
    assert!(capabilities.clear && capabilities.groups && !capabilities.persistent);
    let session = &mut *store.session().unwrap();
    set(session, "key", b"value");
    assert_eq!((get(session, "key"), get(session, "absent")), (Some(b"value".to_vec()), None));
    assert!(session.delete(b"key").unwrap());
    set(session, "other", b"value");
    let stats = store.stats().unwrap();
    assert_eq!((stats.hits, stats.misses, stats.sets), (Some(1), Some(1), Some(2)));
    assert_eq!((stats.deletes, stats.items, stats.connections), (Some(1), Some(1), Some(1)));
    assert!(stats.bytes > Some(0), "{stats:?}");
}

fn a_managed_server_lets_no_stranger_in() {
    for (url, reach) in [("mysql:", Reach::Network), ("mysql:?socket=on", Reach::Host)] {
        let store = open(url);
        assert_eq!(store.capabilities().reach, reach);
        let address = &store.info().addresses[0];
        let opts = || {
            let opts = OptsBuilder::new().prefer_socket(false);
            match address.strip_prefix("127.0.0.1:") {
                Some(port) => {
                    let port = port.parse().unwrap();
                    opts.ip_or_hostname(Some("127.0.0.1")).tcp_port(port)
                }
                None => opts.socket(Some(address)),
            }
        };
        for user in ["root", "mysql", "larder", "mariadb.sys", "", "nobody"] {
            for password in [None, Some(""), Some("larder")] {
                let error = Conn::new(opts().user(Some(user)).pass(password)).unwrap_err();
                assert!(error.to_string().contains("denied"), "{url}, `{user}`: {error}");
            }
        }
        // Only the server's account has access to the files beside the socket, and to the socket itself.
        let directory = store.info().data_paths[0].ancestors().nth(2).unwrap().to_owned();
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &fs::metadata(directory).unwrap().permissions(),
        );
        assert_eq!(mode & 0o777, 0o700);
    }
}

fn options_arrive_at_the_server() {
    let store = open("mysql:?flush=0&buffer_pool=32m&packet=2m&namespace=my-table&socket=on");
    let info = store.info();
    assert_eq!(info.durability, Durability::FsyncBatch.min(info.durability));
    for (name, value) in [
        ("innodb_flush_log_at_trx_commit", "0"),
        ("innodb_buffer_pool_size", "33554432"),
        ("max_allowed_packet", "2097152"),
        ("namespace", "my-table"),
    ] {
        assert_eq!(info.settings[name], value, "{name}");
    }
    assert!(info.addresses[0].ends_with("/socket"), "{:?}", info.addresses);
    set(&mut *store.session().unwrap(), "key", b"value");
    assert_eq!(open("mysql:?flush=2").info().settings["innodb_flush_log_at_trx_commit"], "2");
}

fn the_longest_key_and_value_fit_together() {
    let store = open("mysql:?packet=2m&flush=2");
    let session = &mut *store.session().unwrap();
    let (key, tag) = ([0xff; 3072], [b't'; larder_store::MAX_TAG_LEN]);
    let limit = store.capabilities().max_value_len.unwrap();
    let value: Vec<u8> = (0..limit).map(|i| (i % 251).to_le_bytes()[0]).collect();
    let options =
        SetOptions { ttl: Some(Duration::from_mins(1)), flags: u32::MAX, ..SetOptions::default() };
    session.groups().unwrap().set_tagged(&key, &value, &options, &tag).unwrap();
    let mut found = Vec::new();
    assert_eq!(session.get(&key, &mut found).unwrap().unwrap().flags, u32::MAX);
    assert!(found == value);
    let mut n_found = 0;
    session.get_many(&[&key], &mut |_, found, _| n_found += usize::from(found == value)).unwrap();
    let groups = session.groups().unwrap();
    groups.get_tag(&tag, &mut |_, found, _| n_found += usize::from(found == value)).unwrap();
    groups
        .get_prefix(&key[..9], &mut |_, found, _| n_found += usize::from(found == value))
        .unwrap();
    assert_eq!(n_found, 3);

    let message = failure(session.get(&[1; 3073], &mut found), "key_too_long");
    assert_eq!(message, "mysql: key of 3073 bytes > key limit of 3072 bytes");
    // The value grows by one byte to the limit, and not beyond it.
    set(session, "key", &value[1..]);
    let append = SetOptions { mode: larder_store::SetMode::Append, ..SetOptions::default() };
    session.set(b"key", b"!", &append).unwrap();
    assert_eq!(get(session, "key").unwrap().len(), limit);
    failure(session.set(b"key", b"!", &append), "value_too_large");
    assert_eq!(get(session, "key").unwrap().len(), limit, "it stays");
}

fn rows_that_have_expired_are_removed() {
    let store = open("mysql:?flush=2");
    let session = &mut *store.session().unwrap();
    let options = SetOptions { ttl: Some(Duration::from_millis(1)), ..SetOptions::default() };
    for i in 0..600 {
        session.set(format!("short {i}").as_bytes(), b"value", &options).unwrap();
    }
    set(session, "long", b"value");
    let deadline = std::time::Instant::now() + larder_testkit::PATIENCE;
    while store.stats().unwrap().items != Some(1) {
        assert!(std::time::Instant::now() < deadline, "{:?}", store.stats());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(store.stats().unwrap().expirations, Some(600));
    assert_eq!(get(session, "long"), Some(b"value".to_vec()));
}

fn another_server_is_named_or_missed() {
    let session: &mut dyn Session = &mut *open("mariadb:?flush=2").session().unwrap();
    set(session, "key", b"value");
    assert_eq!(session.engine(), "mysql");
    if let Err(error) = try_open("mysql:?server=mysql") {
        let message = error.to_string();
        let (missing, other) = (
            "is not installed: apt-get install mysql-server",
            "is MariaDB; leave out server=mysql",
        );
        assert!(message.contains(missing) || message.contains(other), "{message}");
    }
}
