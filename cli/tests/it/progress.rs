//! The view of a person who waits at a terminal, and the terminal's state after it.

use std::io::{Read, Write};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};

use larder_testkit::{PATIENCE, signal, within};
use pty_process::Size;
use pty_process::blocking::{Command, Pty, open};

use crate::scene::Scene;
use crate::{Case, NOTHING};

pub(crate) const CASES: &[Case] = &[
    (NOTHING, "a_terminal_shows_the_rounds_while_they_run_and_nothing_of_it_afterwards", shown),
    (NOTHING, "a_terminal_that_becomes_narrower_is_drawn_again", resized),
    (NOTHING, "the_text_that_a_shell_wrote_during_a_stop_stays", continued),
    (NOTHING, "after_ctrl_c_the_terminal_has_the_results_and_a_cursor", ctrl_c),
    (NOTHING, "an_error_stands_alone_on_the_terminal", failed),
    (NOTHING, "a_check_is_shown_as_soon_as_it_fires", fired),
    (NOTHING, "a_terminal_without_unicode_or_colours_gets_neither", plain),
    (NOTHING, "quiet_is_silent_on_a_terminal_and_a_dumb_one_gets_lines", quiet),
];

/// Enough rows that the screen never scrolls.
const ROWS: u16 = 200;
/// A run that no test waits for.
const ENDLESS: [&str; 6] = ["-k", "2000", "-r", "1000", "-o", "out"];

/// A larder on a terminal of its own.
struct OnTerminal {
    child: Child,
    pty: Pty,
    written: Receiver<Vec<u8>>,
    emulator: vt100::Parser,
    /// All output so far.
    all: String,
}

impl OnTerminal {
    fn start(
        scene: &Scene,
        columns: u16,
        environment: &[(&str, &str)],
        arguments: &[&str],
    ) -> Self {
        let (pty, inside) = open().unwrap();
        pty.resize(Size::new(ROWS, columns)).unwrap();
        let usual = [("TERM", "xterm-256color"), ("LC_ALL", "C.UTF-8")];
        let child = Command::new(env!("CARGO_BIN_EXE_larder"))
            .args(arguments)
            .current_dir(scene.path("."))
            .env_remove("NO_COLOR")
            .envs(usual.iter().chain(environment).copied())
            .env("TMPDIR", scene.path("tmp"))
            .spawn(inside)
            .unwrap();
        let mut reader =
            std::fs::File::from(std::os::fd::AsFd::as_fd(&pty).try_clone_to_owned().unwrap());
        let (sender, written) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // When the last process has closed its end, reading is an error.
            while let Ok(read @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        let size = |size: u16| size.try_into().unwrap();
        let emulator = vt100::Parser::new(size(ROWS), size(columns), 0);
        Self { child, pty, written, emulator, all: String::new() }
    }

    fn screen(&self) -> String {
        self.emulator.screen().contents()
    }

    /// Waits until the text on the screen fulfils this condition, and returns the text.
    #[track_caller]
    fn until(&mut self, so: impl Fn(&str) -> bool) -> String {
        while !so(&self.screen()) {
            match self.written.recv_timeout(PATIENCE) {
                Ok(bytes) => self.take(&bytes),
                Err(error) => panic!("{error}:\n{}\n{:?}", self.screen(), self.all),
            }
        }
        self.screen()
    }

    /// Waits for the end of larder, and returns the exit code and the text on the screen.
    #[track_caller]
    fn ends(&mut self) -> (Option<i32>, String) {
        while let Ok(bytes) = self.written.recv_timeout(PATIENCE) {
            self.take(&bytes);
        }
        assert!(!self.emulator.screen().hide_cursor() && !self.all.contains("\x1b[?25l"));
        (self.child.wait().unwrap().code(), self.screen())
    }

    fn take(&mut self, bytes: &[u8]) {
        self.emulator.process(bytes);
        self.all.push_str(&String::from_utf8_lossy(bytes));
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        // Larder has ended, unless the test has failed.
        let _ = self.child.kill();
    }
}

fn shown() {
    let scene = Scene::new();
    let arguments =
        ["compare", "moka:", "lmdb:?name=on-disk", "-k", "2000", "-r", "6", "-o", "out"];
    let mut larder = OnTerminal::start(&scene, 80, &[], &arguments);
    let seen = larder.until(|screen| screen.contains("round 4 of 6"));
    for part in [" left", "turns", "set", "get", "moka:", "on-disk", "k/s", "█"] {
        assert!(seen.contains(part), "`{part}` is missing:\n{seen}");
    }
    assert!(seen.starts_with('━') && seen.lines().count() <= 5, "{seen}");
    let (code, left) = larder.ends();
    assert_eq!(code, Some(0), "{left}");
    assert!(left.starts_with("larder ") && left.contains("results: out\n"), "{left}");
    // The last line is the next step, which may be broken at the width of the terminal.
    let last = left.rsplit_once("results: out\n").unwrap().1;
    assert!(last.starts_with("next: out/report.html has the charts; "), "{left}");
    assert!(!left.contains("turns"), "{left}");
    scene.assert_nothing_left();
}

fn resized() {
    let scene = Scene::new();
    let mut larder =
        OnTerminal::start(&scene, 80, &[], &[&["compare", "moka:"], &ENDLESS[..]].concat());
    larder.until(|screen| screen.contains("turns"));
    larder.pty.resize(Size::new(10, 30)).unwrap();
    larder.emulator.screen_mut().set_size(10.try_into().unwrap(), 30.try_into().unwrap());
    larder.until(|screen| screen.starts_with("round ") && !screen.contains("turns"));
    larder.pty.write_all(b"\x03").unwrap();
    assert_eq!(larder.ends().0, Some(130));
}

fn continued() {
    let scene = Scene::new();
    // With turns of this length the view is seldom drawn once a turn has begun, so the stop does not meet a view that is
    // half drawn.
    let long = ["compare", "moka:", "-k", "200k", "-r", "1000", "-o", "out"];
    let mut larder = OnTerminal::start(&scene, 80, &[], &long);
    larder.until(|screen| screen.contains("turns") && screen.contains("▸ moka:"));
    let process = larder.child.id();
    signal(process, libc::SIGSTOP);
    let stopped = || {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
        stat.rsplit(") ").next().unwrap().starts_with('T')
    };
    assert!(within(PATIENCE, stopped));
    // The shell writes to the same terminal.
    let terminal = std::fs::OpenOptions::new().write(true).open(format!("/proc/{process}/fd/2"));
    terminal.unwrap().write_all(b"$ fg\n").unwrap();
    signal(process, libc::SIGCONT);
    larder.until(|screen| {
        screen
            .split_once("$ fg\n")
            .is_some_and(|(above, below)| above.contains("turns") && below.contains("turns"))
    });
    // This is a signal and no Ctrl-C: on Ctrl-C a terminal drops unshown output, perhaps a part of a view.
    signal(process, libc::SIGINT);
    let (code, left) = larder.ends();
    assert_eq!(code, Some(130), "{left}");
    let below = left.split_once("$ fg\n").map_or("nothing", |(_, below)| below);
    assert!(below.starts_with("larder ") && !below.contains("turns"), "{left}");
}

fn ctrl_c() {
    let scene = Scene::new();
    let targets = ["compare", "moka:", "lmdb:", "file:"];
    let mut larder = OnTerminal::start(&scene, 100, &[], &[&targets, &ENDLESS[..]].concat());
    larder.until(|screen| screen.contains("round 3 of 1000"));
    larder.pty.write_all(b"\x03").unwrap();
    let (code, left) = larder.ends();
    assert_eq!(code, Some(130), "{left}");
    assert!(left.starts_with("larder ") && !left.contains("turns"), "{left}");
    scene.assert_nothing_left();
}

fn failed() {
    let scene = Scene::new();
    let arguments = ["compare", "moka:", "lmdb:/nowhere?bogus=1", "-k", "9", "-o", "out"];
    let mut larder = OnTerminal::start(&scene, 200, &[], &arguments);
    let (code, left) = larder.ends();
    assert_eq!(code, Some(2), "{left}");
    assert!(left.starts_with("larder: ") && left.lines().count() == 1, "{left}");
}

fn fired() {
    let scene = Scene::new();
    let targets = ["compare", "moka:?size=100k", "null:"];
    let mut larder = OnTerminal::start(&scene, 100, &[], &[&targets, &ENDLESS[..]].concat());
    let seen = larder.until(|screen| screen.contains("checks so far: 2 warnings"));
    assert!(seen.contains("\n! CAPACITY (2) moka:?size=100k, get: working set "), "{seen}");
    larder.pty.write_all(b"\x03").unwrap();
    larder.ends();

    // Without a terminal, each finding is one line for any number of rounds.
    let arguments = [&targets[..], &["-k", "2000", "-r", "3", "-o", "out"]].concat();
    let answer = scene.larder(&arguments);
    let lines =
        answer.err.lines().filter(|line| line.starts_with("so far, warning CAPACITY: moka:"));
    assert_eq!(lines.count(), 2, "{answer:#?}");
    assert!(!answer.err.contains("CLIENT-COST"), "{answer:#?}");
}

fn plain() {
    let scene = Scene::new();
    let targets = ["compare", "moka:?size=100k", "lmdb:"];
    let environment = [("NO_COLOR", "1"), ("LC_ALL", "C")];
    let mut larder =
        OnTerminal::start(&scene, 80, &environment, &[&targets, &ENDLESS[..]].concat());
    larder.until(|screen| screen.contains("round 3 of") && screen.contains("! CAPACITY"));
    assert!(larder.all.is_ascii(), "{:?}", larder.all);
    for colour in ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[33m"] {
        assert!(!larder.all.contains(colour), "{:?}", larder.all);
    }
    larder.pty.write_all(b"\x03").unwrap();
    assert_eq!(larder.ends().0, Some(130));
}

fn quiet() {
    let scene = Scene::new();
    let arguments = ["compare", "moka:", "-k", "50", "-r", "2", "-o", "out", "--format", "csv"];
    let mut larder = OnTerminal::start(&scene, 80, &[], &[&arguments[..], &["-q"]].concat());
    let (code, left) = larder.ends();
    assert_eq!(code, Some(0), "{left}");
    assert!(larder.all.starts_with("target,") && !larder.all.contains('\x1b'), "{:?}", larder.all);

    let mut larder = OnTerminal::start(&scene, 80, &[("TERM", "dumb")], &arguments);
    let (code, left) = larder.ends();
    assert_eq!(code, Some(0), "{left}");
    assert!(left.starts_with("out: replaces the result of "), "{left}");
    assert!(left.contains("\nopening moka:\n") && left.contains("\nround 2 of 2\n"), "{left}");
    assert!(!larder.all.contains('\x1b'), "{:?}", larder.all);
}
