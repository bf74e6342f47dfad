//! Errors of a trace.

use std::io;
use std::path::PathBuf;

use super::MAX_OPS;
use super::format::known;

/// A trace that cannot be read: which file, and why.
#[derive(Debug, thiserror::Error)]
#[error("trace {}: {fault}", path.display())]
pub struct TraceError {
    /// The file.
    pub path: PathBuf,
    /// The fault.
    pub fault: TraceFault,
}

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceFault {
    /// The file is not there, may not be read, or its compressed data are broken or cut off.
    #[error("{0}")]
    Read(io::Error),
    /// A line of a text format is not what it should be.
    #[error("line {line}: {reason}")]
    Line {
        /// Number of the line, from 1.
        line: u64,
        /// The fault.
        reason: String,
    },
    /// A record of a binary format is not what it should be.
    #[error("byte {offset}: {reason}")]
    Byte {
        /// Where the record begins, from 0, after decompression.
        offset: u64,
        /// The fault.
        reason: String,
    },
    /// Neither its name nor its beginning is that of a format.
    #[error("of no known format; name it by `?format=`, one of {}", known())]
    UnknownFormat,
    /// Its first line is not the header of a table, though it may have been meant so.
    #[error(
        "{reason}; a CSV needs a first line that names the columns with commas between, `key` among them, such as \
         key,op,size; other formats are named by `?format=`, one of {}",
        known()
    )]
    Header {
        /// The format that it has instead.
        reason: String,
    },
    /// There is no operation in it.
    #[error("has no operation")]
    Empty,
    /// There are more operations than fit.
    #[error("more than {MAX_OPS} operations; replay its beginning with --requests")]
    TooLong,
}
