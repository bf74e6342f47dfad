//! An external server: the entries of other programs stay as they are.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use larder_engines::ENGINES;
use larder_store::{Store, StoreUrl};
use larder_testkit::Random;
use larder_testkit::traps::{Fault, TrapServer};

use crate::scene::Scene;
use crate::{Case, MEMCACHED, NOTHING};

pub(crate) const CASES: &[Case] = &[
    (MEMCACHED, "a_comparison_leaves_a_foreign_server_as_it_was", comparisons_over_tcp),
    (
        MEMCACHED,
        "a_comparison_over_a_socket_leaves_a_foreign_server_as_it_was",
        comparison_over_a_socket,
    ),
    (MEMCACHED, "ctrl_c_leaves_a_foreign_server_as_it_was", interrupted),
    (NOTHING, "a_server_that_falls_silent_is_asked_a_few_times_and_given_up", silent),
    (MEMCACHED, "a_lot_of_a_foreign_server_is_taken_only_when_allowed", a_lot),
];

/// A memcached that is external for the `larder` under test; it ends with this test.
pub(crate) struct Server {
    _store: Arc<dyn Store>,
    address: String,
    pub(crate) url: String,
}

impl Server {
    pub(crate) fn start(options: &str) -> Self {
        let url = StoreUrl::parse(&format!("memcached:{options}")).unwrap();
        let store = ENGINES.open(&url).unwrap();
        let address = store.info().settings["nodes"].clone();
        Self { _store: store, url: format!("memcached://{address}"), address }
    }

    fn connect(&self) -> Connection {
        if self.address.starts_with('/') {
            let socket = UnixStream::connect(&self.address).unwrap();
            let reader = BufReader::new(Box::new(socket.try_clone().unwrap()) as Box<dyn Read>);
            return Connection { reader, writer: Box::new(socket) };
        }
        let socket = TcpStream::connect(&self.address).unwrap();
        let reader = BufReader::new(Box::new(socket.try_clone().unwrap()) as Box<dyn Read>);
        Connection { reader, writer: Box::new(socket) }
    }

    /// Stores 200 entries as other clients would.
    fn fill(&self) -> Foreign {
        let mut connection = self.connect();
        let mut random = Random::new(3);
        let mut entries = BTreeMap::new();
        for number in 0_u32..200 {
            let mut key = match number % 4 {
                // These keys look like keys of a run.
                0 => format!("larder:{number:08x}:{number}"),
                1 => format!("k{number:031}"),
                _ => format!("user-{number}/"),
            };
            let filler = "!#$%&~0aZ|".repeat(25);
            key.push_str(&filler[..random.below(251 - key.len())]);
            let mut value = random.bytes(number as usize * 13);
            if number % 7 == 0 {
                value.splice(0..0, *b"\r\nEND\r\nVALUE x 0 1\r\n");
            }
            let flags = u32::MAX >> (number % 32);
            connection.set(&key, flags, &value);
            entries.insert(key, (flags, value));
        }
        let foreign = Foreign { entries, settings: connection.stats(" settings") };
        self.assert_untouched(&foreign);
        foreign
    }

    /// Checks that every entry is unchanged, and that there are no other entries.
    #[track_caller]
    fn assert_untouched(&self, foreign: &Foreign) {
        let mut connection = self.connect();
        for (key, entry) in &foreign.entries {
            assert_eq!(connection.get(key).as_ref(), Some(entry), "{key}");
        }
        let stats = connection.stats("");
        assert_eq!(
            stats["curr_items"],
            foreign.entries.len().to_string(),
            "entries of the run stay"
        );
        assert_eq!((stats["cmd_flush"].as_str(), stats["evictions"].as_str()), ("0", "0"));
        assert_eq!(connection.stats(" settings"), foreign.settings);
    }

    /// The number of all sets so far.
    fn sets(&self) -> u64 {
        self.connect().stats("")["cmd_set"].parse().unwrap()
    }
}

/// Entries of other programs on a server.
struct Foreign {
    entries: BTreeMap<String, (u32, Vec<u8>)>,
    settings: BTreeMap<String, String>,
}

/// The part of memcached's text protocol that another client needs.
struct Connection {
    reader: BufReader<Box<dyn Read>>,
    writer: Box<dyn Write>,
}

impl Connection {
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn set(&mut self, key: &str, flags: u32, value: &[u8]) {
        let head = format!("set {key} {flags} 0 {}\r\n", value.len());
        self.writer.write_all(&[head.as_bytes(), value, b"\r\n"].concat()).unwrap();
        assert_eq!(self.line(), "STORED");
    }

    fn get(&mut self, key: &str) -> Option<(u32, Vec<u8>)> {
        self.writer.write_all(format!("get {key}\r\n").as_bytes()).unwrap();
        let head = self.line();
        if head == "END" {
            return None;
        }
        let words: Vec<&str> = head.split(' ').collect();
        let mut value = vec![0; words[3].parse().unwrap()];
        self.reader.read_exact(&mut value).unwrap();
        assert_eq!((self.line().as_str(), self.line().as_str()), ("", "END"));
        Some((words[2].parse().unwrap(), value))
    }

    fn stats(&mut self, group: &str) -> BTreeMap<String, String> {
        self.writer.write_all(format!("stats{group}\r\n").as_bytes()).unwrap();
        let mut stats = BTreeMap::new();
        loop {
            let line = self.line();
            let Some(stat) = line.strip_prefix("STAT ") else { return stats };
            let (name, value) = stat.split_once(' ').unwrap();
            stats.insert(name.to_owned(), value.to_owned());
        }
    }
}

/// The workloads that write or delete.
const WORK: [&[&str]; 4] = [
    &["--ttl", "1h"],
    &["--ratio", "2:3:1", "-n", "2000"],
    &["--on-miss", "fill", "-n", "1000"],
    &["--operations", "set,touch,delete", "--ttl", "1m"],
];

fn comparison(server: &Server, foreign: &Foreign, work: &[&str]) {
    let scene = Scene::new();
    let before = server.sets();
    let small = ["compare", "moka:", &server.url, "-k", "150", "-t", "2", "-r", "2", "-o", "out"];
    scene.larder(&[&small, work].concat()).ends_with(0);
    assert!(server.sets() >= before + 100, "it did not run there");
    let run = scene.run_json();
    assert!(run.cells.iter().all(|cell| cell.reason.is_none() && cell.counts.wrong == 0));
    assert_eq!(run.targets[1].ownership.as_deref(), Some("external"));
    server.assert_untouched(foreign);
    scene.assert_nothing_left();
}

fn comparisons_over_tcp() {
    let server = Server::start("");
    let foreign = server.fill();
    for work in WORK {
        comparison(&server, &foreign, work);
    }
}

fn comparison_over_a_socket() {
    let server = Server::start("?socket=on");
    let foreign = server.fill();
    comparison(&server, &foreign, WORK[1]);
    comparison(&server, &foreign, WORK[2]);
}

fn interrupted() {
    let server = Server::start("");
    let foreign = server.fill();
    let scene = Scene::new();
    for work in [WORK[0], WORK[1]] {
        let endless = ["compare", &server.url, "-k", "300", "-t", "2", "-r", "1000", "-o", "out"];
        let mut larder = scene.start(&[&endless, work].concat());
        larder.reaches("round 2 of");
        larder.signal(libc::SIGINT);
        assert_eq!(larder.ends(), Some(130));
        assert!(scene.run_json().interrupted);
        server.assert_untouched(&foreign);
        scene.assert_nothing_left();
    }
}

fn a_lot() {
    let server = Server::start("");
    let foreign = server.fill();
    let scene = Scene::new();
    let arguments = ["compare", "-q", &server.url, "-k", "900", "-d", "8k", "-r", "1", "-o", "out"];
    let parts = ["would fill 7.1 MiB", "a server with 64 MiB", "--yes to allow it"];
    scene.larder(&arguments).ends_with(2).complains(&parts);
    server.assert_untouched(&foreign);
    scene.larder(&[&arguments[..], &["--yes"]].concat()).ends_with(0);
    server.assert_untouched(&foreign);
}

fn silent() {
    // The silence begins in the middle of a phase, during the load of keys, or at the end of a turn.
    for after in [700, 150, 405] {
        let (scene, server) = (Scene::new(), TrapServer::start(Fault::Hangs { after }).unwrap());
        let target = format!("{}&timeout=1s", server.url("hangs"));
        let plan = ["-k", "100", "-r", "3", "-o", "out"];
        let answer =
            scene.larder(&[&["compare", "-q", &target, "moka:", "--yes"][..], &plan].concat());
        answer.ends_with(1);
        let told = answer.err.lines().find(|line| line.starts_with("larder: hangs is lost "));
        let told = told.unwrap_or_else(|| panic!("{after}: {answer:#?}"));
        for part in ["no answer within 1000 ms", "keys of this run, `larder:", "may be left there"]
        {
            assert!(told.contains(part), "{after}, {part}: {told}");
        }
        // An operation and the next, or a second attempt, get no answer. Larder then asks once more, and once when the
        // run is over.
        assert!((1..=5).contains(&server.unanswered()), "{after}: {}", server.unanswered());
        let moka = scene.run_json().cells;
        assert!(moka.iter().any(|cell| cell.target == "moka:" && cell.rounds == 3), "it goes on");
    }
}
