//! A limit of memory: it covers this process and all its children, and nothing of it is left at any end.
//!
//! Every test is a second process: this binary again. An environment variable gives it its task.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]
#![expect(clippy::print_stdout, reason = "how a second process answers the first")]

use std::fs;
use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use larder_host::cgroup::{self, MemoryLimit};
use larder_store::ByteSize;
use larder_testkit::trial_where;
use libtest_mimic::{Arguments, Trial};

/// The task of a second process.
const ROLE: &str = "LARDER_TEST_ROLE";
const LIMIT: ByteSize = ByteSize(64 << 20);

fn main() -> ExitCode {
    if let Ok(role) = std::env::var(ROLE) {
        play(&role);
        return ExitCode::SUCCESS;
    }
    let trials: Vec<Trial> = vec![
        trial_where(may_limit, "all_that_is_started_has_the_limit", || run("start")),
        trial_where(may_limit, "a_process_that_takes_more_is_killed_and_counted", || run("count")),
        trial_where(may_limit, "nothing_is_left_after_kill_9", nothing_is_left_after_kill_9),
        trial_where(may_limit, "nothing_is_left_of_a_process_that_takes_too_much", too_much),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn play(role: &str) {
    match role {
        "try" => drop(enter()),
        "start" => all_that_is_started_has_the_limit(),
        "count" => a_process_that_takes_more_is_killed(),
        "hold" => {
            let _limit = enter();
            let mut sleeper = Command::new("sleep").arg("1000").spawn().unwrap();
            println!("{}\n{}", sleeper.id(), own_group());
            sleeper.wait().unwrap();
        }
        "burst" => {
            let _limit = enter();
            println!("0\n{}", own_group());
            take_too_much();
        }
        "take" => take_too_much(),
        role => panic!("no such role: {role}"),
    }
}

fn enter() -> MemoryLimit {
    MemoryLimit::enter(LIMIT).unwrap()
}

fn role(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(ROLE, role);
    command
}

/// Whether this user may limit memory here.
fn may_limit() -> Result<(), String> {
    let output = role("try").output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    let reason = said.lines().find(|line| line.starts_with("called")).unwrap_or_default();
    if output.status.success() { Ok(()) } else { Err(format!("may not limit memory: {reason}")) }
}

/// Runs a role to its end.
fn run(name: &str) {
    let output = role(name).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The control groups of this process, by `/proc`.
fn groups() -> String {
    fs::read_to_string("/proc/self/cgroup").unwrap()
}

/// The name of the group that this process made.
fn own_group() -> String {
    let groups = groups();
    let mut name = groups.lines().filter_map(|line| line.rsplit('/').next());
    name.rfind(|name| name.starts_with("larder-")).unwrap().to_owned()
}

/// Whether there is a group of this name below a folder.
fn is_there(name: &str, folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.any(|entry| entry.file_name().to_str() == Some(name) || is_there(name, &entry.path()))
}

fn take_too_much() {
    let size = usize::try_from(2 * LIMIT.0).unwrap();
    black_box(vec![1_u8; size]);
}

fn all_that_is_started_has_the_limit() {
    let (before, outer) = (groups(), cgroup::limit_bytes());
    let limit = enter();
    let name = own_group();
    assert_eq!(cgroup::limit_bytes(), Some(LIMIT.0));
    assert!(cgroup::free_bytes().is_some_and(|free| free > 0 && free <= LIMIT.0));
    let child = Command::new("cat").arg("/proc/self/cgroup").output().unwrap();
    assert!(String::from_utf8_lossy(&child.stdout).contains(&name));
    let wider = MemoryLimit::enter(ByteSize(2 * LIMIT.0)).unwrap_err();
    let words = "this process already has a limit of 64 MiB; ask for less, or leave the limit out";
    assert_eq!(wider, words);
    drop(limit);
    assert_eq!((groups(), cgroup::limit_bytes()), (before, outer));
    assert!(!is_there(&name, Path::new("/sys/fs/cgroup")));
}

fn a_process_that_takes_more_is_killed() {
    let _limit = enter();
    assert_eq!(cgroup::n_killed(), Some(0));
    let taker = role("take").status().unwrap();
    assert_eq!((taker.signal(), cgroup::n_killed()), (Some(9), Some(1)));
}

/// The report of a role that makes a group: the id of a process in it, and the name of the group.
fn told(process: &mut Child) -> (u32, String) {
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
    (lines.next().unwrap().parse().unwrap(), lines.next().unwrap())
}

fn assert_soon_gone(name: &str, pid: u32) {
    let deadline = Instant::now() + Duration::from_mins(1);
    let runs = || pid != 0 && Path::new(&format!("/proc/{pid}")).exists();
    while is_there(name, Path::new("/sys/fs/cgroup")) || runs() {
        assert!(Instant::now() < deadline, "{name} or {pid} is still there");
        sleep(Duration::from_millis(5));
    }
}

fn nothing_is_left_after_kill_9() {
    let mut process = role("hold").stdout(Stdio::piped()).spawn().unwrap();
    let (sleeper, name) = told(&mut process);
    assert!(is_there(&name, Path::new("/sys/fs/cgroup")));
    process.kill().unwrap();
    process.wait().unwrap();
    assert_soon_gone(&name, sleeper);
}

fn too_much() {
    let mut process = role("burst").stdout(Stdio::piped()).spawn().unwrap();
    let (_, name) = told(&mut process);
    assert_eq!(process.wait().unwrap().signal(), Some(9));
    assert_soon_gone(&name, 0);
}
