//! Traces in the program, so that every command can be tried without a file.

use std::path::Path;

use super::error::TraceFault;
use super::format::TraceFormat;
use super::recognised::Recognised;

/// The prefix of their names.
const PREFIX: &str = "builtin:";

/// A trace in the program.
#[derive(Debug)]
pub(super) struct BuiltIn {
    pub(super) name: &'static str,
    /// What it is, for a report.
    summary: &'static str,
    format: &'static str,
    pub(super) bytes: &'static [u8],
}

/// All of them. LICENSE-THIRD-PARTY has their notices.
const ALL: &[BuiltIn] = &[BuiltIn {
    name: "web12",
    summary: "built in: the first 30,000 reads of cache2k's web12, pages of a shop",
    format: "cache2k",
    bytes: include_bytes!("../../../../scenarios/web12.trace.xz"),
}];

impl BuiltIn {
    /// Its format, with what it is as the reason.
    pub(super) fn recognised(&self) -> Result<Recognised, TraceFault> {
        let format: TraceFormat =
            self.format.parse().map_err(|reason| TraceFault::Structure { reason })?;
        Ok(Recognised { format, reason: self.summary, columns: None })
    }
}

/// The trace that a path stands for; `None` for a file.
pub(super) fn of_path(path: &Path) -> Option<&'static BuiltIn> {
    let name = path.to_str()?.strip_prefix(PREFIX)?;
    ALL.iter().find(|known| known.name == name)
}

/// Whether a path has the form of a built-in trace.
pub(super) fn is_meant(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.starts_with(PREFIX))
}

/// Refuses a name of the form of a built-in trace that none has.
pub(super) fn check(path: &Path) -> Result<(), String> {
    if !is_meant(path) || of_path(path).is_some() {
        return Ok(());
    }
    let known: Vec<_> = ALL.iter().map(|known| format!("{PREFIX}{}", known.name)).collect();
    Err(format!("no built-in trace `{}`; known: {}", path.display(), known.join(", ")))
}
