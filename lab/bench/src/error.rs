//! Errors that keep a comparison from running at all. A fault of a single target is a reason in its cells instead.

use std::io;
use std::path::PathBuf;

/// The result of planning and comparing.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why there is no comparison.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The workload, the scenario or a target cannot be used as typed; the message names the value, the limit and the
    /// fix.
    #[error("{0}")]
    Usage(String),
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(#[from] larder_workload::trace::TraceError),
    /// None of the typed targets can run; the message has the reason of each.
    #[error("{0}")]
    NoTarget(String),
    /// A URL cannot be read or names no engine.
    #[error(transparent)]
    Store(#[from] larder_store::Error),
    /// A file that the workload names cannot be read.
    #[error("reading {what} {}: {source}", path.display())]
    Read {
        /// The kind of file.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A file of the results, or their folder, cannot be written.
    #[error("writing {}: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

impl Error {
    /// Whether the user can mend the error by typing the command differently.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Usage(_) | Self::Store(_) | Self::Read { .. } => true,
            Self::Trace(error) => error.is_usage(),
            Self::NoTarget(_) | Self::Write { .. } => false,
        }
    }
}

/// A usage error with this message.
pub(crate) fn usage(message: impl Into<String>) -> Error {
    Error::Usage(message.into())
}
