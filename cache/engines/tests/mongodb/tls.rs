//! Encrypted connections.

use larder_host::managed::Server;
use larder_host::scratch::ScratchDir;
use larder_testkit::certificate_files;
use libtest_mimic::Trial;

use crate::session_support::{failure, get, open, set, try_open};
use crate::support::{stand_in_on, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("a_certificate_of_a_known_authority_is_believed", a_known_authority),
        trial("a_certificate_of_a_stranger_is_refused", a_strangers_certificate),
        trial("without_encryption_on_one_side_there_is_no_answer", one_side_only),
    ]
}

/// A server with a certificate for this name: the guards that keep it alive, its port, and its authority.
fn encrypted(name: &str) -> ((Server, ScratchDir), u16, String) {
    let folder = ScratchDir::create("test").unwrap();
    let files = certificate_files(folder.path(), name);
    let [authority, certificate, key] = files.map(|file| file.to_str().unwrap().to_owned());
    let (server, port) = stand_in_on(0, &[&certificate, &key]);
    ((server, folder), port, authority)
}

fn a_known_authority() {
    let (_server, port, authority) = encrypted("localhost");
    let store = open(&format!("mongodb://localhost:{port}/?tls=true&tlsCAFile={authority}"));
    let mut session = store.session().unwrap();
    set(&mut *session, "key", b"value");
    assert_eq!(get(&mut *session, "key").unwrap(), b"value");
    assert_eq!(store.info().settings["tls"], "on");
}

fn a_strangers_certificate() {
    let (_server, port, authority) = encrypted("elsewhere");
    let url = |host: &str, more: &str| format!("mongodb://{host}:{port}/?timeout=10s&tls=on{more}");
    let message = failure(try_open(&url("localhost", "")), "unavailable");
    assert!(message.contains("invalid peer certificate"), "{message}");
    assert!(message.contains("name the file of its authority by `tlsCAFile=`"), "{message}");
    let trusted = format!("&tlsCAFile={authority}");
    let message = failure(try_open(&url("localhost", &trusted)), "unavailable");
    assert!(message.contains("invalid peer certificate"), "{message}");
    let via = format!("mongodb://localhost:{port}/?tls=on&tlsInsecure=on&via=delay:200us");
    let store = open(&via);
    set(&mut *store.session().unwrap(), "key", b"value");
}

fn one_side_only() {
    let (_server, port, _) = encrypted("localhost");
    failure(try_open(&format!("mongodb://localhost:{port}/?timeout=1s")), "unavailable");
    let (_server, port) = stand_in_on(0, &[]);
    let result = try_open(&format!("mongodb://localhost:{port}/?timeout=1s&tls=on"));
    let error = result.err().unwrap();
    assert!(["unavailable", "timeout"].contains(&error.kind()), "{error}");
}
