//! The classes of durability of `redb:` and `fjall:`, by the words of `lmdb:`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use larder_store::{Durability, Error, FileSystem, Result, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The least time between two checkpoints: below it the disk would do nothing else.
const MIN_CHECKPOINT: Span = Span(Duration::from_millis(10));

/// The event that a write waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Sync {
    /// No sync.
    Nosync,
    /// A sync that it shares.
    Group,
    /// A sync of its own.
    Each,
}

impl Sync {
    /// The event as the option names it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Nosync => "nosync",
            Self::Group => "group",
            Self::Each => "each",
        }
    }

    /// The durability of an acknowledged write. `unsynced` is that of a write which no checkpoint follows. A sync to
    /// memory survives no more than the page cache does.
    pub(crate) fn durability(
        self,
        checkpoint: Span,
        unsynced: Durability,
        under: Option<&FileSystem>,
    ) -> Durability {
        let is_memory = under.is_some_and(FileSystem::is_memory);
        match self {
            Self::Nosync if is_memory || checkpoint.0.is_zero() => unsynced,
            Self::Nosync => Durability::FsyncBatch,
            Self::Group | Self::Each if is_memory => Durability::OsCache,
            Self::Group | Self::Each => Durability::FsyncEach,
        }
    }
}

/// Refuses a time between checkpoints that is too short.
pub(crate) fn check_checkpoint(engine: &'static str, checkpoint: Span) -> Result<()> {
    if checkpoint.0.is_zero() || checkpoint.0 >= MIN_CHECKPOINT.0 {
        return Ok(());
    }
    let reason = format!(
        "option `checkpoint`: {checkpoint} < {MIN_CHECKPOINT}, the smallest; 0 makes no checkpoints"
    );
    Err(Error::InvalidOptions { engine, reason })
}

/// The writes that no checkpoint has put on the disk.
#[derive(Debug, Default)]
pub(crate) struct Unsynced {
    are_there: AtomicBool,
    /// Held while a checkpoint is made.
    making: Mutex<()>,
}

impl Unsynced {
    /// Notes that something was written.
    pub(crate) fn note(&self) {
        self.are_there.store(true, Ordering::Release);
    }

    /// Makes a checkpoint by `sync`, where something was written since the last one. It first waits for the end of one
    /// that another thread makes: when this returns, all that was noted before is on the disk.
    pub(crate) fn checkpoint(&self, sync: impl FnOnce() -> Result<()>) -> Result<()> {
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.are_there.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        sync().inspect_err(|_| self.note())
    }
}
