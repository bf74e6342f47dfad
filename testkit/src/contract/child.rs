//! The test program started a second time: as another process on the same files, or as a process that forks.

use std::io::Write;
use std::process::{Command, ExitCode};

use larder_store::{Catalog, SetOptions, StoreUrl};
use libtest_mimic::Failed;

use super::fork_check;

/// Its job, in the environment: a URL, the key to read and delete, and the key to write the value to.
const JOB: [&str; 3] = ["LARDER_CONTRACT_URL", "LARDER_CONTRACT_READ", "LARDER_CONTRACT_WRITE"];

/// As above, for a process that forks: the URL to open, the URL for its child to open, and the beginning of its keys.
const FORK: [&str; 3] =
    ["LARDER_CONTRACT_FORK_URL", "LARDER_CONTRACT_FORK_AGAIN", "LARDER_CONTRACT_FORK_KEYS"];

/// Starts this program again to open `url`, copy the value under `read` to `write`, and delete `read`.
pub(super) fn answer(url: &str, read: &str, write: &str) -> Result<(), Failed> {
    start(JOB, [url, read, write])
}

/// Starts this program again for [`fork_check::run`].
pub(super) fn forks(url: &str, again: &str, prefix: &[u8]) -> Result<(), Failed> {
    start(FORK, [url, again, &String::from_utf8_lossy(prefix)])
}

fn start(job: [&str; 3], values: [&str; 3]) -> Result<(), Failed> {
    let mut command = Command::new(std::env::current_exe()?);
    command.envs(job.into_iter().zip(values));
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(Failed::from(format!("the other process ended with {}: {}", output.status, text.trim())))
}

/// In the second process: does the job. `None` in every other process.
pub(super) fn run_if_asked(catalog: &Catalog) -> Option<ExitCode> {
    let from_environment = |job: [&str; 3]| {
        let [one, two, three] = job.map(|name| std::env::var(name).ok());
        Some([one?, two?, three?])
    };
    let done = match (from_environment(JOB), from_environment(FORK)) {
        (Some([url, read, write]), _) => copy(catalog, &url, read.as_bytes(), write.as_bytes()),
        (None, Some([url, again, prefix])) => fork_check::run(catalog, &url, &again, &prefix),
        (None, None) => return None,
    };
    Some(match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            let message = failed.message().unwrap_or("a failure");
            // A closed standard error leaves no other way to report.
            let _ = writeln!(std::io::stderr(), "{message}");
            ExitCode::FAILURE
        }
    })
}

fn copy(catalog: &Catalog, url: &str, read: &[u8], write: &[u8]) -> Result<(), Failed> {
    let mut session = catalog.open(&StoreUrl::parse(url)?)?.session()?;
    let mut value = Vec::new();
    session.get(read, &mut value)?.ok_or("the value of the parent is a miss")?;
    session.set(write, &value, &SetOptions::default())?;
    session.delete(read)?;
    Ok(())
}
