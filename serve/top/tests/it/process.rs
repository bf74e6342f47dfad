//! The view in a second process.

use std::env;
use std::process::{Command, ExitCode, Output};
use std::time::Duration;

use larder_top::{Options, run};

/// The milliseconds of the interval; a process that has this variable is the view.
const INTERVAL: &str = "LARDER_TEST_TOP_INTERVAL_MS";

/// Runs the view on the addresses of the command line, where this process was started for that.
pub(crate) fn run_if_asked() -> Option<ExitCode> {
    let interval_ms = env::var(INTERVAL).ok()?.parse().unwrap();
    let options = Options {
        addresses: env::args().skip(1).collect(),
        interval: Duration::from_millis(interval_ms),
        once: false,
        unicode: true,
    };
    Some(match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            if error.is_usage() { 2.into() } else { 1.into() }
        }
    })
}

/// The environment of a view.
pub(crate) fn environment(interval: Duration) -> [(&'static str, String); 2] {
    [(INTERVAL, interval.as_millis().to_string()), ("TERM", "xterm-256color".to_owned())]
}

/// A view whose output is a pipe, so that it prints one table.
pub(crate) fn piped(interval: Duration, addresses: &[&str]) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(addresses).envs(environment(interval));
    command
}

/// One table, as the words of each of its lines; the exit code must be this one.
#[track_caller]
pub(crate) fn table(output: &Output, code: i32) -> Vec<Vec<String>> {
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert_eq!(output.status.code(), Some(code), "{out}{err}");
    out.lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

/// The cell of a table in the row of a server.
#[track_caller]
pub(crate) fn cell<'a>(table: &'a [Vec<String>], server: &str, title: &str) -> &'a str {
    let column = table[0].iter().position(|it| it == title).expect("a known title");
    let row = table.iter().find(|row| row[0] == server).expect("a known server");
    &row[column]
}
