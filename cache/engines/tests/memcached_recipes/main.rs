//! Servers before memcached or in its place: twemproxy, and the memcached plugin of MySQL.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

#[path = "../session_support/mod.rs"]
mod session_support;

use std::net::TcpStream;
use std::process::ExitCode;
use std::time::Instant;

use larder_engines::ENGINES;
use larder_store::{SetMode, SetOptions, SetOutcome};
use larder_testkit::{Holder, PATIENCE, has_program, signal, trial_where};
use libtest_mimic::{Arguments, Trial};
use session_support::{failure, get, open, set};

fn main() -> ExitCode {
    larder_testkit::hold_if_asked(&ENGINES);
    let trials = vec![
        trial("innodb", "nothing_of_innodb_is_left_after_kill_9", || {
            nothing_is_left("memcached:?server=innodb", 1);
        }),
        trial("twemproxy", "nothing_of_twemproxy_is_left_after_kill_9", || {
            nothing_is_left("memcached:?server=twemproxy&nodes=2", 3);
        }),
        trial("innodb", "a_killed_mysqld_is_an_error", || {
            a_killed_server_is_an_error("memcached:?server=innodb");
        }),
        trial("twemproxy", "a_killed_proxy_is_an_error", || {
            a_killed_server_is_an_error("memcached:?server=twemproxy");
        }),
        trial("innodb", "a_column_cuts_values_and_bounds_keys", a_column_cuts_values),
        trial("innodb", "a_new_entry_is_seen_before_its_batch_is_committed", a_batch_of_writes),
    ];
    libtest_mimic::run(&Arguments::from_args(), larder_testkit::nightly(trials).collect())
        .exit_code()
}

/// A trial that needs the programs of this `server` option.
fn trial(server: &'static str, name: &str, run: fn()) -> Trial {
    let recipes = ENGINES.find("memcached").unwrap().recipes;
    let needed = recipes.iter().filter(move |it| it.server.is_empty() || it.server == server);
    trial_where(move || needed.clone().try_for_each(has_program), name, run)
}

/// Checks that no server, no folder and no listening port is left.
fn nothing_is_left(url: &str, n_servers: usize) {
    let holder = Holder::start(url);
    assert_eq!(holder.left(), (n_servers, n_servers), "{url}");
    let nodes = holder.nodes().to_vec();
    let listening = move || nodes.iter().filter(|node| TcpStream::connect(node).is_ok()).count();
    assert_eq!(listening(), holder.nodes().len(), "{url}");
    holder.kill(listening);
}

fn a_killed_server_is_an_error(url: &str) {
    let store = open(url);
    let mut session = store.session().unwrap();
    set(&mut *session, "key", b"value");
    signal(store.info().server_pids[0], libc::SIGKILL);
    let since = Instant::now();
    for _ in 0..2 {
        failure(session.get(b"key", &mut Vec::new()), "unavailable");
    }
    failure(store.session().and_then(|mut it| it.get(b"key", &mut Vec::new())), "unavailable");
    assert!(since.elapsed() < PATIENCE, "{:?}", since.elapsed());
}

/// MySQL's default: a value that is too long is cut and acknowledged.
fn a_column_cuts_values() {
    let store = open("memcached:?server=innodb");
    let mut session = store.session().unwrap();
    let value: Vec<u8> = (b'a'..=b'z').cycle().take(2000).collect();
    let outcome = session.set(b"key", &value, &SetOptions::default()).unwrap();
    assert!(outcome.is_stored());
    assert_eq!(get(&mut *session, "key").unwrap(), value[..1024]);
    let longest = "k".repeat(32);
    set(&mut *session, &longest, b"value");
    assert_eq!(get(&mut *session, &longest).unwrap(), b"value");
    let refused = session.set("k".repeat(33).as_bytes(), b"value", &SetOptions::default());
    let text = failure(refused, "key_too_long");
    assert!(text.contains("33") && text.contains("32"), "{text}");
}

fn a_batch_of_writes() {
    let store = open("memcached:?server=innodb&w_batch=32");
    assert_eq!(store.info().settings["daemon_memcached_w_batch_size"], "32");
    let (mut writer, mut reader) = (store.session().unwrap(), store.session().unwrap());
    for i in 0..40 {
        let key = format!("key:{i}");
        set(&mut *writer, &key, b"value");
        assert_eq!(get(&mut *reader, &key).as_deref(), Some(&b"value"[..]), "{key}");
    }
    // For this reason the contract does not run with batches: a refused write undoes the other writes of its batch.
    set(&mut *writer, "key", b"value");
    let add = SetOptions { mode: SetMode::Add, ..SetOptions::default() };
    assert_eq!(writer.set(b"key", b"other", &add).unwrap(), SetOutcome::NotStored);
    assert_eq!(get(&mut *writer, "key"), None);
}
