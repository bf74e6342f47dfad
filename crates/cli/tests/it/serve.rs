//! `larder serve`: a client is served, a link named `memcached` takes memcached's options, and wrong ones are told.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use crate::scene::{Scene, assert_contains};
use crate::{Case, NOTHING};

pub(crate) const CASES: &[Case] = &[
    (NOTHING, "a_client_is_served_until_the_server_is_told_to_end", served),
    (NOTHING, "a_link_named_memcached_takes_its_options", linked),
    (NOTHING, "what_cannot_be_served_is_told_in_a_line", refused),
    (NOTHING, "a_server_over_a_shared_file_restarts_warm_after_a_kill", killed),
];

const LARDER: &str = env!("CARGO_BIN_EXE_larder");

/// A server that runs, and the address that it has told.
struct Serving {
    child: Child,
    told: BufReader<ChildStderr>,
    notices: Vec<String>,
    address: String,
}

impl Serving {
    fn start(program: &Path, arguments: &[&str]) -> Self {
        let mut child =
            Command::new(program).args(arguments).stderr(Stdio::piped()).spawn().unwrap();
        let mut told = BufReader::new(child.stderr.take().unwrap());
        let mut notices = Vec::new();
        let address = loop {
            let mut line = String::new();
            assert!(told.read_line(&mut line).unwrap() > 0, "{notices:?}");
            if let Some((_, address)) = line.trim_end().split_once(" on ") {
                break address.to_owned();
            }
            notices.push(line.trim_end().to_owned());
        };
        Self { child, told, notices, address }
    }

    /// The answer to some requests, up to the end of the connection.
    fn ask(&self, requests: &str) -> String {
        let mut socket = TcpStream::connect(&self.address).unwrap();
        socket.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        socket.write_all(requests.as_bytes()).unwrap();
        socket.write_all(b"quit\r\n").unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Sends a signal; the exit code, and what else was told.
    fn end(mut self, signal: &str) -> (Option<i32>, String) {
        let pid = self.child.id().to_string();
        assert!(Command::new("/bin/kill").args(["-s", signal, &pid]).status().unwrap().success());
        let mut rest = String::new();
        self.told.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn served() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let serving =
        Serving::start(LARDER.as_ref(), &["serve", "-p", "0", "-P", pid.to_str().unwrap()]);
    assert_eq!(serving.notices, [""; 0]);
    assert_eq!(serving.ask("set k 7 0 5\r\nhello\r\n"), "STORED\r\n");
    let told = std::fs::read_to_string(&pid).unwrap();
    assert_eq!(told.trim(), serving.child.id().to_string());
    // Larder itself is a client of it.
    let scene = Scene::new();
    let got = scene.larder(&["get", &format!("memcached://{}", serving.address), "k"]);
    assert_eq!(got.ends_with(0).out.trim_end(), "hello");
    assert_eq!(serving.end("TERM"), (Some(0), String::new()));
    assert!(!pid.exists());
}

fn linked() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("memcached");
    symlink(LARDER, &link).unwrap();
    let serving = Serving::start(
        &link,
        &[
            "-p",
            "0",
            "-l",
            "127.0.0.1",
            "-m",
            "16",
            "-c",
            "10",
            "-t",
            "1",
            "-I",
            "2m",
            "-U",
            "0",
            "-u",
            "nobody",
            "-d",
            "-o",
            "hash_algorithm=murmur3,idle_timeout=90",
        ],
    );
    let notices = serving.notices.join("\n");
    assert_contains(
        &notices,
        &["ignored: -d:", "ignored: -u:", "ignored: -o hash_algorithm=murmur3"],
    );
    assert_eq!(serving.notices.len(), 3, "{notices}");
    let settings = serving.ask("stats settings\r\n");
    let of = ["maxconns 10", "num_threads 1", "item_size_max 2097152", "idle_timeout 90"];
    assert_contains(&settings, &of);
    assert_eq!(serving.end("INT").0, Some(0));
}

fn refused() {
    let scene = Scene::new();
    for (arguments, told) in [
        (&["-U", "11211"][..], "there is no UDP here"),
        (&["-B", "binary"], "say -B ascii or auto"),
        (&["-M"], "take a store that does not evict"),
        (&["-I", "2g"], "-I 2 GiB: a size from 1 KiB to 1 GiB"),
        (&["-l", "127.0.0.1:x"], "x is no port"),
        (&["-o", "idle_timeout=x"], "a number of seconds"),
        (&["nonsense:"], "unknown engine `nonsense:`"),
        (&["memory:", "-m", "5"], "cannot be used with"),
    ] {
        let run = scene.larder(&[&["serve", "-p", "0"], arguments].concat());
        assert_contains(&run.ends_with(2).err, &[told]);
        assert_eq!(run.err.lines().count(), 1, "{}", run.err);
    }
    let first = Serving::start(LARDER.as_ref(), &["serve", "-p", "0"]);
    let run = scene.larder(&["serve", "-l", &first.address]);
    assert_contains(&run.ends_with(1).err, &["another server has it"]);
}

fn killed() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("mmap:{}?size=16m", folder.path().join("cache").display());
    let arguments = ["serve", &url, "-p", "0"];
    for i in 0..5 {
        let serving = Serving::start(LARDER.as_ref(), &arguments);
        if i > 0 {
            let value = format!("VALUE k 0 1\r\n{}\r\nEND\r\n", i - 1);
            assert_eq!(serving.ask("get k\r\n"), value);
        }
        assert_eq!(serving.ask(&format!("set k 0 0 1\r\n{i}\r\n")), "STORED\r\n");
        assert_eq!(serving.end("KILL").0, None);
    }
}
