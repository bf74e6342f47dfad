//! What a recording and its replay tell, held against the counters of the recorded server.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

use larder_engines::ENGINES;
use larder_report::{Counts, Operation, Run, TraceInfo};
use larder_store::StoreUrl;
use larder_testkit::{Memcached, Random};

use super::{Recording, n_rows, rows};
use crate::scene::{LARDER, Scene, assert_contains};

/// The counters of a server.
fn stats(server: &Memcached) -> HashMap<String, u64> {
    let mut socket = server.connect();
    socket.write_all(b"stats\r\nquit\r\n").unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix("STAT ")?.split_once(' '));
    lines.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect()
}

/// Checks that a recording has all that a server has counted.
fn assert_as_counted(scene: &Scene, file: &str, before: &HashMap<String, u64>, server: &Memcached) {
    let now = stats(server);
    let counted = |name: &str| now[name] - before[name];
    let rows = rows(scene, file);
    let n = |operation: &str, result: &str| {
        rows.get(&(operation.to_owned(), result.to_owned())).copied().unwrap_or_default()
    };
    assert_eq!(counted("get_hits"), n("get", "hit"), "{rows:?}");
    assert_eq!(counted("get_misses"), n("get", "miss"), "{rows:?}");
    let sets: u64 = rows.iter().filter(|((it, _), _)| it == "set").map(|(_, n)| n).sum();
    assert_eq!(counted("cmd_set"), sets, "{rows:?}");
    assert_eq!(counted("delete_hits"), n("delete", "deleted"), "{rows:?}");
}

pub(super) fn memcslap() {
    let scene = Scene::new();
    let server = Memcached::start();
    let before = stats(&server);
    let recording = Recording::start(&scene, &server, "calls.parquet", &[]);
    let servers = format!("--servers=127.0.0.1:{}", recording.port);
    for more in [&["--test=set"][..], &["--test=get"], &["--test=get", "--binary"]] {
        let load = ["--concurrency=4", "--execute-number=500", "--initial-load=500"];
        let ran = Command::new("memcslap").arg(&servers).args(load).args(more).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    }
    let (out, told) = recording.end();
    assert!(!told.contains("without being recorded"), "{told}");
    assert_contains(&out, &["operations", "0 dropped", "calls.parquet"]);
    assert_as_counted(&scene, "calls.parquet", &before, &server);
    assert!(n_rows(&scene, "calls.parquet") >= 3000);
}

pub(super) fn compared() {
    let scene = Scene::new();
    let server = Memcached::start();
    let before = stats(&server);
    let recording = Recording::start(&scene, &server, "calls.parquet", &[]);
    let target = format!("memcached://127.0.0.1:{}", recording.port);
    let work = ["compare", "-q", &target, "-k", "300", "-d", "100", "-r", "1", "-o", "out"];
    scene.larder(&work).ends_with(0);
    let (_, told) = recording.end();
    assert!(!told.contains("without being recorded"), "{told}");
    assert_as_counted(&scene, "calls.parquet", &before, &server);
    // The run's own counts leave out what only prepares and checks.
    let own: u64 = scene.run_json().cells.iter().map(|cell| cell.counts.hits).sum();
    let rows = rows(&scene, "calls.parquet");
    assert!(own > 0 && rows[&("get".to_owned(), "hit".to_owned())] >= own, "{own} {rows:?}");
}

/// Sends the requests of an application that counts, and reads the answers up to the last line.
fn talk(recording: &Recording, requests: &str, last: &str) {
    let mut socket = recording.connect();
    let mut answers = BufReader::new(socket.try_clone().unwrap()).lines();
    socket.write_all(requests.as_bytes()).unwrap();
    assert!(answers.any(|line| line.unwrap().starts_with(last)));
}

/// The counts of a run for some operations together.
fn of(run: &Run, operations: &[Operation]) -> Counts {
    let mut counts = Counts::default();
    let cells = run.cells.iter().filter(|cell| operations.contains(&cell.operation));
    cells.for_each(|cell| counts.add(&cell.counts));
    assert_eq!((counts.wrong, counts.errors), (0, 0), "{operations:?}");
    counts
}

const COUNTED: [&str; 4] = ["incr_hits", "incr_misses", "decr_hits", "decr_misses"];
const READS: [Operation; 2] = [Operation::Get, Operation::GetMany];

pub(super) fn counted() {
    let scene = Scene::new();
    let server = Memcached::start();
    let before = stats(&server);
    let recording = Recording::start(&scene, &server, "calls.parquet", &[]);
    let (mut requests, mut random) = (String::new(), Random::new(7));
    for _ in 0..2000 {
        let (key, more) = (random.below(20), random.below(9));
        requests.extend([match random.below(10) {
            0 => format!("set n{key} 0 0 2\r\n10\r\n"),
            1 => format!("add n{key} 0 0 1\r\n7\r\n"),
            2 => format!("delete n{key}\r\n"),
            3 => format!("decr n{key} {more}\r\n"),
            4..7 => format!("incr n{key} {more}\r\n"),
            7 => format!("get n{key} n{} page:{more}\r\n", key + 1),
            8 => format!("set page:{more} 0 0 40\r\n{}\r\n", "p".repeat(40)),
            _ => format!("get n{key}\r\n"),
        }]);
    }
    talk(&recording, &format!("{requests}version\r\n"), "VERSION");
    recording.end();
    let now = stats(&server);
    let recorded = |name: &str| now[name] - before[name];
    let counts = COUNTED.map(recorded);
    assert!(counts.iter().all(|n| *n > 20), "{counts:?}");
    for more in [&["-t", "1"][..], &["--connections", "1", "--pipeline", "1"]] {
        let server = Memcached::start();
        let (target, before) = (format!("memcached://{}", server.address()), stats(&server));
        let work = ["compare", "-q", &target, "--keys-from", "trace:calls.parquet", "-r", "1"];
        scene.larder(&[&work[..], more, &["-o", "out"]].concat()).ends_with(0);
        let now = stats(&server);
        // Nothing but the replay itself counts.
        assert_eq!(COUNTED.map(|name| now[name] - before[name]), counts, "{more:?}");
        let run = scene.run_json();
        let (counted, read) = (of(&run, &[Operation::Incr]), of(&run, &READS));
        assert_eq!(counted.ops, counts.iter().sum::<u64>(), "{more:?}");
        assert_eq!(counted.misses, recorded("incr_misses") + recorded("decr_misses"), "{more:?}");
        assert_eq!(read.hits, recorded("get_hits"), "{more:?}");
        assert_eq!(read.misses, recorded("get_misses"), "{more:?}");
        assert_eq!(of(&run, &[Operation::Delete]).misses, recorded("delete_misses"), "{more:?}");
    }
}

pub(super) fn sampled() {
    let scene = Scene::new();
    let server = Memcached::start();
    let before = stats(&server);
    let recording = Recording::start(&scene, &server, "calls.parquet", &["--sample", "20%"]);
    let mut requests = String::new();
    for key in 0..400 {
        if key % 3 == 0 {
            requests.extend([format!("set n{key} 0 0 2\r\n10\r\n")]);
        }
        requests.extend([format!("get n{key}\r\n")]);
    }
    talk(&recording, &format!("{requests}version\r\n"), "VERSION");
    recording.end();
    let now = stats(&server);
    let answer = scene.larder(&["trace", "info", "--format", "json", "calls.parquet"]);
    let info: TraceInfo = serde_json::from_str(&answer.ends_with(0).out).unwrap();
    let traffic = info.traffic.unwrap();
    assert_eq!(traffic.hits, now["get_hits"] - before["get_hits"]);
    assert_eq!(traffic.misses, now["get_misses"] - before["get_misses"]);
    assert_eq!(traffic.operations, 400 + 134);
    assert!(info.rows > 0 && info.rows < traffic.operations / 2, "{} rows", info.rows);
    let text = &scene.larder(&["trace", "info", "calls.parquet"]).ends_with(0).out.clone();
    assert_contains(text, &["all traffic", "534 operations; 33.5 %", "of the recorded keys"]);
}

pub(super) fn counted_by_redis() {
    let scene = Scene::new();
    let server = ENGINES.open(&StoreUrl::parse("redis:").unwrap()).unwrap();
    let address = &server.info().settings["nodes"];
    let upstream = format!("redis://{address}");
    // The hits and misses of all reads so far.
    let reads = || {
        let mut socket = TcpStream::connect(address).unwrap();
        socket.write_all(b"INFO stats\r\nQUIT\r\n").unwrap();
        let mut text = String::new();
        socket.read_to_string(&mut text).unwrap();
        ["keyspace_hits:", "keyspace_misses:"].map(|name| {
            let number = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            number.parse::<u64>().unwrap()
        })
    };
    let before = reads();
    let recording = Recording::spawn(Command::new(LARDER), &scene, &upstream, "calls.parquet", &[]);
    let (mut requests, mut random) = (String::new(), Random::new(9));
    let mut counts = 0;
    for _ in 0..1000 {
        let (key, more) = (format!("n{}", random.below(15)), random.below(9).to_string());
        let words = match random.below(8) {
            0 => vec!["SET", &key, "10"],
            1 => vec!["DEL", &key],
            2 => vec!["DECR", &key],
            3 => vec!["INCR", &key],
            4 => vec!["INCRBY", &key, &more],
            _ => vec!["GET", &key],
        };
        counts += u64::from(words[0].ends_with("CR") || words[0] == "INCRBY");
        requests.extend([format!("*{}\r\n", words.len())]);
        requests.extend(words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())));
    }
    talk(&recording, &format!("{requests}*1\r\n$4\r\nPING\r\n"), "+PONG");
    recording.end();
    let [hits, misses] = reads();
    let recorded = (hits - before[0], misses - before[1]);
    for more in [&["-t", "1"][..], &["--connections", "1", "--pipeline", "1"]] {
        let work = ["compare", "-q", "redis:", "--keys-from", "trace:calls.parquet", "-r", "1"];
        scene.larder(&[&work[..], more, &["-o", "out"]].concat()).ends_with(0);
        let run = scene.run_json();
        let (counted, read) = (of(&run, &[Operation::Incr]), of(&run, &READS));
        // Redis stores a number under an absent key.
        assert_eq!((counted.ops, counted.misses), (counts, 0), "{more:?}");
        assert_eq!((read.hits, read.misses), recorded, "{more:?}");
    }
}
