//! `larder serve`: a client is served, a link named `memcached` takes memcached's options, and wrong ones are told.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use larder_testkit::signal;

use crate::scene::{Scene, assert_contains};
use crate::{Case, NOTHING, SYSTEMD};

pub(crate) const CASES: &[Case] = &[
    (NOTHING, "a_client_is_served_until_the_server_is_told_to_end", served),
    (NOTHING, "a_link_named_memcached_takes_its_options", linked),
    (NOTHING, "what_cannot_be_served_is_told_in_a_line", refused),
    (NOTHING, "a_server_over_a_shared_file_restarts_warm_after_a_kill", killed),
    (
        NOTHING,
        "a_new_process_takes_the_place_of_a_server_and_no_connection_is_refused",
        handed_over,
    ),
    (NOTHING, "a_new_process_that_fails_leaves_the_server_as_it_was", not_handed_over),
    (SYSTEMD, "sockets_that_systemd_opens_are_served_and_it_is_told", activated),
    (NOTHING, "messages_are_json_where_that_is_asked", logged),
    (NOTHING, "options_come_from_a_file_and_the_environment_too", configured),
    (NOTHING, "a_client_ends_the_server_where_it_may", shut_down),
];

const LARDER: &str = env!("CARGO_BIN_EXE_larder");

/// A server that runs, and the address that it has told.
pub(crate) struct Serving {
    child: Child,
    told: BufReader<ChildStderr>,
    notices: Vec<String>,
    address: String,
}

impl Serving {
    pub(crate) fn start(program: &Path, arguments: &[&str]) -> Self {
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
    pub(crate) fn ask(&self, requests: &str) -> String {
        let mut socket = TcpStream::connect(&self.address).unwrap();
        socket.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        socket.write_all(requests.as_bytes()).unwrap();
        socket.write_all(b"quit\r\n").unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Waits for a line, and returns it.
    pub(crate) fn next_line(&mut self) -> String {
        let mut line = String::new();
        self.told.read_line(&mut line).unwrap();
        line
    }

    /// Sends a signal; the exit code, and what else was told.
    pub(crate) fn end(mut self, number: libc::c_int) -> (Option<i32>, String) {
        signal(self.child.id(), number);
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
    assert_eq!(serving.end(libc::SIGTERM), (Some(0), String::new()));
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
    assert_contains(&notices, &["ignored: -d:", "ignored: -o hash_algorithm=murmur3"]);
    assert_eq!(serving.notices.len(), 2, "{notices}");
    if larder_testkit::is_root() {
        let status = std::fs::metadata(format!("/proc/{}", serving.child.id())).unwrap();
        assert_ne!(std::os::unix::fs::MetadataExt::uid(&status), 0);
    }
    let settings = serving.ask("stats settings\r\n");
    let of = ["maxconns 10", "num_threads 1", "item_size_max 2097152", "idle_timeout 90"];
    assert_contains(&settings, &of);
    assert_eq!(serving.end(libc::SIGINT).0, Some(0));
}

fn refused() {
    let scene = Scene::new();
    for (arguments, told) in [
        (&["-U", "11211"][..], "there is no UDP here"),
        (&["-S"], "name a file of user:password lines with -Y"),
        (&["-t", "100000"], "1024 threads at most"),
        (&["-B", "nonsense"], "auto, ascii or binary"),
        (&["--config", "/nowhere.toml"], "/nowhere.toml: No such file"),
        (&["-M"], "take a store that does not evict"),
        (&["-I", "2g"], "-I 2 GiB: a size from 1 KiB to 1 GiB"),
        (&["-l", "127.0.0.1:x"], "x is no port"),
        (&["-o", "idle_timeout=x"], "a number of seconds"),
        (&["-Z"], "a certificate and its key are needed"),
        (&["-o", "ssl_key=/k"], "without -Z nothing is encrypted"),
        (&["-o", "ssl_min_version=tlsv1.1"], "older ones are not spoken"),
        (&["-Z", "-o", "ssl_chain_cert=/c,ssl_key=/k,ssl_verify_mode=2"], "by which authorities?"),
        (&["nonsense:"], "unknown engine `nonsense:`"),
        (&["memory:", "-m", "5"], "cannot be used with"),
    ] {
        let run = scene.larder(&[&["serve", "-p", "0"], arguments].concat());
        assert_contains(&run.ends_with(2).err, &[told]);
        assert_eq!(run.err.lines().count(), 1, "{}", run.err);
    }
    for (arguments, told) in [
        (&["-Z", "-o", "ssl_chain_cert=/nowhere,ssl_key=/k"][..], "/nowhere: "),
        (&["-Y", "/nowhere"], "/nowhere: No such file"),
    ] {
        let run = scene.larder(&[&["serve", "-p", "0"], arguments].concat());
        assert_contains(&run.ends_with(1).err, &[told]);
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
        assert_eq!(serving.end(libc::SIGKILL).0, None);
    }
}

fn handed_over() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("mmap:{}?size=16m", folder.path().join("cache").display());
    let (pid_file, socket) = (folder.path().join("pid"), folder.path().join("socket"));
    let pid = || std::fs::read_to_string(&pid_file).unwrap().trim().to_owned();
    // One over a port, and one over a path.
    for at in [&["-p", "0", "--metrics", "0"][..], &["-s", socket.to_str().unwrap()]] {
        let arguments = [&["serve", &url, "-P", pid_file.to_str().unwrap()], at].concat();
        let mut serving = Serving::start(LARDER.as_ref(), &arguments);
        let address = serving.address.clone();
        let is_over = AtomicBool::new(false);
        let n_clients = thread::scope(|scope| {
            // Clients come and go all the time; each finds a server and the same entries.
            let clients = scope.spawn(|| {
                let mut n = 0;
                while !is_over.load(Ordering::Relaxed) {
                    let set = format!("set k 0 0 6\r\n{n:06}\r\n");
                    assert_eq!(ask_at(&address, &set), "STORED\r\n", "{n}");
                    let value = format!("VALUE k 0 6\r\n{n:06}\r\nEND\r\n");
                    assert_eq!(ask_at(&address, "get k\r\n"), value, "{n}");
                    n += 1;
                }
                n
            });
            for _ in 0..3 {
                let before = pid();
                signal(before.parse().unwrap(), libc::SIGUSR2);
                within_a_minute(|| pid() != before);
                // The process before has gone once its number is nobody's.
                let gone = Path::new("/proc").join(&before);
                within_a_minute(|| {
                    let _ = serving.child.try_wait();
                    !gone.exists()
                });
            }
            is_over.store(true, Ordering::Relaxed);
            clients.join().unwrap()
        });
        assert!(n_clients > 0);
        let last = pid();
        signal(last.parse().unwrap(), libc::SIGTERM);
        within_a_minute(|| !pid_file.exists());
        assert!(!socket.exists());
    }
}

/// The answer of a server at a port or a path, up to the end of the connection.
fn ask_at(address: &str, requests: &str) -> String {
    fn ask(mut socket: impl Read + Write, requests: &str) -> std::io::Result<String> {
        socket.write_all(format!("{requests}quit\r\n").as_bytes())?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer)?;
        Ok(answer)
    }
    // A server that ends may leave a request without an answer: then it is sent again.
    for _ in 0..100 {
        let answer = if address.starts_with('/') {
            ask(UnixStream::connect(address).unwrap(), requests)
        } else {
            ask(TcpStream::connect(address).unwrap(), requests)
        };
        if let Ok(answer) = answer
            && !answer.is_empty()
        {
            return answer;
        }
    }
    panic!("no answer from {address}");
}

fn within_a_minute(mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_mins(1));
        thread::sleep(Duration::from_millis(5));
    }
}

fn not_handed_over() {
    let folder = tempfile::tempdir().unwrap();
    let users = folder.path().join("users");
    std::fs::write(&users, "ann:secret\n").unwrap();
    let socket = folder.path().join("socket");
    let (users_of, path) = (users.to_str().unwrap(), socket.to_str().unwrap());
    let mut serving = Serving::start(LARDER.as_ref(), &["serve", "-s", path, "-Y", users_of]);
    std::fs::write(&users, "ann\n").unwrap();
    // And again: it may be asked as often as one likes.
    for _ in 0..2 {
        signal(serving.child.id(), libc::SIGUSR2);
        let mut told = String::new();
        // Both processes write to the same place.
        let parts = ["nothing was handed over", "line 1 is not user:password", "not shared"];
        while !parts.iter().all(|part| told.contains(part)) {
            assert!(serving.told.read_line(&mut told).unwrap() > 0, "{told}");
        }
        let asked = "set any 0 0 10\r\nann secret\r\nmn\r\n";
        assert_eq!(ask_at(path, asked), "STORED\r\nMN\r\n");
    }
    assert_eq!(serving.end(libc::SIGTERM).0, Some(0));
    assert!(!socket.exists());
}

fn activated() {
    let folder = tempfile::tempdir().unwrap();
    let (path, notify) = (folder.path().join("socket"), folder.path().join("notify"));
    let notices = UnixDatagram::bind(&notify).unwrap();
    notices.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let mut child = Command::new("systemd-socket-activate")
        .arg(format!("--listen={}", path.display()))
        .args(["--setenv=NOTIFY_SOCKET", LARDER, "serve"])
        .env("NOTIFY_SOCKET", &notify)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    within_a_minute(|| path.exists());
    // The first client starts the server.
    within_a_minute(|| UnixStream::connect(&path).is_ok());
    assert_eq!(ask_at(path.to_str().unwrap(), "set k 0 0 1\r\nv\r\n"), "STORED\r\n");
    let mut told = [0; 200];
    let mut state = || {
        let n = notices.recv(&mut told).unwrap();
        String::from_utf8_lossy(&told[..n]).into_owned()
    };
    assert_contains(&state(), &["READY=1", &format!("MAINPID={}", child.id())]);
    signal(child.id(), libc::SIGTERM);
    assert_contains(&state(), &["STOPPING=1"]);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    // The path is systemd's.
    assert!(path.exists());
}

fn logged() {
    let mut child = Command::new(LARDER)
        .args(["serve", "-p", "0", "-k", "--log", "json", "--slow", "1ns", "--metrics", "0"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap());
    let mut next = || {
        let mut line = String::new();
        told.read_line(&mut line).unwrap();
        serde_json::from_str::<serde_json::Value>(&line).expect(&line)
    };
    let notice = next();
    assert_eq!((&notice["level"], &notice["event"]), (&"warning".into(), &"notice".into()));
    let serving = next();
    assert_eq!(serving["event"], "serving");
    assert_eq!(serving["store"], "memory:?size=64m");
    let address = serving["address"].as_str().unwrap();
    assert!(address.starts_with("127.0.0.1:"));
    assert!(next()["message"].as_str().unwrap().starts_with("metrics are at http://127.0.0.1:"));
    // Each request is slow here; its value is not shown.
    assert_eq!(ask_at(address, "set k 0 0 6\r\nsecret\r\n"), "STORED\r\n");
    let slow = next();
    assert_eq!((&slow["event"], &slow["request"]), (&"slow".into(), &"set k 0 0 6".into()));
    child.kill().unwrap();
    child.wait().unwrap();
}

fn configured() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("larder.toml");
    let text = "store = 'memory:?size=32m'\nport = 0\nthreads = 3\nconn-limit = 77\n\
                max-item-size = '2m'\ndisable-flush-all = true\nextended = ['idle_timeout=9']\n";
    std::fs::write(&file, text).unwrap();
    let start = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut child = Command::new(LARDER)
            .args([&["serve", "--config", file.to_str().unwrap()], arguments].concat())
            .envs(variables.iter().copied())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        told.read_line(&mut line).unwrap();
        let address = line.trim_end().split_once(" on ").map(|(_, address)| address.to_owned());
        let address = address.unwrap_or_default();
        (line, Serving { child, told, notices: Vec::new(), address })
    };
    let (line, serving) = start(&["-t", "1"], &[("LARDER_SERVE_CONN_LIMIT", "78")]);
    assert_contains(&line, &["serving memory:?size=32m"]);
    let settings = serving.ask("stats settings\r\nflush_all\r\n");
    let names = ["num_threads 1", "maxconns 78", "item_size_max 2097152", "idle_timeout 9"];
    assert_contains(&settings, &names);
    assert_contains(&settings, &["flush_all not allowed"]);
    // The store that the command line names is not the file's.
    for (arguments, store) in [(&["memory:?size=17m"][..], "size=17m"), (&["-m", "18"], "size=18m")]
    {
        let (line, _serving) = start(arguments, &[]);
        assert_contains(&line, &[store]);
    }
    let (line, _serving) = start(&[], &[("LARDER_SERVE_MEMORY_LIMIT", "19")]);
    assert_contains(&line, &["size=19m"]);
    // Flags may be switched off, and the command line goes before all.
    let off = [("LARDER_SERVE_DISABLE_FLUSH_ALL", "0"), ("LARDER_SERVE_CONN_LIMIT", "78")];
    let (_, serving) = start(&["-c", "79"], &off);
    let settings = serving.ask("stats settings\r\nflush_all\r\n");
    assert_contains(&settings, &["maxconns 79", "num_threads 3", "OK\r\n"]);
    for (text, told) in [
        ("port = 0\nprot = 1", "there is no option `prot`"),
        ("port = 'x'", "invalid value 'x' for '--port"),
        ("port = true", "port = true: a text, a number"),
        ("port = 0\n= 1", "line 2: "),
        ("disable-flush-all = 'maybe'", "true or false"),
    ] {
        std::fs::write(&file, text).unwrap();
        let (line, mut serving) = start(&[], &[]);
        assert_contains(&line, &[told]);
        assert_eq!(serving.child.wait().unwrap().code(), Some(2));
    }
}

fn shut_down() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache");
    // A file of entries, by memcached's name for it.
    for value in ["END\r\n", "VALUE k 0 1\r\nv\r\nEND\r\n"] {
        let arguments = ["serve", "-p", "0", "-A", "-m", "16", "-e", path.to_str().unwrap()];
        let mut serving = Serving::start(LARDER.as_ref(), &arguments);
        assert_eq!(serving.ask("get k\r\nset k 0 0 1\r\nv\r\n"), format!("{value}STORED\r\n"));
        assert_eq!(serving.ask("shutdown\r\n"), "");
        assert_eq!(serving.child.wait().unwrap().code(), Some(0));
    }
}
