//! Who is served: users by their passwords, and clients over TLS.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod support;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use larder_server::{Address, Order, Settings, TlsSettings};
use larder_testkit::certificate_files;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use support::{PATIENCE, Serving, settings, store};

/// A store that event loops call, and one that storage threads call.
fn each_store(check: impl Fn(&str)) {
    check("memory:?size=64m");
    let folder = tempfile::tempdir().unwrap();
    check(&format!("file:{}", folder.path().join("cache").display()));
}

#[test]
fn who_has_no_password_is_not_served() {
    let folder = tempfile::tempdir().unwrap();
    let users = folder.path().join("users");
    fs::write(&users, "ann:secret\n").unwrap();
    each_store(|url| {
        let serving = Serving::start(url, Settings { users: Some(users.clone()), ..settings() });
        let mut client = serving.client();
        for request in ["get key", "mn", "version", "flush_all", "set key 0 0 x", "garbage"] {
            assert_eq!(client.ask(request), "CLIENT_ERROR unauthenticated", "{request}");
        }
        let failed = "CLIENT_ERROR authentication failure";
        for login in ["ann secre", "ann secrets", "ann", "", "bob secret", "ann:secret"] {
            assert_eq!(client.set("any", login.as_bytes()), failed, "{login}");
        }
        // It may arrive in pieces.
        client.send(b"set any 0 0 10\r\nann s");
        client.send(b"ecret\r\n");
        assert_eq!(client.line(), "STORED");
        assert_eq!(client.get("any"), None);
        assert_eq!(client.set("key", b"value"), "STORED");
        assert_eq!((client.stat("auth_cmds"), client.stat("auth_errors")), (7, 6));
        // Another connection is another client.
        assert_eq!(serving.client().ask("get key"), "CLIENT_ERROR unauthenticated");
        // A long value is not waited for.
        let mut client = serving.client();
        assert_eq!(client.ask("set any 0 0 100000"), "CLIENT_ERROR unauthenticated");
        assert!(client.is_ended());
    });
}

#[test]
fn users_are_read_again_when_the_operator_asks() {
    let folder = tempfile::tempdir().unwrap();
    let users = folder.path().join("users");
    fs::write(&users, "ann:old\n").unwrap();
    let settings = Settings { users: Some(users.clone()), ..settings() };
    let serving = Serving::start("memory:?size=16m", settings);
    // A file that is wrong changes nothing.
    fs::write(&users, "ann\n").unwrap();
    serving.remote.give(Order::Reload);
    assert_eq!(serving.client().set("any", b"ann old"), "STORED");
    fs::write(&users, "ann:new\n").unwrap();
    serving.remote.give(Order::Reload);
    let began = Instant::now();
    while serving.client().set("any", b"ann new") != "STORED" {
        assert!(began.elapsed() < PATIENCE);
    }
    assert_ne!(serving.client().set("any", b"ann old"), "STORED");
}

#[test]
fn a_file_of_users_that_is_wrong_is_told() {
    let users = Some(PathBuf::from("/nowhere/users"));
    let address = Address::Tcp((Ipv4Addr::LOCALHOST, 0).into());
    let started =
        Serving::at(&address, store("memory:?size=16m"), Settings { users, ..settings() });
    let told = started.err().unwrap().to_string();
    assert!(told.starts_with("/nowhere/users: No such file"), "{told}");
}

/// Files of a server and its authority.
struct Files {
    authority: PathBuf,
    settings: TlsSettings,
}

fn files(folder: &Path) -> Files {
    let [authority, chain, key] = certificate_files(folder, "localhost");
    let tls =
        TlsSettings { chain, key, authorities: None, needs_client: false, is_newest_only: false };
    Files { authority, settings: tls }
}

fn encrypted(url: &str, tls: TlsSettings) -> Serving {
    let address = Address::Tls((Ipv4Addr::LOCALHOST, 0).into());
    Serving::at(&address, store(url), Settings { tls: Some(tls), ..settings() }).unwrap()
}

type Encrypted = BufReader<StreamOwned<ClientConnection, TcpStream>>;

fn client(serving: &Serving, authority: &Path, own: Option<(&Path, &Path)>) -> Encrypted {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(authority).unwrap() {
        roots.add(certificate.unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match own {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => {
            let chain =
                CertificateDer::pem_file_iter(chain).unwrap().map(|it| it.unwrap()).collect();
            builder
                .with_client_auth_cert(chain, PrivateKeyDer::from_pem_file(key).unwrap())
                .unwrap()
        }
    };
    let name = ServerName::try_from("localhost").unwrap();
    let session = ClientConnection::new(Arc::new(config), name).unwrap();
    let socket = TcpStream::connect(serving.address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    BufReader::new(StreamOwned::new(session, socket))
}

fn ask(client: &mut Encrypted, request: &[u8]) -> std::io::Result<String> {
    client.get_mut().write_all(request)?;
    client.get_mut().flush()?;
    let mut line = String::new();
    client.read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

#[test]
fn clients_over_tls_are_served_whatever_the_length_of_values() {
    let folder = tempfile::tempdir().unwrap();
    let files = files(folder.path());
    each_store(|url| {
        let serving = encrypted(url, files.settings.clone());
        let mut client = client(&serving, &files.authority, None);
        for len in [0, 1, 2047, 2048, 16_384, 100_000, 1 << 20] {
            let value: Vec<u8> = (0..len).map(|i| u8::try_from(i % 251).unwrap()).collect();
            let mut request = format!("set key 0 0 {len}\r\n").into_bytes();
            request.extend_from_slice(&value);
            request.extend_from_slice(b"\r\n");
            assert_eq!(ask(&mut client, &request).unwrap(), "STORED", "{len}");
            assert_eq!(ask(&mut client, b"get key\r\n").unwrap(), format!("VALUE key 0 {len}"));
            let mut read = vec![0; len + "\r\nEND\r\n".len()];
            client.read_exact(&mut read).unwrap();
            assert!(read.starts_with(&value) && read.ends_with(b"\r\nEND\r\n"), "{len}");
        }
        // Many requests at once, whose answers are many records.
        client.get_mut().write_all("get key\r\n".repeat(20).as_bytes()).unwrap();
        let mut read = vec![0; 20 * ("VALUE key 0 1048576\r\n".len() + (1 << 20) + 7)];
        client.read_exact(&mut read).unwrap();
        assert!(read.ends_with(b"\r\nEND\r\n"));
        // The end is said, not only made.
        client.get_mut().write_all(b"quit\r\n").unwrap();
        assert_eq!(client.read(&mut read).unwrap(), 0);
    });
}

#[test]
fn who_speaks_no_tls_is_not_served_and_harms_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let files = files(folder.path());
    let serving = encrypted("memory:?size=16m", files.settings);
    let mut other = client(&serving, &files.authority, None);
    assert_eq!(ask(&mut other, b"mn\r\n").unwrap(), "MN");
    let mut plain = serving.client();
    plain.send(b"get key\r\n");
    let mut answer = Vec::new();
    // An alert of TLS may come.
    let _ = plain.0.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"END"), "{answer:?}");
    // Half a greeting, and then nothing.
    let mut half = TcpStream::connect(serving.address).unwrap();
    half.write_all(&[22, 3, 1, 2, 0, 1]).unwrap();
    assert_eq!(ask(&mut other, b"mn\r\n").unwrap(), "MN");
}

#[test]
fn certificates_are_read_again_for_connections_that_come() {
    let folder = tempfile::tempdir().unwrap();
    let old = files(folder.path());
    let serving = encrypted("memory:?size=16m", old.settings.clone());
    let mut before = client(&serving, &old.authority, None);
    assert_eq!(ask(&mut before, b"mn\r\n").unwrap(), "MN");
    let authority = fs::read(&old.authority).unwrap();
    // The same names, and another authority.
    let new = files(folder.path());
    fs::write(folder.path().join("old.pem"), authority).unwrap();
    serving.remote.give(Order::Reload);
    let began = Instant::now();
    while ask(&mut client(&serving, &new.authority, None), b"mn\r\n").is_err() {
        assert!(began.elapsed() < PATIENCE);
    }
    assert!(ask(&mut client(&serving, &folder.path().join("old.pem"), None), b"mn\r\n").is_err());
    assert_eq!(ask(&mut before, b"mn\r\n").unwrap(), "MN");
}

#[test]
fn a_client_may_need_a_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let files = files(folder.path());
    for needs_client in [false, true] {
        let authorities = Some(files.authority.clone());
        let tls = TlsSettings { authorities, needs_client, ..files.settings.clone() };
        let serving = encrypted("memory:?size=16m", tls);
        let own = Some((files.settings.chain.as_path(), files.settings.key.as_path()));
        let mut known = client(&serving, &files.authority, own);
        assert_eq!(ask(&mut known, b"mn\r\n").unwrap(), "MN");
        let mut unknown = client(&serving, &files.authority, None);
        let answer = ask(&mut unknown, b"mn\r\n").ok();
        assert_eq!(answer.as_deref() == Some("MN"), !needs_client, "{answer:?}");
    }
}
