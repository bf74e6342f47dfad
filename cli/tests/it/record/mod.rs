//! `larder record` as its user runs it: before a real memcached, with real clients, killed, and on a disk that is full.

mod agreement;

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use larder_store::Recipe;
use larder_testkit::{
    Memcached, PATIENCE, certificate_files, has_program, may_mount, signal, with_mounts, within,
};

use crate::scene::{LARDER, Scene, assert_contains};
use crate::{Case, MEMCACHED, Need, REDIS};

const MEMCSLAP: Need =
    || MEMCACHED().and_then(|()| has_program(&Recipe::server("memcslap", "libmemcached-tools")));
const WITH_MOUNTS: Need = || MEMCACHED().and_then(|()| may_mount());

pub(crate) const CASES: &[Case] = &[
    (MEMCACHED, "a_recording_that_is_killed_leaves_a_journal_that_is_read", killed),
    (MEMCSLAP, "a_recording_of_memcslap_has_what_the_server_counted", agreement::memcslap),
    (MEMCACHED, "a_recording_of_compare_has_what_the_server_counted", agreement::compared),
    (MEMCACHED, "a_replay_counts_as_the_recorded_memcached_did", agreement::counted),
    (REDIS, "a_replay_counts_as_the_recorded_redis_did", agreement::counted_by_redis),
    (MEMCACHED, "a_recording_of_some_keys_tells_the_traffic_on_all", agreement::sampled),
    (MEMCACHED, "a_recording_rotates_and_loses_no_row", rotated),
    (WITH_MOUNTS, "a_full_disk_drops_rows_and_no_byte_of_the_traffic", full_disk),
    (MEMCACHED, "a_recording_asks_for_a_certificate_and_shows_its_own", certificates),
    (crate::NOTHING, "what_cannot_be_recorded_is_told_in_a_line", refused),
    (crate::NOTHING, "a_capture_without_an_operation_leaves_no_file_and_says_why", found_nothing),
    (crate::NOTHING, "a_server_that_does_not_answer_yet_is_told_at_the_start", not_there_yet),
];

/// A recording that runs before a memcached.
struct Recording {
    child: Child,
    told: BufReader<ChildStderr>,
    port: String,
}

impl Recording {
    fn start(scene: &Scene, server: &Memcached, output: &str, more: &[&str]) -> Self {
        let upstream = format!("memcached://{}", server.address());
        Self::spawn(Command::new(LARDER), scene, &upstream, output, more)
    }

    fn spawn(
        mut program: Command,
        scene: &Scene,
        upstream: &str,
        output: &str,
        more: &[&str],
    ) -> Self {
        let what = ["record", "--listen", "127.0.0.1:0", "--upstream", upstream, "-o", output];
        let mut child = program
            .args(what)
            .args(["--keys", "clear", "--every", "0s"])
            .args(more)
            .current_dir(scene.path(""))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("recording to") {
            line.clear();
            assert!(told.read_line(&mut line).unwrap() > 0, "it has ended");
        }
        let address = line.trim_end().rsplit_once(':').unwrap().1;
        // An encrypted one is followed by `with TLS`.
        let port = address.split(' ').next().unwrap_or_default().to_owned();
        Self { child, told, port }
    }

    fn connect(&self) -> TcpStream {
        let socket = TcpStream::connect(format!("127.0.0.1:{}", self.port)).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket
    }

    /// Ends it in order; its last lines, and what else it has told.
    fn end(self) -> (String, String) {
        let (code, out, told) = self.ended();
        assert_eq!(code, Some(0), "{told}");
        (out, told)
    }

    /// The same, with its exit code.
    fn ended(mut self) -> (Option<i32>, String, String) {
        signal(self.child.id(), libc::SIGTERM);
        let (mut out, mut told) = (String::new(), String::new());
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        self.told.read_to_string(&mut told).unwrap();
        (self.child.wait().unwrap().code(), out, told)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The rows of a recording, by operation and result, as `larder trace convert` gives them.
fn rows(scene: &Scene, file: &str) -> HashMap<(String, String), u64> {
    let told = scene.larder(&["trace", "convert", file, "rows.csv"]);
    // A journal is there before its first rows are.
    if told.err.contains("has no operation") {
        return HashMap::new();
    }
    told.ends_with(0);
    let text = fs::read_to_string(scene.path("rows.csv")).unwrap();
    fs::remove_file(scene.path("rows.csv")).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let place = |name: &str| names.iter().position(|it| *it == name).unwrap_or(usize::MAX);
    let places = [place("op"), place("result")];
    let mut counts = HashMap::new();
    for line in lines {
        let words: Vec<&str> = line.split(',').collect();
        let [operation, result] = places.map(|it| (*words.get(it).unwrap_or(&"")).to_owned());
        *counts.entry((operation, result)).or_default() += 1;
    }
    counts
}

fn n_rows(scene: &Scene, file: &str) -> u64 {
    rows(scene, file).values().sum()
}

fn killed() {
    let scene = Scene::new();
    let server = Memcached::start();
    let mut recording = Recording::start(&scene, &server, "calls.parquet", &[]);
    let asked = Arc::new(AtomicU64::new(0));
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let (mut socket, asked) = (recording.connect(), Arc::clone(&asked));
            thread::spawn(move || {
                let mut answer = [0; 5];
                while socket.write_all(b"get a\r\n").is_ok()
                    && socket.read_exact(&mut answer).is_ok()
                {
                    asked.fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    // What was asked before a moment that is over is in the journal.
    assert!(within(PATIENCE, || asked.load(Ordering::SeqCst) > 1000));
    let before = asked.load(Ordering::SeqCst);
    assert!(within(PATIENCE, || n_rows(&scene, "calls.journal") >= before));
    recording.child.kill().unwrap();
    assert_eq!(recording.child.wait().unwrap().signal(), Some(9));
    // Each client sees its connection end.
    for client in clients {
        client.join().unwrap();
    }
    let all = asked.load(Ordering::SeqCst);
    let left = n_rows(&scene, "calls.journal");
    assert!((before..=all + 4).contains(&left), "{before} {left} {all}");
    scene.larder(&["trace", "info", "calls.journal"]).ends_with(0);
    // The next recording of this name finishes it.
    Recording::start(&scene, &server, "calls.parquet", &[]).end();
    let mut files = scene.files("");
    files.retain(|name| name.starts_with("calls"));
    assert!(files.iter().all(|name| name.ends_with(".parquet")), "{files:?}");
    assert_eq!(files.iter().map(|name| n_rows(&scene, name)).sum::<u64>(), left);
}

/// A recording behind another one: the one before the server asks the other for a certificate.
fn certificates() {
    let scene = Scene::new();
    let server = Memcached::start();
    let [authority, chain, key] = certificate_files(&scene.path(""), "localhost");
    let [authority, chain, key] = [authority, chain, key].map(|file| file.display().to_string());
    let encrypted = ["--ssl-chain-cert", &chain, "--ssl-key", &key, "--ssl-ca-cert", &authority];
    let far = Recording::start(&scene, &server, "far.parquet", &encrypted);
    let upstream = format!("memcacheds://localhost:{}?ca={authority}", far.port);
    let of = |upstream: &str, output: &str| {
        Recording::spawn(Command::new(LARDER), &scene, upstream, output, &[])
    };
    let said = |recording: &Recording| {
        let mut socket = recording.connect();
        let mut answer = String::new();
        // A connection that is refused may be reset.
        let _ = socket.write_all(b"set k 0 0 1\r\nv\r\nget k\r\nquit\r\n");
        let _ = socket.read_to_string(&mut answer);
        answer
    };
    let known = of(&format!("{upstream}&cert={chain}&key={key}"), "known.parquet");
    assert_eq!(said(&known), "STORED\r\nVALUE k 0 1\r\nv\r\nEND\r\n");
    let unknown = of(&upstream, "unknown.parquet");
    assert_eq!(said(&unknown), "");
    known.end();
    unknown.end();
    far.end();
    assert_eq!(rows(&scene, "known.parquet"), rows(&scene, "far.parquet"));
    assert_eq!(n_rows(&scene, "far.parquet"), 2);
}

/// Asks for this many keys, and checks each answer.
fn ask_for(recording: &Recording, n: u64) {
    let mut socket = recording.connect();
    let mut answers = BufReader::new(socket.try_clone().unwrap());
    for from in (0..n).step_by(100) {
        let mut requests = String::new();
        for number in from..n.min(from + 100) {
            requests.extend(["get key:", &format!("{number:020}"), "\r\n"]);
        }
        socket.write_all(requests.as_bytes()).unwrap();
        for _ in from..n.min(from + 100) {
            let mut line = String::new();
            answers.read_line(&mut line).unwrap();
            assert_eq!(line, "END\r\n");
        }
    }
}

fn rotated() {
    const N: u64 = 60_000;
    let scene = Scene::new();
    let server = Memcached::start();
    let recording = Recording::start(&scene, &server, "calls.parquet", &["--rotate-size", "1m"]);
    ask_for(&recording, N);
    recording.end();
    let mut files = scene.files("");
    files.retain(|name| name.starts_with("calls-"));
    assert!(files.len() >= 2 && files.iter().all(|name| name.ends_with(".parquet")), "{files:?}");
    assert_eq!(files.iter().map(|name| n_rows(&scene, name)).sum::<u64>(), N);
}

fn full_disk() {
    const N: u64 = 100_000;
    let scene = Scene::new();
    fs::create_dir(scene.path("disk")).unwrap();
    let server = Memcached::start();
    let mut program = with_mounts("sh");
    fs::create_dir(scene.path("kept")).unwrap();
    let script = r#"
        mount -t tmpfs -o size=2m none disk || exit 9
        "$0" "$@" & recording=$!
        trap 'kill -TERM $recording' TERM
        wait $recording
        wait $recording
        code=$?
        cp disk/* kept/
        exit $code"#;
    program.args(["-c", script, LARDER]);
    let upstream = format!("memcached://{}", server.address());
    let recording = Recording::spawn(program, &scene, &upstream, "disk/calls.parquet", &[]);
    ask_for(&recording, N);
    // Where even Parquet finds no room, the journal is left and the exit code says so.
    let (code, out, told) = recording.ended();
    assert!(matches!(code, Some(0 | 1)), "{code:?} {told}");
    assert!(told.contains("not recorded") || told.contains("journal"), "{told}");
    let number = |line: &str, behind: &str| -> u64 {
        let word = line.split(behind).next().unwrap().rsplit([' ', ';']).next().unwrap();
        word.replace(',', "").parse().unwrap()
    };
    let line =
        out.lines().find(|line| line.contains("rows recorded")).unwrap_or_else(|| panic!("{told}"));
    assert_contains(line, &["100,000 operations"]);
    let (kept, dropped) = (number(line, " rows recorded"), number(line, " dropped"));
    assert!(dropped > 0 && kept > 0 && kept + dropped == N, "{told}");
    // What counts as recorded is in the files, and nothing else is.
    let files = scene.files("kept");
    let files = files.iter().filter(|name| Path::new(name).extension() != Some("new".as_ref()));
    let files: Vec<String> = files.map(|name| format!("kept/{name}")).collect();
    assert_eq!(
        files.iter().map(|name| n_rows(&scene, name)).sum::<u64>(),
        kept,
        "{files:?} {told}"
    );
    let is_left = files.iter().any(|name| name.ends_with(".journal"));
    assert_eq!(
        (code, out.contains("is not finished")),
        (Some(i32::from(is_left)), is_left),
        "{out}"
    );
}

fn not_there_yet() {
    let scene = Scene::new();
    let upstream = format!("memcached:{}", scene.path("none.sock").display());
    let mut child = Command::new(LARDER)
        .args(["record", "--listen", "127.0.0.1:0", "--upstream", &upstream])
        .args(["-o", "calls.parquet"])
        .current_dir(scene.path(""))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap());
    let mut lines = String::new();
    while !lines.contains("recording to") {
        assert!(told.read_line(&mut lines).unwrap() > 0, "it has ended: {lines}");
    }
    assert_contains(&lines, &["none.sock does not answer yet", "until it does"]);
    signal(child.id(), libc::SIGTERM);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// A capture of bare IP: packets of TCP from a client to a port of 10.0.0.7, with these bytes.
fn capture(port: u16, packets: &[(u8, &[u8])]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65535, 101] {
        file.extend(word.to_le_bytes());
    }
    let mut number = 1_u32;
    for (flags, bytes) in packets {
        let len = u16::try_from(40 + bytes.len()).unwrap();
        let mut packet = vec![0x45, 0];
        packet.extend(len.to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 7]);
        packet.extend(50_000_u16.to_be_bytes());
        packet.extend(port.to_be_bytes());
        packet.extend(number.to_be_bytes());
        packet.extend([0, 0, 0, 0, 0x50, *flags, 255, 255, 0, 0, 0, 0]);
        packet.extend(*bytes);
        number += u32::try_from(bytes.len()).unwrap() + u32::from(flags & 2 != 0);
        for word in [1_800_000_000, 0, u32::from(len), u32::from(len)] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

fn found_nothing() {
    const SYN: u8 = 2;
    const ACK: u8 = 16;
    let scene = Scene::new();
    let text: &[(u8, &[u8])] = &[(SYN, b""), (ACK, b"get a\r\n")];
    for (file, url, needles) in [
        (capture(11211, &[]), "memcached://10.0.0.7", &["no packet", "tcpdump -w"][..]),
        (
            capture(11299, text),
            "memcached://10.0.0.7",
            &["memcached at 10.0.0.7:11211", "2 packets", "10.0.0.7:11299", "--upstream"],
        ),
        (
            capture(6379, &[(SYN, b""), (ACK, b"*x\r\n")]),
            "redis://10.0.0.7",
            &["redis at 10.0.0.7:6379", "of its 1 connection 1 speaks another protocol", "scheme"],
        ),
        (
            capture(11211, &[(SYN, b"")]),
            "memcached://10.0.0.7",
            &["no request in its 1 packet on 1 connection", "longer"],
        ),
    ] {
        scene.write("some.pcap", file);
        let what = ["record", "--from", "pcap:some.pcap", "--upstream", url, "-o", "calls.parquet"];
        let answer = scene.larder(&what);
        answer.ends_with(1);
        let last = answer.err.lines().last().unwrap_or_default();
        assert_contains(last, &["--from some.pcap: no operation of"]);
        assert_contains(last, needles);
        assert!(!scene.path("calls.parquet").exists() && !scene.path("calls.journal").exists());
    }
}

fn refused() {
    let scene = Scene::new();
    scene.write("text.pcap", "no packets at all, but some text that is long enough");
    let own = "--upstream=memcached://127.0.0.1:21320";
    let other = "--upstream=memcached://127.0.0.1:21321";
    for (arguments, needles) in [
        (&["--upstream", "memcached://127.0.0.1"][..], &["--listen", "--from pcap:FILE"][..]),
        (&["--upstream", "memcached://127.0.0.1", "--from", "pcap:none.pcap"], &["none.pcap"]),
        (
            &["--upstream", "memcached://127.0.0.1", "--from", "pcap:text.pcap"],
            &["text.pcap", "neither pcap nor pcapng", "tcpdump -w"],
        ),
        (&["--upstream", "memcached://127.0.0.1", "--from", "calls.pcap"], &["write pcap:FILE"]),
        (
            &["--upstream", "memcached://127.0.0.1", "--from", "pcap:-", "--listen", "0"],
            &["cannot be used with"],
        ),
        (&[own, "--listen", "21320"], &["--upstream 127.0.0.1:21320", "the proxy itself"]),
        (&[own, "--listen", "0.0.0.0:21320"], &["the proxy itself", "--listen"]),
        (&[other, "--listen", "0", "-t", "100000"], &["100000", "from 1 to 64", "write 1"]),
        (&[other, "--listen", "0", "--threads", "0"], &["'0'", "from 1 to 64"]),
        (&[other, "--listen", "0", "--rotate-every", "0s"], &["--rotate-every 0s", "least is 1s"]),
        (
            &[other, "--listen", "0", "--overwrite", "--rotate-every", "1h"],
            &["--overwrite", "leave it out"],
        ),
        (&[other, "--listen", "0", "--max-disk", "1k"], &["--max-disk 1 KiB", "1m or more"]),
        (
            &[other, "--listen", "0", "--keys", "clear", "--salt-file", "s1"],
            &["--salt-file s1", "leave it out"],
        ),
        (
            &[other, "--listen", "0", "-o", "/proc/x.parquet"],
            &["/proc/x", "cannot be written", "in which you may write"],
        ),
        (
            &["--upstream=memcacheds://127.0.0.1?ca=/nope", "--listen", "0"],
            &["/nope", "certificates in PEM"],
        ),
    ] {
        let output: &[&str] =
            if arguments.contains(&"-o") { &[] } else { &["-o", "calls.parquet"] };
        let answer = scene.larder(&[&["record"][..], output, arguments].concat());
        answer.ends_with(2);
        assert_contains(&answer.err, needles);
    }
    // Nothing was begun.
    assert!(!scene.path("s1").exists());
    assert!(!scene.path("calls.journal").exists() && !scene.path("calls.parquet").exists());
}
