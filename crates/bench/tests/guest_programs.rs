//! The guests' own tests, each by the tool of its language: what a program promises whoever starts it.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

use std::path::Path;
use std::process::{Command, ExitCode};

use larder_testkit::trial_where;
use libtest_mimic::Arguments;

/// The folder below `guests/`, what runs its tests there, and the Debian package that brings it. A language more is a line
/// more.
const SUITES: &[(&str, &[&str], &str)] = &[("perl", &["prove", "-I", ".", "t"], "perl")];

fn main() -> ExitCode {
    let trials = SUITES.iter().map(|&(language, command, package)| {
        let installed = move || match Command::new(command[0]).arg("--version").output() {
            Ok(_) => Ok(()),
            Err(error) => Err(format!("{}: {error}: apt-get install {package}", command[0])),
        };
        trial_where(installed, language, move || pass(language, command))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

fn pass(language: &str, command: &[&str]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guests").join(language);
    let ran = Command::new(command[0]).args(&command[1..]).current_dir(folder).output().unwrap();
    let said = [ran.stdout, ran.stderr].concat();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&said));
}
