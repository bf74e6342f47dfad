//! Errors of a trace.

use std::io;
use std::path::PathBuf;

use super::MAX_OPS;
use super::format::known;

/// An unreadable trace: the file and the fault.
#[derive(Debug, thiserror::Error)]
#[error("trace {}: {fault}", path.display())]
pub struct TraceError {
    /// The file.
    pub path: PathBuf,
    /// The fault.
    pub fault: TraceFault,
}

impl TraceError {
    /// Whether the user can mend the error by naming another file or format; otherwise a disk failed.
    pub fn is_usage(&self) -> bool {
        !matches!(self.fault, TraceFault::Write(_))
    }
}

/// The reason why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceFault {
    /// The file is missing or not readable, or its compressed data are broken or cut off.
    #[error("{0}")]
    Read(io::Error),
    /// A line of a text format is invalid.
    #[error("line {line}: {reason}")]
    Line {
        /// Number of the line, from 1.
        line: u64,
        /// The fault.
        reason: String,
    },
    /// A record of a binary format is invalid.
    #[error("byte {offset}: {reason}")]
    Byte {
        /// Where the record begins, from 0, after decompression.
        offset: u64,
        /// The fault.
        reason: String,
    },
    /// A row of a format of columns is invalid.
    #[error("row {row}: {reason}")]
    Row {
        /// Number of the row, from 1.
        row: u64,
        /// The fault.
        reason: String,
    },
    /// The format's own structure is broken, or has no column that is needed.
    #[error("{reason}")]
    Structure {
        /// The fault.
        reason: String,
    },
    /// The trace cannot be written.
    #[error("cannot be written: {0}")]
    Write(io::Error),
    /// Neither its name nor its beginning matches a format.
    #[error("unknown format: {hint}; for another format write `?format=`, one of {}", known())]
    UnknownFormat {
        /// What its beginning is instead.
        hint: String,
    },
    /// Its first line is not a header with commas, though it may have been meant as a header.
    #[error(
        "{reason}; a CSV needs a first line that names the columns with commas between, `key` among them, such as \
         key,op,size; for another format write `?format=`, one of {}",
        known()
    )]
    Header {
        /// The form of the first line instead.
        reason: String,
    },
    /// No file is meant.
    #[error("no file there has such a name")]
    NoFile,
    /// The trace has no operation.
    #[error("has no operation")]
    Empty,
    /// The trace has more operations than fit.
    #[error("more than {MAX_OPS} operations; replay its beginning with --requests")]
    TooLong,
}

impl TraceFault {
    /// The fault of a format that is not recognised, with what the beginning is instead.
    pub(super) fn unknown(hint: &str) -> Self {
        Self::UnknownFormat { hint: hint.into() }
    }
}
