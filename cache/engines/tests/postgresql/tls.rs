//! `sslmode` against a real server with a certificate of its own, with the meaning it has in libpq.

use std::fs;

use larder_store::Store;
use larder_testkit::{Postgres, certificates};
use libtest_mimic::Trial;
use std::sync::Arc;

use crate::session_support::{failure, get, open, set, try_open};
use crate::{bytes, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("sslmode_means_the_same_as_in_libpq", sslmode_means_the_same_as_in_libpq),
        trial("a_server_without_tls_is_told_from_one_with", a_server_without_tls),
    ]
}

/// Gives a server a certificate for this name, and returns the file of its authority.
fn encrypt(server: &mut Postgres, name: &str) -> String {
    let [authority, certificate, key] = certificates(name);
    let file = server.folder().join("authority.pem");
    fs::write(&file, authority).unwrap();
    server.give("server.pem", &certificate);
    server.give("key.pem", &key);
    for (name, value) in [
        ("ssl_cert_file", server.folder().join("server.pem").display().to_string()),
        ("ssl_key_file", server.folder().join("key.pem").display().to_string()),
        ("ssl", "on".into()),
    ] {
        server.ask(&format!("ALTER SYSTEM SET {name} = '{value}'"));
    }
    server.kill();
    server.restart();
    file.display().to_string()
}

fn sslmode_means_the_same_as_in_libpq() {
    let mut server = Postgres::start(&["fsync=off"]);
    let authority = encrypt(&mut server, "another.example");
    let other = Postgres::start(&["fsync=off"]);
    let stranger = {
        let mut other = other;
        fs::read(encrypt(&mut other, "127.0.0.1")).unwrap()
    };
    let stranger_file = server.folder().join("stranger.pem");
    fs::write(&stranger_file, stranger).unwrap();
    let stranger = stranger_file.display();
    let tls = |store: &Arc<dyn Store>| store.info().settings["tls"].clone();
    for (options, expected) in [
        ("sslmode=disable".to_owned(), "off"),
        (String::new(), "TLSv1.3"),
        ("sslmode=prefer".to_owned(), "TLSv1.3"),
        ("sslmode=require".to_owned(), "TLSv1.3"),
        (format!("sslmode=require&sslrootcert={authority}"), "TLSv1.3"),
        (format!("sslmode=verify-ca&sslrootcert={authority}"), "TLSv1.3"),
    ] {
        let store = open(&format!("{}?{options}", server.url()));
        assert_eq!(tls(&store), expected, "{options}");
        let session = &mut *store.session().unwrap();
        set(session, "key", &bytes(300_000));
        assert_eq!(get(session, "key"), Some(bytes(300_000)));
    }
    for (options, needle) in [
        (format!("sslmode=verify-full&sslrootcert={authority}"), "not valid for name"),
        (format!("sslmode=verify-ca&sslrootcert={stranger}"), "BadSignature; name the file"),
        (format!("sslmode=require&sslrootcert={stranger}"), "BadSignature; name the file"),
        ("sslmode=verify-ca".to_owned(), "UnknownIssuer; name the file"),
    ] {
        let message = failure(try_open(&format!("{}?{options}", server.url())), "unavailable");
        assert!(message.contains(needle), "{options}: {message}");
    }
    let authority = encrypt(&mut server, "127.0.0.1");
    let url = format!("{}?sslmode=verify-full&sslrootcert={authority}", server.url());
    assert_eq!(tls(&open(&url)), "TLSv1.3");
    // A relay has another address than the server, and the certificate is still checked for the server.
    assert_eq!(tls(&open(&format!("{url}&via=delay:1ms"))), "TLSv1.3");
}

fn a_server_without_tls() {
    let server = Postgres::start(&["fsync=off"]);
    assert_eq!(open(&server.url()).info().settings["tls"], "off");
    let message = failure(try_open(&format!("{}?sslmode=require", server.url())), "unavailable");
    assert!(message.contains("takes no TLS; write sslmode=prefer"), "{message}");
}
