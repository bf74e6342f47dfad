//! Encrypted connections to servers with certificates.

use std::fs;

use larder_host::scratch::ScratchDir;
use larder_testkit::certificate_files;
use libtest_mimic::Trial;
use mysql::prelude::Queryable;

use crate::session_support::{failure, get, open, set, try_open};
use crate::support::{MariaDb, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("a_server_of_ours_encrypts", a_server_of_ours_encrypts),
        trial("a_certificate_is_looked_at_as_the_mode_says", a_certificate_is_looked_at),
        trial("a_password_is_sent_only_to_a_server_that_is_believed", only_encrypted),
    ]
}

/// A server with a certificate for this name, the folder with its authority, and the path of the authority's file.
fn encrypted(name: &str) -> (MariaDb, ScratchDir, String) {
    let folder = ScratchDir::create("test").unwrap();
    // If these tests run as root, the server runs as another user.
    let open_to_all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.path(), open_to_all).unwrap();
    let files = certificate_files(folder.path(), name);
    let [authority, certificate, key] = files.map(|file| file.display().to_string());
    let server = MariaDb::start(&[
        &format!("--ssl-cert={certificate}"),
        &format!("--ssl-key={key}"),
        &format!("--ssl-ca={authority}"),
    ]);
    (server, folder, authority)
}

fn a_server_of_ours_encrypts() {
    let store = open("mysql:?tls=on&flush=2");
    assert_eq!(store.info().settings["tls"], "on");
    let session = &mut *store.session().unwrap();
    let value: Vec<u8> = (0..300_000_u32).map(|i| i.to_le_bytes()[0]).collect();
    set(session, "key", &value);
    assert_eq!(get(session, "key"), Some(value));
    let store = open("mysql:?tls=on&flush=2&via=delay:100us");
    set(&mut *store.session().unwrap(), "key", b"value");
}

fn a_certificate_is_looked_at() {
    let (server, _folder, authority) = encrypted("another.example");
    for (options, tls) in [
        ("", "on"),
        ("ssl-mode=PREFERRED", "on"),
        ("ssl-mode=required", "on"),
        ("ssl-mode=DISABLED", "off"),
        (&*format!("ssl-mode=VERIFY_CA&ssl-ca={authority}"), "on"),
        (&*format!("ssl-mode=VERIFY_CA&ssl-ca={authority}&via=delay:100us"), "on"),
    ] {
        let store = open(&server.url(options));
        assert_eq!(store.info().settings["tls"], tls, "{options}");
        set(&mut *store.session().unwrap(), "key", b"value");
    }
    let other = ScratchDir::create("test").unwrap();
    let [stranger, _, _] = certificate_files(other.path(), "127.0.0.1");
    let stranger = stranger.display();
    for (options, needle) in [
        ("ssl-mode=VERIFY_CA", "UnknownIssuer; name the file of its authority by `ssl-ca=`"),
        ("ssl-mode=VERIFY_IDENTITY", "UnknownIssuer; name the file"),
        (&*format!("ssl-mode=VERIFY_CA&ssl-ca={stranger}"), "invalid peer certificate"),
        (&*format!("ssl-mode=VERIFY_IDENTITY&ssl-ca={authority}"), "not valid for name"),
    ] {
        let message = failure(try_open(&server.url(options)), "unavailable");
        assert!(message.contains(needle), "{options}: {message}");
    }
    let url = server.url("ssl-mode=VERIFY_CA&ssl-ca=/nowhere/ca.pem");
    let message = failure(try_open(&url), "io");
    assert!(message.contains("option `ssl-ca`: reading /nowhere/ca.pem"), "{message}");
    let url = server.url("ssl-mode=VERIFY_CA&ssl-ca=/dev/null");
    let message = failure(try_open(&url), "invalid_options");
    assert!(message.contains("no certificate in /dev/null"), "{message}");
    let (server, _folder, authority) = encrypted("127.0.0.1");
    let url = server.url(&format!("ssl-mode=verify_identity&ssl-ca={authority}"));
    set(&mut *open(&url).session().unwrap(), "key", b"value");
}

fn only_encrypted() {
    let (server, _folder, _) = encrypted("127.0.0.1");
    let mut owner = server.owner();
    owner.query_drop("ALTER USER 'me'@'%' REQUIRE SSL").unwrap();
    failure(try_open(&server.url("ssl-mode=DISABLED")), "unavailable");
    set(&mut *open(&server.url("")).session().unwrap(), "key", b"value");
}
