//! Another process of a host, which does what it is told.

use std::process::ExitCode;

use larder_testkit::SecondProcess;

use super::setup::{count, get, open};

/// The URL that another process opens.
const URL: &str = "LARDER_HOSTS_URL";

/// The work of another process: an answer for each line, until there is no more.
pub(super) fn work_if_asked() -> Option<ExitCode> {
    let url = std::env::var(URL).ok()?;
    let stack = open(&url).unwrap();
    let mut session = stack.session().unwrap();
    for line in std::io::stdin().lines() {
        match line.unwrap().split_once(' ').unwrap() {
            ("get", key) => println!("{}", get(&mut *session, key).unwrap_or_default()),
            ("count", name) => println!("{}", count(&*stack, name)),
            other => panic!("{other:?}"),
        }
    }
    Some(ExitCode::SUCCESS)
}

/// Starts another process with this URL.
pub(super) fn start(url: &str) -> SecondProcess {
    SecondProcess::start(URL, url)
}
