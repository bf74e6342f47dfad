//! Client certificates on both sides: the proxy asks the application for one, and shows its own to a real server that asks.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use larder_host::listen::Address;
use larder_host::tls::{Tls, TlsSettings};
use larder_testkit::{PATIENCE, certificate_files, within};
use larder_workload::trace::{Outcome, Verb};

use crate::setup::{Kept, Running, Start};
use crate::{Case, WITH_MEMCACHED, WITH_REDIS};

pub(crate) const CASES: &[Case] = &[
    (WITH_MEMCACHED, "memcached_that_asks_for_a_certificate_gets_the_proxys_own", memcached),
    (WITH_REDIS, "redis_that_asks_for_a_certificate_gets_the_proxys_own", redis),
];

/// The authority of a folder, and a certificate with its key from it.
struct Files {
    authority: PathBuf,
    chain: PathBuf,
    key: PathBuf,
}

impl Files {
    fn make(folder: &Path) -> Self {
        let [authority, chain, key] = certificate_files(folder, "localhost");
        Self { authority, chain, key }
    }

    /// An upstream URL that trusts these files' authority, and shows these files' certificate where it is asked to.
    fn url(&self, scheme: &str, port: u16, shows: Option<&Self>) -> String {
        let ca = self.authority.display();
        let own = shows.map_or_else(String::new, |files| {
            format!("&cert={}&key={}", files.chain.display(), files.key.display())
        });
        format!("{scheme}://localhost:{port}?ca={ca}{own}")
    }
}

/// A server that ends with the test.
struct Server(Child);

impl Server {
    fn start(program: &str, arguments: &[String], port: u16) -> Self {
        let child = Command::new(program)
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self(child);
        assert!(within(PATIENCE, || TcpStream::connect(("127.0.0.1", port)).is_ok()));
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Asks on a connection, and waits for this answer: memcached with TLS leaves a request unread that comes with a large value.
fn answers(socket: &mut TcpStream, request: &str, answer: &str) {
    socket.write_all(request.as_bytes()).unwrap();
    let mut got = vec![0; answer.len()];
    socket.read_exact(&mut got).unwrap();
    assert!(got == answer.as_bytes(), "{}", got.escape_ascii());
}

/// What comes back on a new connection to a port after some bytes, up to its end.
fn said(port: u16, request: &[u8]) -> Vec<u8> {
    let mut socket = crate::setup::connect(port);
    let mut answer = Vec::new();
    // A refused connection may end before all is sent, or be reset.
    let _ = socket.write_all(request);
    let _ = socket.read_to_end(&mut answer);
    answer
}

fn results(kept: &Kept) -> Vec<(Verb, Option<Outcome>)> {
    kept.rows().iter().map(|row| (row.operation, row.result)).collect()
}

/// Two proxies before a memcached: the farther one asks the nearer one for a certificate, and memcached asks the farther one.
fn memcached() {
    let folder = tempfile::tempdir().unwrap();
    let files = Files::make(folder.path());
    let port = free_port();
    let with = format!(
        "ssl_chain_cert={},ssl_key={},ssl_ca_cert={},ssl_verify_mode=2",
        files.chain.display(),
        files.key.display(),
        files.authority.display()
    );
    let arguments = ["-u", "root", "-l", "127.0.0.1", "-p", &port.to_string(), "-Z", "-o", &with];
    let _server = Server::start("memcached", &arguments.map(str::to_owned), port);
    let settings = TlsSettings {
        chain: files.chain.clone(),
        key: files.key.clone(),
        authorities: Some(files.authority.clone()),
        needs_client: true,
        is_newest_only: false,
    };
    let start = Start {
        listen: Address::Tls(([127, 0, 0, 1], 0).into()),
        tls: Some(Tls::of_files(settings).unwrap()),
        ..Start::default()
    };
    let far = Running::start(&files.url("memcacheds", port, Some(&files)), start, Kept::default());
    let (near, kept) = Running::before(&files.url("memcacheds", far.port(), Some(&files)));
    let large = "x".repeat(200_000);
    let mut socket = near.connect();
    let set = format!("set k 0 0 {}\r\n{large}\r\n", large.len());
    answers(&mut socket, &set, "STORED\r\n");
    let values = format!("VALUE k 0 {}\r\n{large}\r\nEND\r\nEND\r\n", large.len());
    answers(&mut socket, "get k\r\nget none\r\n", &values);
    // A later connection is as good as the first one, whose session it could resume.
    for _ in 0..3 {
        answers(&mut near.connect(), "get none\r\n", "END\r\n");
    }
    let counts = near.end().0.counts;
    assert_eq!(
        results(&kept),
        [
            (Verb::Set, Some(Outcome::Stored)),
            (Verb::Get, Some(Outcome::Hit)),
            (Verb::Get, Some(Outcome::Miss)),
            (Verb::Get, Some(Outcome::Miss)),
            (Verb::Get, Some(Outcome::Miss)),
            (Verb::Get, Some(Outcome::Miss)),
        ]
    );
    // Without a certificate, and with that of a stranger, neither server says a word.
    let other = tempfile::tempdir().unwrap();
    let stranger = Files::make(other.path());
    for shows in [None, Some(&stranger)] {
        for port in [far.port(), port] {
            let (near, _) = Running::before(&files.url("memcacheds", port, shows));
            assert_eq!(said(near.port(), b"version\r\nquit\r\n"), b"", "{port}");
        }
    }
    assert_eq!(far.end().0.counts, counts);
}

/// A Redis that asks for a certificate.
fn redis() {
    let folder = tempfile::tempdir().unwrap();
    let files = Files::make(folder.path());
    let port = free_port();
    let arguments = format!(
        "--port 0 --tls-port {port} --tls-auth-clients yes --tls-cert-file {} --tls-key-file {} --tls-ca-cert-file {} --dir {}",
        files.chain.display(),
        files.key.display(),
        files.authority.display(),
        folder.path().display()
    );
    let arguments: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
    let _server = Server::start("redis-server", &arguments, port);
    let (proxy, kept) = Running::before(&files.url("rediss", port, Some(&files)));
    assert_eq!(said(proxy.port(), b"PING\r\nQUIT\r\n"), b"+PONG\r\n+OK\r\n");
    let requests = b"SET k v EX 60\r\nGET k\r\nGET none\r\nQUIT\r\n";
    assert_eq!(said(proxy.port(), requests), b"+OK\r\n$1\r\nv\r\n$-1\r\n+OK\r\n");
    assert_eq!(proxy.end().0.counts.operations, 3);
    assert_eq!(
        results(&kept)[1..],
        [(Verb::Get, Some(Outcome::Hit)), (Verb::Get, Some(Outcome::Miss)),]
    );
    let (proxy, _) = Running::before(&files.url("rediss", port, None));
    assert_eq!(said(proxy.port(), requests), b"");
}
