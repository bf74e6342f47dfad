//! `rediss:` against a real server with certificates of its own.

use std::fs;

use crate::session_support::{failure, get, open, set, try_open};
use crate::support::{redis_server_on, trial};
use larder_host::managed::Server;
use larder_host::scratch::ScratchDir;
use larder_testkit::certificate_files;
use libtest_mimic::Trial;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("a_certificate_of_a_known_authority_is_believed", a_known_authority),
        trial("a_certificate_of_a_stranger_is_refused", a_strangers_certificate),
        trial("without_encryption_on_one_side_there_is_no_answer", one_side_only),
    ]
}

/// A server with a certificate for this name: the guards that keep it alive, its two ports, and its authority.
fn encrypted(name: &str) -> ((Server, ScratchDir), u16, u16, String) {
    let folder = ScratchDir::create("test").unwrap();
    // If these tests run as root, the server runs as another user.
    let open_to_all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.path(), open_to_all).unwrap();
    let files = certificate_files(folder.path(), name);
    let [authority, certificate, key] = files.map(|file| file.to_str().unwrap().to_owned());
    let (server, [port, tls_port]) = redis_server_on([0, 0], |[_, tls_port]| {
        let tls_port = tls_port.to_string();
        let options = [
            ["--tls-port", &tls_port],
            ["--tls-ca-cert-file", &authority],
            ["--tls-cert-file", &certificate],
            ["--tls-key-file", &key],
            ["--tls-auth-clients", "no"],
        ];
        options.concat().into_iter().map(String::from).collect()
    });
    ((server, folder), port, tls_port, authority)
}

fn a_known_authority() {
    for (name, host) in [("127.0.0.1", "127.0.0.1"), ("localhost", "localhost")] {
        let (_alive, port, tls_port, authority) = encrypted(name);
        // A relay before the server does not change whom the certificate is for.
        for via in ["", "&via=delay:1ms"] {
            let store = open(&format!("rediss://{host}:{tls_port}?ca={authority}{via}"));
            assert_eq!(store.info().settings["tls"], "on");
            let session = &mut *store.session().unwrap();
            set(session, "key", &vec![b'v'; 300_000]);
            let plain = open(&format!("redis://{host}:{port}"));
            assert_eq!(get(&mut *plain.session().unwrap(), "key"), Some(vec![b'v'; 300_000]));
            assert_eq!(get(session, "key"), Some(vec![b'v'; 300_000]));
        }
    }
}

fn a_strangers_certificate() {
    let (_alive, _, tls_port, authority) = encrypted("another.example");
    let other = ScratchDir::create("test").unwrap();
    let [other, _, _] = certificate_files(other.path(), "127.0.0.1");
    let url = format!("rediss://127.0.0.1:{tls_port}");
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
    let (_alive, port, tls_port, authority) = encrypted("127.0.0.1");
    let plain = try_open(&format!("redis://127.0.0.1:{tls_port}?timeout=60s"));
    failure(plain, "unavailable");
    // A server without TLS waits for the end of a line, which never comes. So it is asked without TLS before the time is over.
    let url = format!("rediss://127.0.0.1:{port}?timeout=60s&ca={authority}");
    let message = failure(try_open(&url), "unavailable");
    let wanted = format!(
        "redis: 127.0.0.1:{port} speaks without TLS; write redis://, or name its port for TLS"
    );
    assert_eq!(message, wanted);
}
