//! A folder in which a test runs `larder`, and checks of its remaining files and processes.

use std::fmt::Debug;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use larder_report::Run;
use larder_testkit::{PATIENCE, signal_group, within};
use tempfile::TempDir;

/// A separate folder for one test. Larder works in it and has its temporary directory there. Every process that larder
/// starts inherits this directory in its environment, and is recognised by it.
#[derive(Debug)]
pub(crate) struct Scene(TempDir);

impl Scene {
    pub(crate) fn new() -> Self {
        // A server that runs as another user needs access.
        let everybody = fs::Permissions::from_mode(0o755);
        let scene = Self(tempfile::Builder::new().permissions(everybody).tempdir().unwrap());
        fs::create_dir(scene.path("tmp")).unwrap();
        scene
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file into the folder.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    /// A program that works in the folder.
    ///
    /// Tests measure one plan after another into `out`, each in the place of the one before.
    fn command(&self, program: impl AsRef<Path>, arguments: &[&str]) -> Command {
        let mut command = Command::new(program.as_ref());
        command.args(arguments).current_dir(self.0.path()).env("TMPDIR", self.path("tmp"));
        let into_out = arguments.windows(2).any(|pair| pair == ["-o", "out"]);
        if into_out && arguments.contains(&"compare") {
            command.arg("--overwrite");
        }
        command
    }

    /// Runs `larder` to its end.
    pub(crate) fn larder(&self, arguments: &[&str]) -> Answer {
        answer(self.command(LARDER, arguments))
    }

    /// The same on a machine without installed programs.
    pub(crate) fn larder_alone(&self, arguments: &[&str]) -> Answer {
        let mut command = self.command(LARDER, arguments);
        command.env("PATH", self.path("tmp"));
        answer(command)
    }

    /// Runs a shell script, in which `$LARDER` is the binary.
    pub(crate) fn shell(&self, program: &str, arguments: &[&str]) -> Answer {
        let mut command = self.command(program, arguments);
        command.env("LARDER", LARDER);
        answer(command)
    }

    /// Starts `larder` in a process group of its own, as a shell does for a command.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        let mut command = self.command(LARDER, arguments);
        command.process_group(0).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let progress = BufReader::new(process.stderr.take().unwrap());
        Running { process, progress }
    }

    /// The `run.json` of a run with `-o out`.
    pub(crate) fn run_json(&self) -> Run {
        serde_json::from_str(&fs::read_to_string(self.path("out/run.json")).unwrap()).unwrap()
    }

    /// The processes that larder has started here, and larder itself, each with its name. A zombie has no environment,
    /// so it is missing here.
    pub(crate) fn processes(&self) -> Vec<(u32, String)> {
        let ours = format!("TMPDIR={}\0", self.path("tmp").display()).into_bytes();
        let process = |entry: fs::DirEntry| {
            let environment = fs::read(entry.path().join("environ")).ok()?;
            let here = environment.windows(ours.len()).any(|part| part == ours);
            let name = fs::read_to_string(entry.path().join("comm")).ok()?;
            let pid = entry.file_name().to_str()?.parse().ok()?;
            here.then(|| (pid, name.trim().to_owned()))
        };
        fs::read_dir("/proc").unwrap().flatten().filter_map(process).collect()
    }

    /// The memcached servers among these processes.
    pub(crate) fn memcacheds(&self) -> Vec<u32> {
        let of_memcached = |(pid, name): (u32, String)| (name == "memcached").then_some(pid);
        self.processes().into_iter().filter_map(of_memcached).collect()
    }

    /// The files in a folder of the scene.
    pub(crate) fn files(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).unwrap().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    /// Checks that soon no server and no temporary file of larder is left, and then no cleaning process. On an idle
    /// machine this takes a second.
    #[track_caller]
    pub(crate) fn assert_nothing_left(&self) {
        let left = || (self.memcacheds(), self.files("tmp"));
        let gone = within(PATIENCE, || left() == (Vec::new(), Vec::new()));
        assert!(gone, "left behind: {:?}", left());
        let ended = within(PATIENCE, || self.processes().is_empty());
        assert!(ended, "still running: {:?}", self.processes());
    }
}

pub(crate) const LARDER: &str = env!("CARGO_BIN_EXE_larder");

/// The exit code and the output of a program.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

fn answer(command: Command) -> Answer {
    let output = assert_cmd::Command::from_std(command).timeout(PATIENCE).output().unwrap();
    Answer {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

impl Answer {
    /// Checks the exit code.
    #[track_caller]
    pub(crate) fn ends_with(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Checks that the program printed nothing and complained in one line that contains all these parts.
    #[track_caller]
    pub(crate) fn complains(&self, parts: &[&str]) -> &Self {
        assert!(self.out.is_empty() && self.err.lines().count() == 1, "{self:#?}");
        assert!(self.err.starts_with("larder: "), "{self:#?}");
        // The system's own words appear once, and not again for each layer that passes them on.
        assert!(self.err.matches("(os error").count() <= 1, "{self:#?}");
        for part in parts {
            assert!(self.err.contains(part), "`{part}` is missing: {self:#?}");
        }
        self
    }

    /// The output, read as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// A running larder.
#[derive(Debug)]
pub(crate) struct Running {
    process: Child,
    progress: BufReader<ChildStderr>,
}

impl Running {
    /// Reads its progress up to a line with this beginning.
    #[track_caller]
    pub(crate) fn reaches(&mut self, beginning: &str) {
        let lines = self.progress.by_ref().lines().map(Result::unwrap);
        let mut seen = Vec::new();
        for line in lines {
            if line.starts_with(beginning) {
                return;
            }
            seen.push(line);
        }
        panic!("it never said `{beginning}`, but {seen:#?}");
    }

    /// Sends a signal to its process group, as a terminal does.
    pub(crate) fn signal(&self, signal: libc::c_int) {
        signal_group(self.pid(), signal);
    }

    /// Its process id, which is the id of its group too.
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Calls this again and again until larder has ended, and returns its exit code.
    #[track_caller]
    pub(crate) fn ends_after(&mut self, again: impl Fn(&Self)) -> Option<i32> {
        let mut status = None;
        let ended = within(PATIENCE, || {
            status = self.process.try_wait().unwrap();
            if status.is_none() {
                again(self);
                sleep(Duration::from_millis(100));
            }
            status.is_some()
        });
        if !ended {
            self.process.kill().unwrap();
            panic!("it did not end within {PATIENCE:?}");
        }
        status.unwrap().code()
    }

    /// The rest of its output, after it has ended.
    pub(crate) fn rest(&mut self) -> String {
        let mut rest = String::new();
        self.progress.read_to_string(&mut rest).unwrap();
        rest
    }

    /// Waits for its end, and returns its exit code: `None` when a signal ended it.
    #[track_caller]
    pub(crate) fn ends(mut self) -> Option<i32> {
        self.ends_after(|_| ())
    }
}

/// Checks that a text contains all these parts.
#[track_caller]
pub(crate) fn assert_contains(text: &str, parts: &[impl AsRef<str> + Debug]) {
    for part in parts {
        assert!(text.contains(part.as_ref()), "{part:?} is not in:\n{text}");
    }
}
