//! Managed servers: their start, their errors, and their end, which leaves nothing.
//!
//! A second process makes the resources that must be gone after a kill: this binary again. An environment variable
//! gives it its task.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]
#![expect(clippy::print_stdout, reason = "how a second process answers the first")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use larder_host::managed::{self, Server};
use larder_host::scratch::ScratchDir;
use larder_store::Recipe;
use larder_testkit::{
    PATIENCE, has_program, is_running, signal, signal_group, trial_where, within,
};
use libtest_mimic::{Arguments, Trial};

/// The server of these tests.
const MEMCACHED: Recipe = Recipe::server("memcached", "memcached");

/// The task of a second process.
const ROLE: &str = "LARDER_TEST_ROLE";

/// The port of a second process that listens.
const PORT: &str = "LARDER_TEST_PORT";

/// A trial that needs the program of `recipe`.
fn trial_with(recipe: &'static Recipe, name: &str, run: fn()) -> Trial {
    trial_where(|| has_program(recipe), name, run)
}

fn main() -> ExitCode {
    match std::env::var(ROLE).as_deref() {
        Ok("hold") => hold(),
        Ok("churn") => churn(),
        Ok("listen") => return listen(),
        _ => {}
    }
    let trial = |name: &str, run: fn()| {
        Trial::test(name, move || {
            run();
            Ok(())
        })
    };
    let trials = vec![
        trial("a_server_is_gone_after_drop", a_server_is_gone_after_drop),
        trial("a_server_is_gone_after_a_panic", a_server_is_gone_after_a_panic),
        trial("children_of_a_server_are_gone_too", children_of_a_server_are_gone_too),
        trial("a_server_that_will_not_end_is_killed", a_server_that_will_not_end_is_killed),
        trial("a_server_with_nothing_to_save_ends_at_once", a_server_with_nothing_to_save),
        trial("nothing_is_left_after_kill_9", nothing_is_left_after_kill_9),
        trial("nothing_is_left_after_ctrl_c", nothing_is_left_after_ctrl_c),
        trial("nothing_is_left_whenever_it_is_killed", nothing_is_left_whenever_it_is_killed),
        trial("a_program_that_ends_at_once_is_quoted", a_program_that_ends_at_once_is_quoted),
        trial("a_program_that_never_answers_is_not_awaited", a_program_that_never_answers),
        trial("a_missing_program_names_its_package", a_missing_program_names_its_package),
        trial("a_program_that_cannot_run_says_so", a_program_that_cannot_run_says_so),
        trial("a_port_that_is_held_is_left_for_another", a_port_that_is_held),
        trial_with(&MEMCACHED, "a_port_in_use_is_told", a_port_in_use_is_told),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// A server that runs this shell script.
fn server(script: &str) -> Server {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]);
    let directory = ScratchDir::create("test").unwrap();
    Server::start("test", command, directory, None).unwrap()
}

/// The number in a file that a server's script has written into its directory.
fn number_in(server: &mut Server, file: &str) -> u32 {
    let path = server.directory().join(file);
    server.answer(PATIENCE, || fs::read_to_string(&path).ok()?.trim().parse().ok()).unwrap()
}

fn a_server_is_gone_after_drop() {
    let server = server("exec sleep 1000");
    let (pid, directory) = (server.pid(), server.directory().to_owned());
    assert!(is_running(&pid.to_string()) && directory.exists());
    drop(server);
    assert!(!is_running(&pid.to_string()) && !directory.exists());
}

fn a_server_is_gone_after_a_panic() {
    let mut left = None;
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let server = server("exec sleep 1000");
        left = Some((server.pid(), server.directory().to_owned()));
        // Unlike `panic!`, this prints nothing that looks like a failure.
        std::panic::resume_unwind(Box::new("a test panics on purpose"));
    }));
    let (pid, directory) = left.unwrap();
    assert!(panicked.is_err() && !is_running(&pid.to_string()) && !directory.exists());
}

fn children_of_a_server_are_gone_too() {
    let mut server = server("sleep 1000 & echo $! > child; wait");
    let child = number_in(&mut server, "child");
    assert!(is_running(&child.to_string()));
    drop(server);
    assert!(within(PATIENCE, || !is_running(&child.to_string())));
}

fn a_server_that_will_not_end_is_killed() {
    let mut server = server("trap '' TERM; echo 1 > ready; while :; do sleep 0.1; done");
    number_in(&mut server, "ready");
    let pid = server.pid();
    let start = Instant::now();
    drop(server);
    assert!(
        !is_running(&pid.to_string()) && start.elapsed() < Duration::from_mins(1),
        "{:?}",
        start.elapsed()
    );
}

fn a_server_with_nothing_to_save() {
    let notes = ScratchDir::create("test").unwrap();
    let file = notes.path().join("asked");
    let script = "trap 'echo >> $ASKED' TERM; echo 1 > ready; while :; do sleep 0.1; done";
    let mut server = server(&format!("ASKED={}; {script}", file.display()));
    number_in(&mut server, "ready");
    let pid = server.pid();
    let n_asked = || fs::read_to_string(&file).unwrap_or_default().len();
    // This server notes each request to end.
    signal(pid, libc::SIGTERM);
    assert!(within(PATIENCE, || n_asked() == 1), "{}", n_asked());
    drop(server.without_grace());
    assert_eq!((is_running(&pid.to_string()), n_asked()), (false, 1));
}

/// The role of a second process that holds servers, prints them, and waits to be killed.
fn hold() -> ! {
    // A shell that runs the tests in the background lets all their children ignore Ctrl-C.
    // SAFETY: the default action is no function of this program, and no other thread runs yet.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
    let plain = server("exec sleep 1000");
    let mut stubborn = server("trap '' TERM HUP; echo 1 > ready; while :; do sleep 0.1; done");
    number_in(&mut stubborn, "ready");
    for server in [&plain, &stubborn] {
        println!("{} {}", server.pid(), server.directory().display());
    }
    println!("ready");
    loop {
        sleep(Duration::from_secs(1000));
    }
}

/// Starts this binary in a role and a process group of its own, as a shell does for a command.
fn second_process(role: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .env(ROLE, role)
        .process_group(0)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The servers of a process in the role `hold`, after it has printed them.
fn held(process: &mut Child) -> Vec<(u32, PathBuf)> {
    let lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
    lines
        .take_while(|line| line != "ready")
        .map(|line| {
            let (pid, directory) = line.split_once(' ').unwrap();
            (pid.parse().unwrap(), directory.into())
        })
        .collect()
}

fn assert_gone_soon(servers: &[(u32, PathBuf)]) {
    assert_eq!(servers.len(), 2);
    let gone = || {
        servers.iter().all(|(pid, directory)| !is_running(&pid.to_string()) && !directory.exists())
    };
    assert!(within(PATIENCE, gone), "{servers:?}");
}

fn nothing_is_left_after_kill_9() {
    let mut process = second_process("hold");
    let servers = held(&mut process);
    assert!(
        servers.iter().all(|(pid, directory)| is_running(&pid.to_string()) && directory.exists())
    );
    process.kill().unwrap();
    process.wait().unwrap();
    assert_gone_soon(&servers);
}

fn nothing_is_left_after_ctrl_c() {
    let mut process = second_process("hold");
    let servers = held(&mut process);
    // A terminal sends the signal to the whole foreground group.
    signal_group(process.id(), libc::SIGINT);
    assert_eq!(process.wait().unwrap().signal(), Some(2));
    assert_gone_soon(&servers);
}

/// The role of a second process that makes and drops servers all the time, and prints a line with each step.
fn churn() -> ! {
    loop {
        let first = server("exec sleep 1000");
        println!("one");
        drop(first);
        println!("none");
        let _kept = (server("exec sleep 1000"), server("exec sleep 1000"));
        println!("two");
    }
}

fn nothing_is_left_whenever_it_is_killed() {
    // The rounds wait for their processes, so they run at once.
    let n_met: usize = thread::scope(|scope| {
        let rounds: Vec<_> = (0..25).map(|round| scope.spawn(move || kill_within(round))).collect();
        rounds.into_iter().map(|met| usize::from(met.join().unwrap())).sum()
    });
    assert!(n_met > 0, "each process was killed when it had no server");
}

/// Kills a process that starts and ends servers, at a moment that the round chooses. Whether it had any at that moment.
fn kill_within(round: u64) -> bool {
    let mut process = second_process("churn");
    let id = process.id();
    // Some rounds kill the process before its first step.
    let mut steps = BufReader::new(process.stdout.take().unwrap()).lines();
    for _ in 0..round % 5 {
        steps.next().unwrap().unwrap();
    }
    sleep(Duration::from_micros(round / 5 * 2100));
    let left = || directories_of(id).len() + processes_in(&format!("/larder-{id}-"));
    let had_some = left() > 0;
    process.kill().unwrap();
    process.wait().unwrap();
    assert!(within(PATIENCE, || left() == 0), "{:?}", directories_of(id));
    had_some
}

/// The scratch directories of a process.
fn directories_of(pid: u32) -> Vec<PathBuf> {
    let prefix = format!("larder-{pid}-");
    let entries = fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
        .map(|entry| entry.path())
        .collect()
}

/// The number of processes with this text in the path of their working directory. The path stays after the directory is
/// removed.
fn processes_in(part: &str) -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let works_there = |process: &Path| {
        fs::read_link(process.join("cwd"))
            .is_ok_and(|directory| directory.to_string_lossy().contains(part))
    };
    entries.filter(|entry| works_there(&entry.path())).count()
}

/// Checks that a message is one line that contains all these parts.
fn assert_one_line(message: &str, parts: &[&str]) {
    assert!(!message.contains('\n'), "{message}");
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

fn a_program_that_ends_at_once_is_quoted() {
    let mut server = server("echo 'bad option: q' >&2; exit 3");
    let answer = server.answer(PATIENCE, || None::<()>);
    let message = answer.unwrap_err().to_string();
    assert_one_line(&message, &["test: sh ended at once", "exit status 3", "bad option: q"]);
}

fn a_program_that_never_answers() {
    let mut server = server("echo 'still loading'; exec sleep 1000");
    let answer = server.answer(Duration::from_millis(300), || None::<()>);
    let message = answer.unwrap_err().to_string();
    assert_one_line(&message, &["sh did not answer within 300ms", "still loading"]);
}

fn a_missing_program_names_its_package() {
    let recipe = Recipe::server("larder-no-such-server", "no-such-package");
    let message = managed::find("test", &recipe).unwrap_err().to_string();
    assert_eq!(
        message,
        "test: larder-no-such-server is not installed: apt-get install no-such-package"
    );
}

fn a_program_that_cannot_run_says_so() {
    let directory = ScratchDir::create("test").unwrap();
    let path = directory.path().to_owned();
    let error = Server::start("test", Command::new("/dev/null"), directory, None).unwrap_err();
    assert_one_line(&error.to_string(), &["test: null could not be started", "denied"]);
    assert!(!path.exists());
}

fn a_port_in_use_is_told() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let mut command = Command::new(managed::find("test", &MEMCACHED).unwrap());
    command.args(["-u", "nobody", "-l", "127.0.0.1", "-p", &port]);
    let directory = ScratchDir::create("test").unwrap();
    let mut server = Server::start("test", command, directory, None).unwrap();
    let answer = server.answer(PATIENCE, || None::<()>);
    let message = answer.unwrap_err().to_string();
    assert_one_line(&message, &["memcached ended at once", "Address already in use"]);
}

/// The role of a server that listens on a port, or fails with the messages that PostgreSQL prints then.
fn listen() -> ExitCode {
    let port = std::env::var(PORT).unwrap();
    match TcpListener::bind(format!("127.0.0.1:{port}")) {
        Ok(_listener) => {
            println!("ready");
            loop {
                sleep(Duration::from_secs(1000));
            }
        }
        Err(error) => {
            println!("LOG:  could not bind IPv4 address \"127.0.0.1\": {error}");
            println!("HINT:  Is another postmaster already running on port {port}?");
            println!("WARNING:  could not create listen socket for \"127.0.0.1\"");
            println!(
                "FATAL:  could not create any TCP/IP sockets\nLOG:  database system is shut down"
            );
            ExitCode::FAILURE
        }
    }
}

/// Starts a server that listens on this port.
fn listener(port: u16) -> larder_store::Result<Server> {
    let directory = ScratchDir::create("port")?;
    let log = directory.path().join("server.log");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(ROLE, "listen").env(PORT, port.to_string());
    let mut server = Server::start("test", command, directory, None)?.without_grace();
    server.answer(PATIENCE, || {
        let log = fs::read_to_string(&log).ok()?;
        log.lines().any(|line| line == "ready").then_some(())
    })?;
    Ok(server)
}

fn a_port_that_is_held() {
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let held = holder.local_addr().unwrap().port();
    let mut ports = vec![held, held];
    let mut n_attempts = 0;
    let server = managed::on_free_port(|| {
        n_attempts += 1;
        let port = ports.pop().map_or_else(|| managed::free_port("test"), Ok)?;
        assert!(n_attempts < 3 || port != held);
        listener(port)
    });
    assert!(server.is_ok() && n_attempts == 3, "{n_attempts}: {server:?}");
    drop(holder);
}
