//! What can go wrong, in one line each.

use std::io;
use std::path::PathBuf;

/// Why a region is not opened.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The region is too small to be divided.
    #[error("{size} bytes: a region has {least} at least")]
    TooSmall {
        /// What was asked for.
        size: usize,
        /// The smallest there is.
        least: usize,
    },
    /// The file is not a region of this kind.
    #[error("the file is not a segment cache: name another, or remove it")]
    Foreign,
    /// The file was made by another version.
    #[error(
        "the file has format {found}, and this program reads format {wanted}: remove it, or name another"
    )]
    Format {
        /// What the file says.
        found: u64,
        /// What this program reads.
        wanted: u64,
    },
    /// The beginning of the file is not what was written there.
    #[error("the beginning of the file is damaged: remove it")]
    Damaged,
    /// The file's description of itself makes no sense.
    #[error("the file describes parts that it does not have: remove it")]
    Geometry,
    /// The file is shorter or longer than it was made.
    #[error("the file has {len} bytes and was made with {size}: remove it")]
    Truncated {
        /// What it has.
        len: u64,
        /// What it was made with.
        size: u64,
    },
    /// Keys longer than records can have, or values larger than the region.
    #[error("{what} of {asked} bytes: at most {most}")]
    Limit {
        /// Keys or values.
        what: &'static str,
        /// What was asked for.
        asked: usize,
        /// The largest there is.
        most: usize,
    },
    /// The name of a namespace is empty or too long.
    #[error("a namespace of {len} bytes: its name has 1 to {most}")]
    Namespace {
        /// The name's bytes.
        len: usize,
        /// What the longest has.
        most: usize,
    },
    /// Every namespace that a region can have is there.
    #[error(
        "the region has {most} namespaces, as many as it can have: take one of them, or another region"
    )]
    Namespaces {
        /// How many it can have.
        most: usize,
    },
    /// A process holds the lock under which a namespace is made, and is stopped.
    #[error("a stopped process holds the lock of the names: resume or end it")]
    Busy,
    /// The system refused.
    #[error("{}: {what}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

/// Why an operation was not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failed {
    /// A process holds the lock of this key's part and is stopped. The key has no value now.
    #[error("a stopped process holds the lock of this part of the cache")]
    Busy,
    /// The value is larger than the cache takes. The key has no value now.
    #[error("a value of {size} bytes: at most {most}")]
    TooLarge {
        /// The value's bytes.
        size: usize,
        /// What the cache takes.
        most: usize,
    },
    /// The key is longer than the cache takes.
    #[error("a key of {size} bytes: at most {most}")]
    KeyTooLong {
        /// The key's bytes.
        size: usize,
        /// What the cache takes.
        most: usize,
    },
}
