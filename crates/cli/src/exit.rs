//! Exit codes, and how an error is told: in one line.

use std::process::ExitCode;

use clap::error::ErrorKind;
use larder_store::Error as StoreError;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command has done its work.
    Done = 0,
    /// It could not be done.
    Failed = 1,
    /// It was asked for wrongly.
    Usage = 2,
    /// A check of severity error fired, with `--strict`.
    Misleading = 3,
    /// An assertion failed, or `larder diff --fail-on` found what it was to find.
    NotAsserted = 4,
    /// Interrupted; what was measured is kept.
    Interrupted = 130,
}

impl Exit {
    /// Tells an error in one line and chooses the code for it.
    pub(crate) fn of_error(error: &anyhow::Error) -> Self {
        anstream::eprintln!("larder: {}", told(error));
        let usage = error.chain().any(|cause| {
            let bench = cause.downcast_ref::<larder_bench::Error>();
            let store = cause.downcast_ref::<StoreError>();
            bench.is_some_and(larder_bench::Error::is_usage)
                || store.is_some_and(StoreError::is_usage)
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

/// An error as it is told: one line with what caused it.
pub(crate) fn told(error: &anyhow::Error) -> String {
    one_line(&with_causes(error))
}

/// An error with what caused it, each but once: some errors tell their cause in their own message.
fn with_causes(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text.extend([": ", &cause]);
        }
    }
    text
}

/// Help and version go out as they are; a wrong argument is one line.
pub(crate) fn of_arguments(error: &clap::Error) -> ExitCode {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    ) {
        // A pipe that is closed early is no reason to complain.
        let _ = error.print();
        let asked = error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
        return if asked { Exit::Done } else { Exit::Usage }.into();
    }
    let text = error.to_string();
    let message = text.split("\n\n").next().unwrap_or(&text).trim_start_matches("error: ");
    let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    let tip = tip.map_or_else(String::new, |tip| format!(" ({tip})"));
    anstream::eprintln!("larder: {}{tip}; --help lists what there is", one_line(message));
    Exit::Usage.into()
}

/// Lines joined and spaces folded, so that a message stays one line whoever wrote it.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
