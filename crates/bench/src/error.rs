//! What keeps a comparison from running at all. What befalls a single target is a reason in its cells, not an error.

use std::io;
use std::path::PathBuf;

/// What planning and comparing return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why there is no comparison.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The workload, the scenario or a target cannot be what was meant: the value, the limit, the fix.
    #[error("{0}")]
    Usage(String),
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(#[from] crate::trace::TraceError),
    /// A URL cannot be read or names no engine.
    #[error(transparent)]
    Store(#[from] larder_store::Error),
    /// A file of ours cannot be read or written.
    #[error("{what} {}: {source}", path.display())]
    File {
        /// What was being done.
        what: &'static str,
        /// To which file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

impl Error {
    /// Whether the person who typed the command can mend it by typing it differently.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Usage(_) | Self::Trace(_) | Self::Store(_) => true,
            Self::File { what, .. } => what.starts_with("reading"),
        }
    }
}

/// A usage error from anything that shows.
pub(crate) fn usage(message: impl Into<String>) -> Error {
    Error::Usage(message.into())
}
