//! twemproxy before three `larder serve`: a client of the proxy uses the servers as one, and one of them is killed.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use larder_host::managed::{self, Account, Server};
use larder_host::scratch::ScratchDir;
use larder_store::Recipe;
use larder_testkit::{PATIENCE, has_program, trial_where, within};
use libtest_mimic::Trial;

use crate::servers::Larder;

const TWEMPROXY: Recipe = Recipe::server("nutcracker", "nutcracker");

/// The longest wait for an answer of the proxy.
const ANSWER: Duration = Duration::from_mins(1);

pub(crate) fn trials() -> Vec<Trial> {
    let need = || has_program(&TWEMPROXY);
    vec![
        trial_where(need, "twemproxy::every_command_passes_the_proxy", every_command),
        trial_where(need, "twemproxy::a_killed_server_takes_only_its_own_keys", killed),
    ]
}

/// Every command that the proxy passes on.
fn every_command() {
    let servers = three();
    let proxy = Proxy::start(&servers);
    let mut client = Client::connect(&proxy.address);
    for (request, answer) in [
        ("get k", "END"),
        ("replace k 0 0 1\r\nv", "NOT_STORED"),
        ("append k 0 0 1\r\nv", "NOT_STORED"),
        ("prepend k 0 0 1\r\nv", "NOT_STORED"),
        ("set k 7 0 1\r\nv", "STORED"),
        ("add k 0 0 1\r\nv", "NOT_STORED"),
        ("append k 0 0 1\r\n>", "STORED"),
        ("prepend k 0 0 1\r\n<", "STORED"),
        ("replace k 7 0 2\r\n10", "STORED"),
        ("incr k 5", "15"),
        ("decr k 6", "9"),
        ("incr absent 1", "NOT_FOUND"),
        ("touch k 100", "TOUCHED"),
        ("touch absent 100", "NOT_FOUND"),
        ("cas k 0 0 1 1\r\nv", "EXISTS"),
        ("cas absent 0 0 1 1\r\nv", "NOT_FOUND"),
        ("delete k", "DELETED"),
        ("delete k", "NOT_FOUND"),
    ] {
        assert_eq!(client.ask(request), answer, "{request}");
    }
    let values: HashMap<String, String> =
        (0..100).map(|i| (format!("many{i}"), i.to_string().repeat(i))).collect();
    for (key, value) in &values {
        assert_eq!(client.set(key, value), "STORED");
    }
    // The proxy asks each server for its keys, and puts the answers together.
    let keys: Vec<&str> = values.keys().map(String::as_str).chain(["absent"]).collect();
    assert_eq!(client.get(&keys).unwrap(), values);
    for server in &servers {
        let own = Client::connect(&server.address).get(&keys).unwrap();
        assert!((1..100).contains(&own.len()), "{} keys on {}", own.len(), server.address);
    }
    let large = "x".repeat(1_000_000);
    assert_eq!(client.set("large", &large), "STORED");
    assert_eq!(client.get(&["large"]).unwrap()["large"], large);
}

/// The proxy takes a server that fails out of its ring, and tries it again later.
fn killed() {
    let mut servers = three();
    let proxy = Proxy::start(&servers);
    let mut client = Client::connect(&proxy.address);
    let keys: Vec<String> = (0..300).map(|i| format!("key{i}")).collect();
    for key in &keys {
        assert_eq!(client.set(key, "0"), "STORED");
    }
    let all: Vec<&str> = keys.iter().map(String::as_str).collect();
    let lost = Client::connect(&servers[1].address).get(&all).unwrap();
    assert!((1..300).contains(&lost.len()), "{} keys on the second server", lost.len());
    let mut last: HashMap<&str, String> = all.iter().map(|key| (*key, "0".to_owned())).collect();
    for round in 1..=9 {
        match round {
            4 => servers[1].kill(),
            7 => {
                servers[1] = Larder::start_at("memory:", &servers[1].address);
                let returns = || {
                    client.set(lost.keys().next().unwrap(), "0");
                    !Client::connect(&servers[1].address).get(&all).unwrap().is_empty()
                };
                assert!(within(PATIENCE, returns), "the proxy never tries the server again");
            }
            _ => {}
        }
        for key in &all {
            let value = format!("{round} of {key}");
            let stored = client.set(key, &value);
            if stored == "STORED" {
                last.insert(key, value);
            } else {
                // The proxy tells the first client after a failure.
                assert!(stored.starts_with("SERVER_ERROR"), "{key}: {stored}");
                assert!(lost.contains_key(*key) && (4..7).contains(&round), "{key}: {stored}");
            }
            match client.get(&[key]) {
                Ok(got) => {
                    let got = got.get(*key);
                    assert!(got.is_none_or(|got| *got == last[key]), "{key}: {got:?}");
                    assert!(got.is_some() || lost.contains_key(*key), "{key} is lost");
                }
                Err(told) => assert!(lost.contains_key(*key), "{key}: {told}"),
            }
        }
    }
    // The last round was whole.
    assert_eq!(client.get(&all).unwrap().len(), all.len());
}

fn three() -> Vec<Larder> {
    (0..3).map(|_| Larder::start("memory:")).collect()
}

/// A twemproxy that listens on a port of 127.0.0.1.
struct Proxy {
    address: String,
    _server: Server,
}

impl Proxy {
    fn start(servers: &[Larder]) -> Self {
        managed::on_free_port(|| {
            let address = format!("127.0.0.1:{}", managed::free_port("test")?);
            let directory = ScratchDir::create("test")?;
            let file = directory.path().join("twemproxy.yml");
            std::fs::write(file, configuration(&address, servers)).unwrap();
            let account = Account::for_server(&["nutcracker", "nobody"], directory.path());
            let mut command = Command::new(managed::find("test", &TWEMPROXY)?);
            let statistics = managed::free_port("test")?.to_string();
            command.args(["-c", "twemproxy.yml", "-a", "127.0.0.1", "-s", &statistics]);
            if let Some(account) = &account {
                account.run(&mut command);
            }
            let server = Server::start("test", command, directory, account.as_ref());
            let mut server = server?.without_grace();
            server.answer(PATIENCE, || TcpStream::connect(&address).ok())?;
            Ok(Self { address, _server: server })
        })
        .unwrap()
    }
}

/// The configuration: a server leaves the ring at its first failure, and is tried again after 300 ms.
fn configuration(address: &str, servers: &[Larder]) -> String {
    let mut text = format!(
        "larder:\n  listen: {address}\n  hash: md5\n  distribution: ketama\n  timeout: 20000\n  \
         auto_eject_hosts: true\n  server_failure_limit: 1\n  server_retry_timeout: 300\n  servers:\n"
    );
    for (server, number) in servers.iter().zip(1..) {
        writeln!(text, "    - {}:1 node{number}", server.address).unwrap();
    }
    text
}

/// A connection that speaks the text protocol.
struct Client(BufReader<TcpStream>);

impl Client {
    fn connect(address: &str) -> Self {
        let socket = TcpStream::connect(address).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(ANSWER)).unwrap();
        Self(BufReader::new(socket))
    }

    /// The first line of the answer to a request.
    fn ask(&mut self, request: &str) -> String {
        self.0.get_mut().write_all(format!("{request}\r\n").as_bytes()).unwrap();
        self.line()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.0.read_line(&mut line).unwrap() > 0, "the connection ended");
        line.trim_end().to_owned()
    }

    fn set(&mut self, key: &str, value: &str) -> String {
        self.ask(&format!("set {key} 0 0 {}\r\n{value}", value.len()))
    }

    /// The values of those keys that are there, or the error.
    fn get(&mut self, keys: &[&str]) -> Result<HashMap<String, String>, String> {
        let mut values = HashMap::new();
        let mut line = self.ask(&format!("get {}", keys.join(" ")));
        while let Some(header) = line.strip_prefix("VALUE ") {
            let mut words = header.split(' ');
            let key = words.next().unwrap().to_owned();
            let mut value = vec![0; words.nth(1).unwrap().parse::<usize>().unwrap() + 2];
            self.0.read_exact(&mut value).unwrap();
            value.truncate(value.len() - 2);
            values.insert(key, String::from_utf8(value).unwrap());
            line = self.line();
        }
        if line == "END" { Ok(values) } else { Err(line) }
    }
}
