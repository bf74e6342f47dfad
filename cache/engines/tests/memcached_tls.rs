//! `memcacheds:` against real servers with certificates of their own.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod memcached_support;
mod session_support;

use std::collections::HashMap;
use std::fs;
use std::process::ExitCode;

use larder_host::managed::Server;
use larder_host::scratch::ScratchDir;
use larder_store::{Answer, Ownership, Put, Session, SetOptions};
use larder_testkit::certificate_files;
use libtest_mimic::Arguments;
use memcached_support::{memcached, trial};
use session_support::{failure, get, open, set, try_open};

fn main() -> ExitCode {
    larder_host::delay_proxy::serve_if_asked();
    let trials = vec![
        trial("a_certificate_of_a_known_authority_is_believed", a_known_authority),
        trial("a_certificate_of_a_stranger_is_refused", a_strangers_certificate),
        trial("without_encryption_on_one_side_there_is_no_answer", one_side_only),
        trial("a_relay_leaves_the_name_of_the_certificate", behind_a_relay),
        trial("the_scheme_asks_for_encryption", the_scheme),
        trial("requests_of_every_length_leave_one_after_the_other", requests_of_every_length),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// A server with a certificate for this name: the guards that keep it alive, its port, and its authority.
fn encrypted(name: &str) -> ((Server, ScratchDir), u16, String) {
    let folder = ScratchDir::create("test").unwrap();
    // If these tests run as root, the server runs as another user.
    let open_to_all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.path(), open_to_all).unwrap();
    let files = certificate_files(folder.path(), name);
    let [authority, certificate, key] = files.map(|file| file.to_str().unwrap().to_owned());
    let files = format!("ssl_chain_cert={certificate},ssl_key={key}");
    let (server, port) = memcached(0, &["-Z", "-o", &files]);
    ((server, folder), port, authority)
}

fn a_known_authority() {
    for (name, host) in [("127.0.0.1", "127.0.0.1"), ("localhost", "localhost")] {
        let (_alive, port, authority) = encrypted(name);
        let store = open(&format!("memcacheds://{host}:{port}?ca={authority}"));
        let info = store.info();
        assert_eq!((&*info.settings["tls"], info.ownership), ("on", Ownership::External));
        let session = &mut *store.session().unwrap();
        set(session, "key", &vec![b'v'; 300_000]);
        assert_eq!(get(session, "key"), Some(vec![b'v'; 300_000]));
        assert_eq!(store.stats().unwrap().items, Some(1));
    }
}

fn a_strangers_certificate() {
    let (_alive, port, authority) = encrypted("another.example");
    let other = ScratchDir::create("test").unwrap();
    let [other, _, _] = certificate_files(other.path(), "127.0.0.1");
    let url = format!("memcacheds://127.0.0.1:{port}");
    for (url, needle) in [
        (url.clone(), "UnknownIssuer; name the file of its authority by `ca=`"),
        (format!("{url}?ca={}", other.display()), "invalid peer certificate"),
        (format!("{url}?ca={authority}"), "not valid for name"),
    ] {
        let message = failure(try_open(&url), "unavailable");
        assert!(message.contains(needle), "{url}: {message}");
    }
    let message = failure(try_open(&format!("{url}?ca=/nowhere/ca.pem")), "io");
    assert!(message.contains("option `ca`: reading /nowhere/ca.pem"), "{message}");
    let message = failure(try_open(&format!("{url}?ca=/dev/null")), "invalid_options");
    assert!(message.contains("no certificate in /dev/null"), "{message}");
    let store = open(&format!("{url}?insecure=on"));
    set(&mut *store.session().unwrap(), "key", b"value");
}

fn one_side_only() {
    let (_alive, port, _) = encrypted("127.0.0.1");
    let message = failure(try_open(&format!("memcached://127.0.0.1:{port}")), "unavailable");
    assert!(message.contains("closed the connection"), "{message}");
    let (_plain, port) = memcached(0, &[]);
    let url = format!("memcacheds://127.0.0.1:{port}?insecure=on&timeout=500ms");
    let message = try_open(&url).unwrap_err().to_string();
    assert!(message.contains(&format!("127.0.0.1:{port}")), "{message}");
}

fn behind_a_relay() {
    let (_alive, port, authority) = encrypted("localhost");
    let store = open(&format!("memcached://localhost:{port}?tls=on&ca={authority}&via=delay:1ms"));
    let session = &mut *store.session().unwrap();
    set(session, "key", b"value");
    assert_eq!(get(session, "key").as_deref(), Some(&b"value"[..]));
}

fn the_scheme() {
    let store = open("memcacheds:");
    assert_eq!(store.info().settings["tls"], "on");
    assert_eq!((store.info().scheme, &*store.info().url), ("memcached", "memcacheds:"));
    assert_eq!(open("memcached:").info().settings["tls"], "off");
}

/// memcached reads an encrypted value to its end and no further. It waits for bytes that have come already if a record has
/// the beginning of the next request.
fn requests_of_every_length() {
    for protocol in ["text", "meta"] {
        let store = open(&format!("memcached:?tls=on&protocol={protocol}"));
        let session = &mut *store.session().unwrap();
        let lens: Vec<usize> = (0..400).map(|n| n * n * 3 % 20_011).collect();
        let keys: Vec<String> = (0..lens.len()).map(|n| format!("key:{n}")).collect();
        let values: Vec<Vec<u8>> = lens.iter().map(|len| vec![b'v'; *len]).collect();
        let options = SetOptions::default();
        let puts: Vec<Put<'_>> = keys
            .iter()
            .zip(&values)
            .map(|(key, value)| Put { key: key.as_bytes(), value, options })
            .collect();
        let mut n_stored = 0;
        let mut done = |_, outcome: larder_store::Result<_>| {
            n_stored += usize::from(outcome.is_ok());
        };
        session.set_many(&puts, &mut done).unwrap();
        assert_eq!(n_stored, lens.len());
        pipelined(session, &keys, &values);
    }
}

/// Stores each value again and reads it, without waiting in between.
fn pipelined(session: &mut dyn Session, keys: &[String], values: &[Vec<u8>]) {
    let pipeline = session.pipeline().unwrap();
    for (n, (key, value)) in keys.iter().zip(values).enumerate() {
        pipeline.set(2 * n, key.as_bytes(), value, &SetOptions::default()).unwrap();
        pipeline.get(2 * n + 1, key.as_bytes()).unwrap();
    }
    let mut room = vec![0; 64 * 1024];
    let mut lens = HashMap::new();
    while pipeline.n_outstanding() > 0 {
        pipeline.wait(&mut room, &mut |id, answer| match answer {
            Answer::Stored(outcome) => assert!(outcome.is_stored()),
            Answer::Hit { value, .. } => drop(lens.insert(id / 2, value.len())),
            other => panic!("{other:?}"),
        });
    }
    for (n, value) in values.iter().enumerate() {
        assert_eq!(lens.get(&n), Some(&value.len()), "key {n}");
    }
}
