//! File systems that are mounted for a while. They are there, nothing of them is left at any end, and a user without
//! the right gets a clear error.
//!
//! A second process makes the resources that must be gone after a kill: this binary again. An environment variable
//! gives it its task. Without root it has mounts of its own.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]
#![expect(clippy::print_stdout, reason = "how a second process answers the first")]

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::Duration;

use larder_host::mount::Mounted;
use larder_host::place::Place;
use larder_host::scratch::ScratchDir;
use larder_store::{Mount, Result, StoreUrl};
use larder_testkit::{PATIENCE, is_root, may_mount, trial_where, with_mounts, within};
use libtest_mimic::{Arguments, Trial};

/// The task of a second process, and its folder.
const ROLE: &str = "LARDER_TEST_ROLE";
const FOLDER: &str = "LARDER_TEST_FOLDER";

fn main() -> ExitCode {
    if let Ok(role) = std::env::var(ROLE) {
        let folder = std::env::var_os(FOLDER).unwrap();
        play(&role, Path::new(&folder));
        return ExitCode::SUCCESS;
    }
    let trials: Vec<Trial> = vec![
        trial_where(may_mount, "a_mount_is_private_and_unmounted_again", || run("use")),
        trial_where(may_mount, "a_mount_that_is_still_in_use_is_out_of_sight", || run("busy")),
        trial_where(may_mount, "a_url_says_where_it_is_mounted", || run("place")),
        trial_where(may_mount, "nothing_is_left_after_kill_9", nothing_is_left_after_kill_9),
        trial_where(may_mount, "nothing_is_left_whenever_it_is_killed", whenever_it_is_killed),
        trial_where(may_mount, "a_user_without_root_is_told_how_to_mount", || run("no root")),
        trial_where(may_mount, "root_without_the_right_is_told_too", root_without_the_right),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn play(role: &str, folder: &Path) {
    match role {
        "use" => a_mount_is_private(folder),
        "busy" => a_mount_that_is_still_in_use(folder),
        "place" => a_url_says_where(folder),
        "hold" => hold(folder),
        "churn" => loop {
            let first = mount(folder, "tmpfs:1m").unwrap();
            println!("one");
            drop(first);
            println!("none");
            let _kept = (mount(folder, "tmpfs:1m").unwrap(), mount(folder, "ramfs").unwrap());
            println!("two");
        },
        "no root" => without_root(folder),
        "refused" => {
            let refused = mount(folder, "ramfs").unwrap_err().to_string();
            assert!(refused.contains("mounting ramfs needs root: run as root, or"), "{refused}");
            // The folder is empty before the watchdog looks.
            assert!(is_empty(folder), "{refused}");
        }
        role => panic!("no such role: {role}"),
    }
}

fn mount(folder: &Path, what: &str) -> Result<Mounted> {
    Mounted::create_in("test", folder, what.parse().unwrap())
}

/// This binary in a role, with the right to mount.
fn role(role: &str, folder: &Path) -> Command {
    let program = std::env::current_exe().unwrap();
    let mut command = if is_root() { Command::new(program) } else { with_mounts(program) };
    command.env(ROLE, role).env(FOLDER, folder);
    command
}

/// Runs a role to its end, and checks that it leaves nothing.
fn run(name: &str) {
    let folder = ScratchDir::create("test").unwrap();
    let output = role(name, folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(is_empty(folder.path()));
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

/// The line of `mountinfo` for the mount on this directory.
fn line_of(path: &Path) -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let point = |line: &str| line.split(' ').nth(4).map(PathBuf::from);
    mounts.lines().find(|line| point(line).as_deref() == Some(path)).map(String::from)
}

fn a_mount_is_private(folder: &Path) {
    for (what, limit) in [("tmpfs:1m", Some(1 << 20)), ("ramfs:1m", None), ("ramfs", None)] {
        let mounted = mount(folder, what).unwrap();
        let path = mounted.path().to_owned();
        let line = line_of(&path).unwrap();
        let kind = what.split(':').next().unwrap();
        for part in [&format!("- {kind} "), "nosuid", "nodev", "noexec"] {
            assert!(line.contains(part), "`{part}` is not in {line}");
        }
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o700);
        assert_eq!(mounted.limit_bytes(), limit);
        let written = fs::write(path.join("file"), vec![1; 3 << 20]);
        assert_eq!(written.is_err(), limit.is_some(), "{what}: {written:?}");
        drop(mounted);
        assert!(line_of(&path).is_none() && !path.exists());
    }
    // The kernel sets a limit of its own, which is reported.
    let half = mount(folder, "tmpfs").unwrap();
    assert!(half.limit_bytes() > Some(1 << 20), "{half:?}");
}

fn a_mount_that_is_still_in_use(folder: &Path) {
    let mounted = mount(folder, "tmpfs:1m").unwrap();
    let path = mounted.path().to_owned();
    let _open = File::create(path.join("file")).unwrap();
    drop(mounted);
    assert!(line_of(&path).is_none() && !path.exists());
}

fn a_url_says_where(folder: &Path) {
    let url = |text: &str| StoreUrl::parse(text).unwrap();
    let on = |text: &str, what| Place::on("test", &url(text), what);
    let tmpfs: Mount = "tmpfs:1m".parse().unwrap();
    let place = on(&format!("test:{}", folder.display()), Some(tmpfs)).unwrap();
    assert_eq!(place.path().parent(), Some(folder));
    assert_eq!((place.mount(), place.limit_bytes()), (Some(tmpfs), Some(1 << 20)));
    assert!(place.file_system().is_some_and(|system| system.is_own && system.kind == "tmpfs"));
    let place = on("test:", Some(tmpfs)).unwrap();
    assert_eq!(place.path().parent(), Some(&*std::env::temp_dir()));
    let place = on("test:", None).unwrap();
    assert_eq!((place.mount(), place.limit_bytes()), (None, None));
    assert!(place.file_system().is_some_and(|system| !system.is_own));
    let nowhere = on("test:/no/such/folder", Some(tmpfs)).unwrap_err().to_string();
    assert!(nowhere.contains("there is no folder"), "{nowhere}");
}

/// Holds file systems with open files in them, prints their paths, and waits to be killed.
fn hold(folder: &Path) -> ! {
    let both = ["tmpfs:1m", "ramfs"].map(|what| mount(folder, what).unwrap());
    let _open = both.each_ref().map(|mounted| File::create(mounted.path().join("file")).unwrap());
    for mounted in &both {
        println!("{}", mounted.path().display());
    }
    println!("ready");
    loop {
        sleep(Duration::from_secs(1000));
    }
}

fn kill(mut process: Child) {
    process.kill().unwrap();
    process.wait().unwrap();
}

fn nothing_is_left_after_kill_9() {
    let folder = ScratchDir::create("test").unwrap();
    let mut process = role("hold", folder.path()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
    let paths: Vec<PathBuf> = lines.take_while(|line| line != "ready").map(PathBuf::from).collect();
    // Mounts of another namespace are not visible here. It is enough that their directories can be removed.
    let there = |path: &PathBuf| path.is_dir() && line_of(path).is_some() == is_root();
    assert!(paths.len() == 2 && paths.iter().all(there), "{paths:?}");
    kill(process);
    let gone = |path: &PathBuf| !path.exists() && line_of(path).is_none();
    assert!(within(PATIENCE, || paths.iter().all(gone)), "{paths:?}");
}

fn whenever_it_is_killed() {
    let folder = ScratchDir::create("test").unwrap();
    let mut n_met = 0;
    for round in 0..12 {
        let mut process = role("churn", folder.path()).stdout(Stdio::piped()).spawn().unwrap();
        // Some rounds kill the process before its first step.
        let mut steps = BufReader::new(process.stdout.take().unwrap()).lines();
        for _ in 0..round % 4 {
            steps.next().unwrap().unwrap();
        }
        sleep(Duration::from_micros(round / 4 * 4300));
        n_met += usize::from(!is_empty(folder.path()));
        kill(process);
        assert!(within(PATIENCE, || is_empty(folder.path())), "round {round}");
    }
    assert!(n_met > 0, "each process was killed when it had no mount");
}

/// Becomes a user without the right to mount, for good.
fn without_root(folder: &Path) {
    const NOBODY: libc::uid_t = 65534;
    // A namespace with one user lacks this user, so the call fails there. The user of the tests must then not be root.
    // SAFETY: these calls take numbers as arguments and touch no memory of this process.
    let changed = unsafe { libc::setresuid(NOBODY, NOBODY, NOBODY) };
    if changed != 0 {
        assert!(!is_root(), "{}", std::io::Error::last_os_error());
        return;
    }
    let refused = mount(folder, "tmpfs:64m").unwrap_err().to_string();
    for part in [
        "test: mounting tmpfs needs root: run as root, ",
        "sudo mount -t tmpfs -o size=64m,mode=1777 tmpfs /mnt/cache",
    ] {
        assert!(refused.contains(part) && !refused.contains('\n'), "`{part}`: {refused}");
    }
}

/// The kernel refuses in a user namespace without a mount namespace of its own, although the user is root there.
fn root_without_the_right() {
    let folder = ScratchDir::create("test").unwrap();
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user"]).arg(std::env::current_exe().unwrap());
    let output = command.env(ROLE, "refused").env(FOLDER, folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
