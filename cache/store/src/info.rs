//! An open store's description of itself.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use crate::units::ByteSize;

/// An open store's description of itself: read back from the store, not repeated from its URL.
#[derive(Debug, Clone, Default, Serialize)]
pub struct StoreInfo {
    /// The scheme of the engine.
    pub scheme: &'static str,
    /// The URL, its password masked.
    pub url: String,
    /// Version of the library or server that does the work.
    pub version: Option<String>,
    /// Effective settings, by the engine's own names.
    pub settings: BTreeMap<String, String>,
    /// The durability of an acknowledged set.
    pub durability: Durability,
    /// The owner of the process that holds the data.
    pub ownership: Ownership,
    /// Process ids of the servers behind the store that Larder started, or that run on this machine and are known.
    pub server_pids: Vec<u32>,
    /// The addresses at which clients reach the servers: `host:port`, or the path of a socket; a relay's where it
    /// stands between.
    pub addresses: Vec<String>,
    /// Files and folders that hold only this store's data: "bytes on disk" counts these.
    pub data_paths: Vec<PathBuf>,
    /// The file system under `data_paths`.
    pub file_system: Option<FileSystem>,
}

/// The events that an acknowledged set survives, from the fewest to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// The client does not wait for an answer.
    Unacknowledged,
    /// Lost when the process that holds the value ends.
    #[default]
    Volatile,
    /// Survives the end of the process, not of the operating system: the value is in the system's page cache.
    OsCache,
    /// Survives a loss of power but for a stated window: synced in batches.
    FsyncBatch,
    /// Survives a loss of power: synced before the answer.
    FsyncEach,
}

impl Durability {
    /// The class as results name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unacknowledged => "unacknowledged",
            Self::Volatile => "volatile",
            Self::OsCache => "os-cache",
            Self::FsyncBatch => "fsync-batch",
            Self::FsyncEach => "fsync-each",
        }
    }

    /// What becomes of an acknowledged write, as the end of a sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Unacknowledged => "may be lost before it arrives",
            Self::Volatile => "is lost when the process that holds it ends",
            Self::OsCache => "survives the end of the process, not a loss of power",
            Self::FsyncBatch => {
                "survives a loss of power, but for a window that the store's options tell"
            }
            Self::FsyncEach => "survives a loss of power",
        }
    }
}

/// The owner of the process that holds the data of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ownership {
    /// This process itself, or files that it opens.
    #[default]
    Embedded,
    /// A server that Larder started for itself.
    Managed,
    /// A server that Larder did not start: an external one.
    External,
}

impl Ownership {
    /// The ownership as results name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Managed => "managed",
            Self::External => "external",
        }
    }
}

/// The file system under a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileSystem {
    /// `ext4`, `tmpfs`, `ramfs` …, as the kernel names it.
    pub kind: String,
    /// The size; `None` where the file system has no limit (ramfs).
    pub size_bytes: Option<u64>,
    /// The room that an unprivileged process may still fill.
    pub free_bytes: Option<u64>,
    /// Whether the file system was mounted for this store alone: no other program loses room when it is full.
    pub is_own: bool,
}

impl FileSystem {
    /// Whether the files live in memory only.
    pub fn is_memory(&self) -> bool {
        matches!(self.kind.as_str(), "tmpfs" | "ramfs")
    }
}

impl fmt::Display for FileSystem {
    /// `tmpfs (size 1 GiB)`, `ramfs (no limit)`, `ext4 (page cache)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.kind.as_str(), self.size_bytes) {
            ("ramfs", _) => f.write_str("ramfs (no limit)"),
            ("tmpfs", Some(size)) => write!(f, "tmpfs (size {})", ByteSize(size)),
            (kind, _) => write!(f, "{kind} (page cache)"),
        }
    }
}
