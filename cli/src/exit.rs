//! Exit codes, and one-line messages of errors.

use std::process::ExitCode;

use clap::error::ErrorKind;
use larder_store::Error as StoreError;
use larder_workload::trace::TraceError;

/// The result of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command succeeded.
    Done = 0,
    /// The command failed.
    Failed = 1,
    /// The arguments were wrong.
    Usage = 2,
    /// A check of severity error fired, with `--strict`.
    Misleading = 3,
    /// An assertion failed, or `larder diff --fail-on` found such a change.
    NotAsserted = 4,
    /// Interrupted; the measurements so far are kept.
    Interrupted = 130,
}

impl Exit {
    /// Reports an error in one line and chooses its exit code.
    pub(crate) fn of_error(error: &anyhow::Error) -> Self {
        anstream::eprintln!("larder: {}", error_line(error));
        let usage = error.chain().any(|cause| {
            let bench = cause.downcast_ref::<larder_bench::Error>();
            let store = cause.downcast_ref::<StoreError>();
            let trace = cause.downcast_ref::<TraceError>();
            bench.is_some_and(larder_bench::Error::is_usage)
                || store.is_some_and(StoreError::is_usage)
                || trace.is_some_and(TraceError::is_usage)
                || cause.is::<Usage>()
        });
        if usage { Self::Usage } else { Self::Failed }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The request cannot be carried out: one line that names the value, the limit and the fix.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// An error with its causes, in one line.
pub(crate) fn error_line(error: &anyhow::Error) -> String {
    one_line(&with_causes(error))
}

/// An error with its causes, each once: some errors quote their cause in their own message.
fn with_causes(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text.extend([": ", &cause]);
        }
    }
    text
}

/// Help and version are printed unchanged; a wrong argument gives one line.
pub(crate) fn of_arguments(error: &clap::Error) -> ExitCode {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    ) {
        // A pipe that closes early is not an error.
        let _ = error.print();
        let asked = error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
        return if asked { Exit::Done } else { Exit::Usage }.into();
    }
    let text = error.to_string();
    let message = text.split("\n\n").next().unwrap_or(&text).trim_start_matches("error: ");
    let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    let tip = tip.map_or_else(String::new, |tip| format!(" ({tip})"));
    anstream::eprintln!("larder: {}{tip}; --help lists the commands and flags", one_line(message));
    Exit::Usage.into()
}

/// Lines joined and spaces folded, so that any message fits in one line.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
