//! The options of `lmdb:`.

use std::time::Duration;

use larder_store::{ByteSize, Error, MAX_TAG_LEN, Result, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SCHEME;
use super::record::{ENTRY_OVERHEAD, HEADER_LEN};

/// LMDB's limit of keys, which is also the engine's, because a key is stored as it is.
pub(super) const MAX_KEY_LEN: usize = 511;

/// The smallest byte limit that leaves room for entries of a useful size.
const MIN_SIZE: ByteSize = ByteSize(64 << 10);

/// Maps are a multiple of this, the largest page that Linux uses on common machines.
pub(super) const MAP_STEP: u64 = 64 << 10;

/// The options of `lmdb:`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct LmdbConfig {
    /// Byte limit of the entries: their keys, their values, their tags and 30 bytes each. Beyond it, of five neighbours the
    /// entry written longest ago makes room, but for those that this process has read lately; expired entries go first.
    /// Processes that share a folder should agree on the limit: each that writes evicts down to its own, so the smallest of
    /// them holds. A process that only reads may have any.
    pub(super) size: ByteSize,
    /// The event that a write waits for. `nosync`: no event but its place in the system's page cache, so it survives the end
    /// of the process; see `checkpoint`. `group`: a sync to the disk, which all writes share that wait at the same time.
    /// `each`: a sync of its own.
    pub(super) sync: Sync,
    /// With `sync=nosync`, the time between two checkpoints. A checkpoint is a whole copy of the entries beside the file, made
    /// by a thread of its own while the work goes on; but the first write after an orderly end waits for one. After a loss of power, and after a restart of the machine without an
    /// orderly end, the store begins with the last one, so it loses at most the writes of this time. A copy takes as much
    /// room again, and while it is made the file grows with each write. 0: no checkpoints; after a loss of power the store
    /// begins empty, or with the checkpoint that there is.
    pub(super) checkpoint: Span,
    /// With `sync=group`, the longest time for which a sync waits until as many writes have come as shared the last one. A
    /// write that comes alone does not wait.
    pub(super) group_wait: Span,
    /// Address space for the file, which never grows beyond it. Half-filled pages, large values that begin a new page,
    /// old versions that are still read and the indexes of TTLs and tags must fit too. Without it: four times `size`
    /// plus 64 MiB. Address space costs nothing until it is used. Of processes that share a folder the largest map holds:
    /// the others take it over, without an end of their work.
    pub(super) map_size: Option<ByteSize>,
    /// At the opening, replaces a file of which more than half is free by a smaller one, if no other process has the folder
    /// open. The copy takes time, and room beside the file.
    pub(super) compact: bool,
    /// Name of the databases inside the folder: stores of different namespaces share nothing but the file.
    pub(super) namespace: String,
    /// The largest number of living threads, of all processes, that have read from the folder. The process that opens
    /// the folder first sets it.
    pub(super) readers: u32,
}

/// The event that a write waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Sync {
    /// The page cache.
    Nosync,
    /// A sync that it shares.
    Group,
    /// A sync of its own.
    Each,
}

impl Sync {
    /// The event as the option names it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Nosync => "nosync",
            Self::Group => "group",
            Self::Each => "each",
        }
    }

    /// Whether an acknowledged write is on the disk.
    pub(super) fn is_synced(self) -> bool {
        self != Self::Nosync
    }
}

impl Default for LmdbConfig {
    fn default() -> Self {
        Self {
            size: ByteSize(1 << 30),
            sync: Sync::Nosync,
            checkpoint: Span(Duration::from_mins(5)),
            group_wait: Span(Duration::from_millis(2)),
            map_size: None,
            compact: false,
            namespace: "cache".into(),
            readers: 1024,
        }
    }
}

impl LmdbConfig {
    /// Refuses values that cannot work, and names their option.
    pub(super) fn check(&self) -> Result<()> {
        let refuse = |reason: String| Err(Error::InvalidOptions { engine: SCHEME, reason });
        if self.size < MIN_SIZE {
            let (size, least) = (self.size, MIN_SIZE);
            return Err(Error::SizeTooSmall { engine: SCHEME, option: "size", size, least });
        }
        if let Some(map_size) = self.map_size.filter(|map_size| *map_size < self.size) {
            return refuse(format!(
                "option `map_size`: {map_size} < size {}; raise it to {} or lower `size`",
                self.size,
                ByteSize(default_map(self.size)),
            ));
        }
        if self.readers == 0 {
            return refuse("option `readers`: 0 is not a whole number from 1".into());
        }
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if !(1..=64).contains(&self.namespace.len()) || !self.namespace.chars().all(letter) {
            return refuse(format!(
                "option `namespace`: `{}` is not 1 to 64 letters, digits, `_` or `-`",
                self.namespace
            ));
        }
        Ok(())
    }

    /// The size of the map, in whole pages.
    pub(super) fn map_bytes(&self) -> usize {
        let wanted = self.map_size.map_or_else(|| default_map(self.size), |ByteSize(bytes)| bytes);
        let whole = wanted.min(u64::MAX - MAP_STEP).next_multiple_of(MAP_STEP);
        usize::try_from(whole).unwrap_or(usize::MAX / 2 + 1)
    }

    /// The largest value that fits with the longest key and tag, and twice into the map: a new version is written
    /// before the old version is given up.
    pub(super) fn max_value_len(&self) -> usize {
        let room = self.size.0.min(self.map_bytes() as u64 / 2);
        let room = room.saturating_sub((ENTRY_OVERHEAD + MAX_KEY_LEN + MAX_TAG_LEN) as u64);
        // LMDB stores lengths in 32 bits.
        let longest = u64::from(u32::MAX) - (HEADER_LEN + MAX_TAG_LEN) as u64;
        usize::try_from(room.min(longest)).unwrap_or(usize::MAX)
    }
}

/// Pages of a tree that is written at random are about two thirds full, never below a quarter; a value of 4081
/// bytes takes two pages.
fn default_map(ByteSize(size): ByteSize) -> u64 {
    size.saturating_mul(4).saturating_add(64 << 20)
}

#[cfg(test)]
mod tests {
    use larder_store::StoreUrl;

    use super::*;

    fn read(query: &str) -> Result<LmdbConfig> {
        let config: LmdbConfig = StoreUrl::parse(&format!("lmdb:?{query}"))?.options(SCHEME)?;
        config.check().map(|()| config)
    }

    #[test]
    fn a_wrong_option_is_refused_with_its_name_and_limit() {
        for (query, needle) in [
            ("size=1k", "option `size`: 1 KiB < 64 KiB"),
            ("size=1g&map_size=1m", "option `map_size`: 1 MiB < size 1 GiB; raise it to 4.1 GiB"),
            ("readers=0", "option `readers`"),
            ("namespace=", "option `namespace`"),
            ("namespace=a.b", "`a.b` is not 1 to 64 letters"),
            ("sync=on", "option `sync`: `on` is not one of nosync, group, each"),
        ] {
            let error = read(query).unwrap_err().to_string();
            assert!(error.contains(needle), "{query}: {error}");
        }
    }

    #[test]
    fn the_map_is_whole_pages_and_the_value_limit_follows_the_size() {
        let config = read("size=1m&map_size=3000001").unwrap();
        assert_eq!(config.map_bytes(), 46 * (64 << 10));
        assert_eq!(config.max_value_len(), (1 << 20) - 511 - 250 - 30);
        let narrow = read("size=1m&map_size=1m").unwrap();
        assert_eq!(narrow.max_value_len(), (512 << 10) - 511 - 250 - 30);
        let default = read("").unwrap();
        assert_eq!(default.map_bytes(), (4 << 30) + (64 << 20));
        let huge = read("size=16777215t").unwrap();
        assert_eq!(huge.map_bytes() % (64 << 10), 0);
        assert_eq!(huge.max_value_len(), u32::MAX as usize - HEADER_LEN - MAX_TAG_LEN);
    }
}
