//! `redis:` against real servers.

use std::time::Duration;

use crate::session_support::{failure, get, open, set, try_open};
use crate::support::{Stranger, ask, nodes, redis_server, stranger, trial};
use larder_store::{
    Delta, Durability, Error, Ownership, Put, Reach, Remaining, SetMode, SetOptions, SetOutcome,
};
use larder_testkit::takes_at_least;
use libtest_mimic::Trial;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("values_of_all_lengths_come_back_whole", values_of_all_lengths),
        trial("an_operation_is_one_command", an_operation_is_one_command),
        trial("a_full_server_says_so", a_full_server_says_so),
        trial("a_server_that_dies_is_an_error_until_it_is_back", a_server_that_dies),
        trial("an_absent_server_is_named", an_absent_server_is_named),
        trial("a_wrong_password_is_one_clear_line_without_it", a_wrong_password),
        trial("a_user_with_few_rights_is_told_which", a_user_with_few_rights),
        trial("an_external_server_is_never_cleared", an_external_server),
        trial("databases_of_a_server_are_apart", databases_are_apart),
        trial("effective_settings_are_read_back", effective_settings_are_read_back),
        trial("a_log_of_writes_gives_durability", a_log_of_writes_gives_durability),
        trial("a_unix_socket_reaches_this_host_only", a_unix_socket_reaches_this_host_only),
        trial("a_delayed_wire_is_told_of_and_felt", a_delayed_wire),
        trial("a_session_keeps_its_server", a_session_keeps_its_server),
        trial("a_connection_for_every_operation", a_connection_for_every_operation),
        trial("counters_come_from_the_server", counters_come_from_the_server),
        trial(
            "an_operation_that_changes_a_value_keeps_its_ttl",
            an_operation_that_changes_a_value_keeps_its_ttl,
        ),
        trial("ttls_are_kept_to_the_millisecond", ttls_are_kept_to_the_millisecond),
        trial("a_batch_of_writes_is_whole_whatever_its_size", a_batch_of_writes),
        trial("incr_counts_as_memcached_does", incr_counts_as_memcached_does),
        trial("another_type_under_a_key_is_named", another_type_is_named),
        trial("other_schemes_mean_the_same_engine", other_schemes),
    ]
}

/// Bytes that differ along the value, so that a misplaced part is noticed.
fn bytes(len: usize) -> Vec<u8> {
    (0..=250_u8).cycle().take(len).collect()
}

/// A number from the server's `INFO`.
fn fact(link: &mut Stranger, name: &str) -> u64 {
    let facts: String = ask(link, "INFO everything");
    let line = facts.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {name} in {facts}")).parse().unwrap()
}

/// The number of times that a server has run a command.
fn n_calls(link: &mut Stranger, command: &str) -> u64 {
    let facts: String = ask(link, "INFO commandstats");
    let prefix = format!("cmdstat_{command}:calls=");
    let line = facts.lines().find_map(|line| line.strip_prefix(&prefix));
    line.map_or(0, |line| line.split(',').next().unwrap().parse().unwrap())
}

fn values_of_all_lengths() {
    for url in ["redis:?memory=200m", "redis:?memory=200m&tls=on"] {
        let store = open(url);
        assert_eq!(store.capabilities().max_value_len, Some(512 << 20));
        let session = &mut *store.session().unwrap();
        // Lengths around the limits of a read, of the copy in a request and of a socket.
        for len in [0, 1, 8180, 8192, 16_384, 131_072, 131_073, 1 << 20, 30 << 20] {
            set(session, "key", &bytes(len));
            assert!(get(session, "key") == Some(bytes(len)), "{len} bytes at {url}");
        }
        let add = SetOptions { mode: SetMode::Add, ..SetOptions::default() };
        let outcome = session.set(b"key", &bytes(200_000), &add).unwrap();
        assert_eq!(outcome, SetOutcome::NotStored, "an option behind a large value");
        assert_eq!(store.stats().unwrap().connections, Some(1), "no new connection was needed");
    }
    let (_server, port) = redis_server(0, &["--proto-max-bulk-len", "1mb"]);
    let store = open(&format!("redis://127.0.0.1:{port}"));
    assert_eq!(store.capabilities().max_value_len, Some(1 << 20));
    let session = &mut *store.session().unwrap();
    set(session, "key", &bytes(1 << 20));
    let refused = session.set(b"key", &bytes((1 << 20) + 1), &SetOptions::default());
    assert_eq!(failure(refused, "value_too_large"), "redis: value 1 MiB > item limit 1 MiB");
    assert_eq!(get(session, "key"), None, "the older value is still there");
    let long = vec![b'k'; (1 << 20) + 1];
    failure(session.get(&long, &mut Vec::new()), "key_too_long");
    assert_eq!(get(session, "key"), None, "the session works on");
}

/// Extra commands of the adapter would count as the operation's time.
fn an_operation_is_one_command() {
    let (_server, port) = redis_server(0, &[]);
    let link = &mut stranger(&format!("127.0.0.1:{port}"));
    let store = open(&format!("redis://127.0.0.1:{port}"));
    let session = &mut *store.session().unwrap();
    let ttl = Some(Duration::from_secs(100));
    set(session, "warm", b"1");
    session.incr(b"warm", Delta::Up(1), None).unwrap();
    let mut count = |name: &str, operation: &mut dyn FnMut()| {
        let calls = n_calls(link, name);
        // The question itself counts as a command.
        let before = fact(link, "total_commands_processed");
        operation();
        let after = fact(link, "total_commands_processed");
        assert_eq!(after - before, 2, "commands for one `{name}`");
        assert_eq!(n_calls(link, name) - calls, 1, "calls of `{name}`");
    };
    count("set", &mut || set(session, "key", b"5"));
    count("get", &mut || assert!(get(session, "key").is_some()));
    count("get", &mut || assert!(get(session, "absent").is_none()));
    let options = SetOptions { ttl, mode: SetMode::Replace, ..SetOptions::default() };
    count("set", &mut || {
        session.set(b"key", b"6", &options).unwrap();
    });
    count("pexpire", &mut || assert!(session.touch(b"key", ttl).unwrap()));
    let keys: Vec<String> = (0..1000).map(|i| format!("key:{i}")).collect();
    let mut batch: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    batch.push(b"key");
    let mut hits = Vec::new();
    count("mget", &mut || {
        session.get_many(&batch, &mut |i, value, _| hits.push((i, value.to_vec()))).unwrap();
    });
    assert_eq!(hits, [(1000, b"6".to_vec())]);
    count("del", &mut || assert!(session.delete(b"key").unwrap()));
    assert_eq!(store.stats().unwrap().connections, Some(1));
}

fn a_full_server_says_so() {
    let (_server, port) =
        redis_server(0, &["--maxmemory", "8mb", "--maxmemory-policy", "noeviction"]);
    let store = open(&format!("redis://127.0.0.1:{port}"));
    assert!(!store.capabilities().evicts);
    let session = &mut *store.session().unwrap();
    let full = (0..200).find_map(|i| {
        let key = format!("key:{i}");
        session.set(key.as_bytes(), &bytes(100_000), &SetOptions::default()).err()
    });
    let message = failure(full.map_or(Ok(()), Err), "full");
    let address = format!("127.0.0.1:{port}");
    for part in [&address, "OOM command not allowed", "more memory"] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(get(session, "key:0"), Some(bytes(100_000)), "the session works on");
    let append = SetOptions { mode: SetMode::Append, ..SetOptions::default() };
    failure(session.set(b"key:0", &bytes(100_000), &append), "full");
    assert!(session.delete(b"key:0").unwrap());
    assert_eq!(store.stats().unwrap().connections, Some(1), "no new connection was needed");
}

fn a_server_that_dies() {
    let (server, port) = redis_server(0, &[]);
    let store = open(&format!("redis://127.0.0.1:{port}"));
    let session = &mut *store.session().unwrap();
    set(session, "key", b"value");
    drop(server);
    let closed = failure(session.get(b"key", &mut Vec::new()), "unavailable");
    assert!(closed.contains(&format!("127.0.0.1:{port} closed the connection")), "{closed}");
    let refused = failure(session.get(b"key", &mut Vec::new()), "unavailable");
    assert_eq!(
        refused,
        format!("redis: 127.0.0.1:{port} refused the connection; is redis running there?")
    );
    let many = session.get_many(&[b"a", b"b"], &mut |_, _, _| {});
    assert_eq!(failure(many, "unavailable"), refused);
    let _server = redis_server(port, &[]);
    assert_eq!(get(session, "key"), None, "a new server is empty");
    set(session, "key", b"value");
    assert_eq!(store.stats().unwrap().connections, Some(2));
}

fn an_absent_server_is_named() {
    let (server, port) = redis_server(0, &[]);
    drop(server);
    let message = failure(try_open(&format!("redis://127.0.0.1:{port}")), "unavailable");
    assert!(message.contains(&format!("127.0.0.1:{port} refused")), "{message}");
    let url = format!("redis://127.0.0.1:{port},127.0.0.1:{port}");
    let message = failure(try_open(&url), "unavailable");
    assert!(message.contains("none of 2 nodes answers; the first: 127.0.0.1"), "{message}");
    let message = failure(try_open("redis:///nowhere/redis.sock"), "unavailable");
    assert!(message.contains("/nowhere/redis.sock is not there"), "{message}");
    let message = failure(try_open("redis://no-such-host.invalid"), "unavailable");
    assert!(message.contains("no-such-host.invalid"), "{message}");
}

fn a_wrong_password() {
    let (_server, port) = redis_server(0, &["--requirepass", "s@crt"]);
    let address = format!("127.0.0.1:{port}");
    let store = open(&format!("redis://:s%40crt@{address}"));
    set(&mut *store.session().unwrap(), "key", b"value");
    assert_eq!(store.info().url, format!("redis://:***@{address}"));
    assert!(!format!("{store:?} {:?}", store.info()).contains("s@crt"));
    for user_info in [":wr0ng@", "nobody:wr0ng@", "nobody:s%40crt@"] {
        let message = failure(try_open(&format!("redis://{user_info}{address}")), "unavailable");
        assert_eq!(message, format!("redis: {address} refused the user or the password"));
    }
    let message = failure(try_open(&format!("redis://{address}")), "unavailable");
    assert_eq!(
        message,
        format!("redis: {address} asks for a password; write redis://user:password@host")
    );
    let message = failure(try_open(&format!("redis://{address}/99999")), "unavailable");
    assert!(message.contains("asks for a password"), "{message}");
}

fn a_user_with_few_rights() {
    let user = "--user reader on >secret ~cache:* +get +mget +select";
    let (_server, port) = redis_server(0, &user.split(' ').collect::<Vec<_>>());
    let store = open(&format!("redis://reader:secret@127.0.0.1:{port}"));
    let info = store.info();
    assert_eq!((info.version, info.settings.get("maxmemory")), (None, None), "nothing is told");
    assert_eq!(store.capabilities().max_value_len, Some(512 << 20));
    let stats = store.stats().unwrap();
    assert_eq!((stats.hits, stats.items, stats.capacity_bytes), (None, None, None));
    let session = &mut *store.session().unwrap();
    assert_eq!(get(session, "cache:1"), None);
    let set = session.set(b"cache:1", b"value", &SetOptions::default());
    let message = failure(set, "protocol");
    assert!(message.contains("answered: NOPERM") && message.contains("'set'"), "{message}");
    let message = failure(session.get(b"other", &mut Vec::new()), "protocol");
    assert!(message.contains("answered: NOPERM"), "{message}");
    assert_eq!(get(session, "cache:1"), None, "the session works on");
}

fn an_external_server() {
    let (server, port) = redis_server(0, &["--maxmemory", "100mb"]);
    let address = format!("127.0.0.1:{port}");
    let link = &mut stranger(&address);
    ask::<()>(link, "SET theirs x");
    let settings = |link: &mut Stranger| ask::<Vec<String>>(link, "CONFIG GET *");
    let before = settings(link);
    let store = open(&format!("redis://{address}"));
    assert_eq!(store.info().ownership, Ownership::External);
    assert_eq!(store.info().server_pids, [server.pid()]);
    assert!(!store.capabilities().clear && !store.capabilities().persistent);
    let session = &mut *store.session().unwrap();
    let message = failure(session.clear(), "unsupported");
    assert!(message.contains("larder did not start"), "{message}");
    set(session, "ours", b"v");
    session.delete(b"ours").unwrap();
    assert_eq!(ask::<String>(link, "GET theirs"), "x");
    assert_eq!(ask::<u64>(link, "DBSIZE"), 1);
    assert_eq!(settings(link), before);
    let message = failure(try_open(&format!("redis://{address}?memory=1g")), "invalid_options");
    assert!(message.contains("option `memory`"), "{message}");
    let two = try_open(&format!("redis://{address},127.0.0.1:{port}"));
    let message = failure(two, "invalid_options");
    assert!(message.contains(&format!("several hosts are a cluster, and {address}")), "{message}");
}

fn databases_are_apart() {
    let (_server, port) = redis_server(0, &[]);
    let [first, third] = [0, 3].map(|db| open(&format!("redis://127.0.0.1:{port}/{db}")));
    set(&mut *first.session().unwrap(), "key", b"value");
    assert_eq!(get(&mut *third.session().unwrap(), "key"), None);
    let items = [&first, &third].map(|store| store.stats().unwrap().items);
    assert_eq!(items, [Some(1), Some(0)]);
    assert_eq!(third.info().settings["db"], "3");
    let message = failure(try_open(&format!("redis://127.0.0.1:{port}/99")), "protocol");
    assert!(message.contains("DB index is out of range"), "{message}");
}

fn effective_settings_are_read_back() {
    let store = open("redis:?memory=100m&policy=volatile-ttl&io_threads=2&max_connections=5000");
    let info = store.info();
    assert_eq!((info.scheme, info.ownership), ("redis", Ownership::Managed));
    assert!(info.version.unwrap().starts_with(|first: char| first.is_ascii_digit()));
    for (name, value) in [
        ("maxmemory", "104857600"),
        ("maxmemory-policy", "volatile-ttl"),
        ("io-threads", "2"),
        ("maxclients", "5000"),
        ("save", ""),
        ("appendonly", "no"),
        ("proto-max-bulk-len", "536870912"),
        ("tls", "off"),
        ("db", "0"),
        ("connect", "session"),
    ] {
        assert_eq!(info.settings[name], value, "{name}");
    }
    assert!(!store.capabilities().evicts, "entries without a TTL are not dropped");
    assert_eq!(store.stats().unwrap().capacity_bytes, Some(100 << 20));
    let name = std::fs::read_to_string(format!("/proc/{}/comm", info.server_pids[0])).unwrap();
    assert_eq!(name.trim(), "redis-server");
    let unlimited = open("redis:?memory=0");
    assert!(!unlimited.capabilities().evicts);
    assert!(unlimited.stats().unwrap().capacity_bytes > Some(100 << 20), "all of the machine");
    assert!(open("redis:").capabilities().evicts);
}

fn a_log_of_writes_gives_durability() {
    for (option, durability) in [
        ("no", Durability::Volatile),
        ("everysec", Durability::FsyncBatch),
        ("always", Durability::FsyncEach),
    ] {
        let store = open(&format!("redis:?appendonly={option}"));
        let info = store.info();
        assert_eq!(info.durability, durability, "{option}");
        assert_eq!(info.data_paths.len(), usize::from(option != "no"));
        assert_eq!(info.file_system.is_some(), option != "no");
        set(&mut *store.session().unwrap(), "key", &bytes(100_000));
        // The server writes the entry before its answer, whenever it syncs.
        let logged = info.data_paths.iter().any(|folder| {
            let mut files = std::fs::read_dir(folder).unwrap();
            files.any(|file| file.unwrap().metadata().unwrap().len() > 100_000)
        });
        assert_eq!(logged, option != "no");
    }
    let (_server, port) = redis_server(0, &["--appendonly", "yes"]);
    let store = open(&format!("redis://127.0.0.1:{port}"));
    assert_eq!(store.info().durability, Durability::FsyncBatch);
    assert!(store.capabilities().persistent && store.info().data_paths.is_empty());
}

fn a_unix_socket_reaches_this_host_only() {
    let store = open("redis:?socket=on");
    assert_eq!(store.capabilities().reach, Reach::Host);
    let path = nodes(&*store).remove(0);
    assert!(path.ends_with("/socket"), "{path}");
    let session = &mut *store.session().unwrap();
    set(session, "key", &bytes(500_000));
    let other = open(&format!("redis://{path}"));
    assert_eq!(get(&mut *other.session().unwrap(), "key"), Some(bytes(500_000)));
    assert_eq!(other.info().server_pids, store.info().server_pids);
    assert_eq!(open("redis:").capabilities().reach, Reach::Network);
    let apart = open(&format!("redis://{path}?db=1"));
    assert_eq!(get(&mut *apart.session().unwrap(), "key"), None);
}

/// The least time of one round trip over a wire with a delay of 20 ms. The kernel's clocks are coarse.
const ONE_WAIT: Duration = Duration::from_millis(19);

fn a_delayed_wire() {
    let near = open("redis:");
    set(&mut *near.session().unwrap(), "key", b"value");
    for url in [
        "redis:?via=delay:20ms",
        "redis:?socket=on&via=delay:20ms",
        "redis:?tls=on&via=delay:20ms",
        "redis://me:s%40crt@?via=delay:20ms",
    ] {
        let store = open(url);
        let info = store.info();
        assert_eq!(info.settings["via"], "delay:20ms", "{url}");
        assert!(info.settings["via_added"].contains(" ms at the median, "), "{url}");
        assert_ne!(info.addresses, nodes(&*store), "{url}");
        assert_eq!((info.server_pids.len(), store.capabilities().reach), (1, Reach::Network));
        let (session, near) = (&mut *store.session().unwrap(), &mut *near.session().unwrap());
        let direct = || assert_eq!(get(near, "key"), Some(b"value".to_vec()));
        set(session, "key", b"value");
        let delayed = || assert_eq!(get(session, "key"), Some(b"value".to_vec()));
        takes_at_least(ONE_WAIT, url, direct, delayed);
    }
}

fn a_session_keeps_its_server() {
    let store = open("redis:");
    let pid = store.info().server_pids[0];
    let mut session = store.session().unwrap();
    drop(store);
    set(&mut *session, "key", b"value");
    drop(session);
    let runs = std::fs::exists(format!("/proc/{pid}")).unwrap();
    assert!(!runs, "the server ends with its last user");
}

fn a_connection_for_every_operation() {
    let store = open("redis:?connect=operation");
    let session = &mut *store.session().unwrap();
    set(session, "key", b"1");
    assert!(get(session, "key").is_some());
    session.touch(b"key", Some(Duration::from_secs(9))).unwrap();
    session.get_many(&[b"key", b"other"], &mut |_, _, _| {}).unwrap();
    session.delete(b"key").unwrap();
    assert_eq!(store.stats().unwrap().connections, Some(5));
    assert_eq!(store.info().settings["connect"], "operation");
}

fn counters_come_from_the_server() {
    let store = open("redis:");
    let session = &mut *store.session().unwrap();
    for i in 0..40 {
        set(session, &format!("key:{i}"), b"value");
    }
    assert!((0..40).all(|i| get(session, &format!("key:{i}")).is_some()));
    assert_eq!(get(session, "absent"), None);
    let short = SetOptions { ttl: Some(Duration::from_millis(1)), ..SetOptions::default() };
    session.set(b"short", b"value", &short).unwrap();
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!(get(session, "short"), None);
    let stats = store.stats().unwrap();
    assert_eq!((stats.hits, stats.misses, stats.items), (Some(40), Some(2), Some(40)));
    assert_eq!((stats.expirations, stats.evictions), (Some(1), Some(0)));
    assert_eq!((stats.sets, stats.deletes), (None, None), "never a false 0");
    assert!(stats.bytes > Some(40 * 5));
}

/// Other engines report the remaining TTL with a hit; here another client asks the server.
fn an_operation_that_changes_a_value_keeps_its_ttl() {
    let (_server, port) = redis_server(0, &[]);
    let link = &mut stranger(&format!("127.0.0.1:{port}"));
    let store = open(&format!("redis://127.0.0.1:{port}"));
    let session = &mut *store.session().unwrap();
    let options = SetOptions { ttl: Some(Duration::from_secs(100)), ..SetOptions::default() };
    session.set(b"n", b"5", &options).unwrap();
    for mode in [SetMode::Append, SetMode::Prepend] {
        session.set(b"n", b"1", &SetOptions { mode, ..SetOptions::default() }).unwrap();
    }
    assert_eq!(session.incr(b"n", Delta::Up(1), None).unwrap().map(|n| n.number), Some(152));
    let left: i64 = ask(link, "PTTL n");
    assert!((50_000..=100_000).contains(&left), "{left} ms left");
    let meta = session.get(b"n", &mut Vec::new()).unwrap().unwrap();
    assert_eq!((meta.ttl, meta.version), (Remaining::Unknown, None));
    assert!(session.touch(b"n", None).unwrap());
    assert_eq!(ask::<i64>(link, "PTTL n"), -1, "it has no TTL any more");
    assert!(session.touch(b"n", None).unwrap(), "it is there, with a TTL or without");
}

fn ttls_are_kept_to_the_millisecond() {
    let (_server, port) = redis_server(0, &[]);
    let link = &mut stranger(&format!("127.0.0.1:{port}"));
    let store = open(&format!("redis://127.0.0.1:{port}"));
    let session = &mut *store.session().unwrap();
    for (ttl, most) in [
        (Duration::from_millis(99_500), 99_500),
        (Duration::from_micros(99_500_001), 99_501),
        (Duration::from_hours(24 * 3660), 3660 * 86_400_000),
    ] {
        session.set(b"key", b"v", &SetOptions { ttl: Some(ttl), ..SetOptions::default() }).unwrap();
        let left: i64 = ask(link, "PTTL key");
        assert!((most - 60_000..=most).contains(&left), "{left} ms left of {ttl:?}");
        session.touch(b"key", Some(ttl)).unwrap();
        let left: i64 = ask(link, "PTTL key");
        assert!((most - 60_000..=most).contains(&left), "{left} ms left of {ttl:?}");
    }
    // Such a TTL counts as for ever, and is no error.
    let ttl = Some(Duration::MAX);
    session.set(b"key", b"v", &SetOptions { ttl, ..SetOptions::default() }).unwrap();
    assert!(session.touch(b"key", ttl).unwrap() && get(session, "key").is_some());
}

/// Neither side may wait for the other to read: some batches and some values are larger than all buffers between them.
fn a_batch_of_writes() {
    for url in ["redis:", "redis:?nodes=2", "redis:?tls=on", "redis:?socket=on"] {
        let store = open(url);
        let session = &mut *store.session().unwrap();
        for (n, len) in [(20_000, 10), (1000, 5000), (100, 200_000), (5, 4_000_000)] {
            let keys: Vec<String> = (0..n).map(|i| format!("{n}:{i}")).collect();
            let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
            let value = vec![b'v'; len];
            let put = |key| Put { key, value: &value, options: SetOptions::default() };
            let entries: Vec<_> = keys.iter().map(|key| put(*key)).collect();
            let mut n_stored = 0;
            session
                .set_many(&entries, &mut |i, told| {
                    assert!(i == n_stored && told.unwrap().is_stored(), "{i} of {n} in {url}");
                    n_stored += 1;
                })
                .unwrap();
            let mut n_hits = 0;
            session
                .get_many(&keys, &mut |_, found, _| n_hits += usize::from(found == value))
                .unwrap();
            assert_eq!((n_stored, n_hits), (n, n), "{url}");
            let mut n_deleted = 0;
            session
                .delete_many(&keys, &mut |_, told| n_deleted += usize::from(told.unwrap()))
                .unwrap();
            assert_eq!(n_deleted, n, "{url}");
        }
    }
}

fn incr_counts_as_memcached_does() {
    let store = open("redis:");
    let session = &mut *store.session().unwrap();
    let edges = [0, 1, 9, 10, 9_999_999_999, 10_000_000_000, 1 << 53, (1 << 53) + 1];
    let more = [i64::MAX as u64, 1 << 63, 18_446_744_069_999_999_999, u64::MAX - 1, u64::MAX];
    for start in edges.into_iter().chain(more) {
        let half = 1 << 63;
        let sizes = [0, 1, 7, 9_999_999_999, 10_000_000_000, half - 1, half, half + 1, u64::MAX];
        for delta in sizes.into_iter().flat_map(|by| [Delta::Up(by), Delta::Down(by)]) {
            set(session, "n", start.to_string().as_bytes());
            let wanted = delta.applied_to(start);
            let counted = session.incr(b"n", delta, None).unwrap().unwrap();
            assert_eq!(counted.number, wanted, "{start} and {delta:?}");
            assert_eq!(get(session, "n"), Some(wanted.to_string().into_bytes()));
        }
    }
    set(session, "n", b"0007");
    assert_eq!(session.incr(b"n", Delta::Up(1), None).unwrap().map(|n| n.number), Some(8));
    for text in [&b""[..], b" 7", b"7 ", b"+7", b"7\n", b"\xff", b"0x7", b"1e3", &[b'9'; 21]] {
        set(session, "n", text);
        failure(session.incr(b"n", Delta::Up(1), None), "not_a_number");
        assert_eq!(get(session, "n"), Some(text.to_vec()));
    }
}

fn another_type_is_named() {
    let (_server, port) = redis_server(0, &[]);
    let link = &mut stranger(&format!("127.0.0.1:{port}"));
    ask::<()>(link, "LPUSH list one");
    let store = open(&format!("redis://127.0.0.1:{port}"));
    let session = &mut *store.session().unwrap();
    let append = SetOptions { mode: SetMode::Append, ..SetOptions::default() };
    for message in [
        failure(session.get(b"list", &mut Vec::new()), "protocol"),
        failure(session.incr(b"list", Delta::Up(1), None), "protocol"),
        failure(session.set(b"list", b"x", &append), "protocol"),
    ] {
        let wanted = "answered: WRONGTYPE Operation against a key holding the wrong kind of value";
        assert!(message.contains(wanted), "{message}");
    }
    let missing = session.set(b"a", b"x", &SetOptions { mode: SetMode::Cas(1), ..append });
    assert!(matches!(missing, Err(Error::Unsupported { operation: "cas", .. })), "{missing:?}");
    set(session, "list", b"a set replaces whatever is there");
    assert_eq!(store.stats().unwrap().connections, Some(1));
}

fn other_schemes() {
    let store = open("rediss:");
    assert_eq!(store.info().settings["tls"], "on");
    assert_eq!((store.info().scheme, &*store.info().url), ("redis", "rediss:"));
    let store = open("valkey:?server=redis");
    set(&mut *store.session().unwrap(), "key", b"value");
    if let Err(error) = try_open("valkey:") {
        let wanted = "redis: valkey-server is not installed: apt-get install valkey-server";
        assert_eq!(error.to_string(), wanted);
    }
    let message = failure(try_open("redisss:"), "unknown_scheme");
    assert!(message.contains("redis:"), "{message}");
}
