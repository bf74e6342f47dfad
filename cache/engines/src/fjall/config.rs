//! The options of `fjall:`.

use std::time::Duration;

use larder_store::{ByteSize, Error, Result, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SCHEME;
use crate::records::DEADLINE_LEN;
use crate::records::sync::{Sync, check_checkpoint};

/// fjall's limit of keys, which holds for keys with their deadline too.
pub(super) const MAX_KEY_LEN: usize = u16::MAX as usize - DEADLINE_LEN;

/// The smallest table in memory. Smaller ones would make so many files that writes stall.
const MIN_MEMTABLE: ByteSize = ByteSize(1 << 20);

/// The options of `fjall:`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct FjallConfig {
    /// The event that a write waits for. `nosync`: no event but its place in the system's page cache, so it survives the end
    /// of the process. `group`: a sync of the journal to the disk, which all writes share that wait at the same time.
    /// `each`: a sync of its own.
    pub(super) sync: Sync,
    /// With `sync=nosync`, the time between two checkpoints: syncs of the journal, which a thread of its own makes where
    /// something was written. A loss of power costs at most the writes of this time. Writes wait for a checkpoint, and this
    /// wait is measured. At least 10 ms; 0: no checkpoints.
    pub(super) checkpoint: Span,
    /// Memory for blocks of the files.
    pub(super) cache: ByteSize,
    /// The size at which a table in memory becomes a file. The entries have such a table, and so has the index of TTLs; a
    /// full one stays until its file is written. A folder keeps the size that it was made with.
    pub(super) memtable: ByteSize,
}

impl Default for FjallConfig {
    fn default() -> Self {
        Self {
            sync: Sync::Nosync,
            // A checkpoint writes what is new and no more, so it may come often.
            checkpoint: Span(Duration::from_secs(1)),
            cache: ByteSize(64 << 20),
            memtable: ByteSize(64 << 20),
        }
    }
}

impl FjallConfig {
    /// Refuses values that cannot work, and names their option.
    pub(super) fn check(&self) -> Result<()> {
        let (size, least) = (self.memtable, MIN_MEMTABLE);
        if size < least {
            return Err(Error::SizeTooSmall { engine: SCHEME, option: "memtable", size, least });
        }
        check_checkpoint(SCHEME, self.checkpoint)
    }
}

#[cfg(test)]
mod tests {
    use larder_store::StoreUrl;

    use super::*;

    #[test]
    fn a_wrong_option_is_refused_with_its_name_and_limit() {
        for (query, needle) in [
            ("sync=on", "option `sync`: `on` is not one of nosync, group, each"),
            ("checkpoint=1us", "option `checkpoint`: 1us < 10ms, the smallest"),
            ("memtable=4k", "option `memtable`: 4 KiB < 1 MiB, the smallest"),
            ("size=1g", "unknown option `size`; known: sync, checkpoint, cache, memtable"),
        ] {
            let url = StoreUrl::parse(&format!("fjall:?{query}")).unwrap();
            let config = url.options::<FjallConfig>(SCHEME).and_then(|config| config.check());
            let error = config.unwrap_err().to_string();
            assert!(error.contains(needle), "{query}: {error}");
        }
    }
}
