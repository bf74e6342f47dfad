//! The options of `redb:`.

use std::time::Duration;

use larder_store::{ByteSize, Result, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SCHEME;
use crate::records::sync::{Sync, check_checkpoint};

/// The longest key. redb itself takes any key, but keys of about a page or more make the tree high.
pub(super) const MAX_KEY_LEN: usize = 4096;

/// The options of `redb:`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RedbConfig {
    /// The event that a write waits for. `nosync`: no event; the write is in the memory of the process, and a kill costs the
    /// writes since the last checkpoint. `group`: a sync to the disk, which all writes share that wait at the same time.
    /// `each`: a sync of its own. In each case the entries that survive a crash are those of one moment.
    pub(super) sync: Sync,
    /// With `sync=nosync`, the time between two checkpoints: durable commits, which a thread of its own makes where something
    /// was written. A kill or a loss of power costs at most the writes of this time. Writes wait for a checkpoint, and this
    /// wait is measured. At least 10 ms; 0: no checkpoints, so a kill costs all since the last orderly end.
    pub(super) checkpoint: Span,
    /// Memory for pages. Pages that are not there are read from the file, and so mostly from the system's cache.
    pub(super) cache: ByteSize,
}

impl Default for RedbConfig {
    fn default() -> Self {
        Self {
            sync: Sync::Nosync,
            // A checkpoint writes what is new and no more, so it may come often.
            checkpoint: Span(Duration::from_secs(1)),
            cache: ByteSize(64 << 20),
        }
    }
}

impl RedbConfig {
    /// Refuses values that cannot work, and names their option.
    pub(super) fn check(&self) -> Result<()> {
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
            ("size=1g", "unknown option `size`; known: sync, checkpoint, cache"),
        ] {
            let url = StoreUrl::parse(&format!("redb:?{query}")).unwrap();
            let config = url.options::<RedbConfig>(SCHEME).and_then(|config| config.check());
            let error = config.unwrap_err().to_string();
            assert!(error.contains(needle), "{query}: {error}");
        }
    }
}
