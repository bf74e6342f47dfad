//! The options of `bdb:`.

use std::time::Duration;

use larder_store::{ByteSize, Error, Result, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SCHEME;

/// The longest key. BerkeleyDB itself takes any key; a key longer than about a quarter of a page is stored apart from
/// the tree, and each comparison reads it there.
pub(super) const MAX_KEY_LEN: usize = 4096;

/// The smallest cache that holds the pages of some threads at work.
const MIN_CACHE: ByteSize = ByteSize(1 << 20);

/// The largest cache that BerkeleyDB takes.
const MAX_CACHE: ByteSize = ByteSize(10 << 40);

/// The least log between two checkpoints: one log file.
const MIN_LOG: ByteSize = ByteSize(10 << 20);

/// The least time between two checkpoints: below it the disk would do nothing else.
const MIN_CHECKPOINT: Span = Span(Duration::from_millis(10));

/// The options of `bdb:`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct BdbConfig {
    /// The structure that keeps the entries: `btree`, in the order of their keys, or `hash`. A folder keeps the type
    /// that it was made with.
    #[serde(rename = "type")]
    pub(super) kind: AccessMethod,
    /// The event that a write waits for. `nosync`: no event; the write is in the memory of the process (`DB_TXN_NOSYNC`),
    /// and a kill costs the last writes. `write`: the log is in the system's page cache (`DB_TXN_WRITE_NOSYNC`), which
    /// survives the end of the process. `group`: the log is on the disk, by a sync that writes of many threads share. In
    /// each case the entries that survive a crash are whole.
    pub(super) sync: Sync,
    /// The time between two checkpoints, at which a thread of its own writes all changed pages to the disk while the
    /// work goes on. Without `sync=group`, a loss of power costs at most the writes of this time. Operations wait for a
    /// checkpoint where they need the same pages or the same disk, and this wait is measured. At least 10 ms; 0: only
    /// as `log` says.
    pub(super) checkpoint: Span,
    /// A checkpoint also happens after this amount of log since the last one. It removes the older log, so that the log
    /// does not fill the disk.
    pub(super) log: ByteSize,
    /// Memory for pages. BerkeleyDB adds a quarter for itself, below 500 MiB.
    pub(super) cache: ByteSize,
    /// Size of a page, a power of two from 512 to 64k. Without it: the size of the file system's blocks. A folder keeps
    /// the page size that it was made with.
    pub(super) page_size: Option<ByteSize>,
}

/// The structure that keeps the entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum AccessMethod {
    Btree,
    Hash,
}

/// The event that a write waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Sync {
    Nosync,
    Write,
    Group,
}

impl AccessMethod {
    /// The kind as the option names it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Btree => "btree",
            Self::Hash => "hash",
        }
    }
}

impl Sync {
    /// The event as the option names it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Nosync => "nosync",
            Self::Write => "write",
            Self::Group => "group",
        }
    }
}

impl Default for BdbConfig {
    /// The settings of `MemcacheDB` in article A004: no sync, and a checkpoint every five minutes.
    fn default() -> Self {
        Self {
            kind: AccessMethod::Btree,
            sync: Sync::Nosync,
            checkpoint: Span(Duration::from_mins(5)),
            log: ByteSize(1 << 30),
            cache: ByteSize(64 << 20),
            page_size: None,
        }
    }
}

impl BdbConfig {
    /// Refuses values that cannot work, and names their option.
    pub(super) fn check(&self) -> Result<()> {
        let refuse = |reason: String| Err(Error::InvalidOptions { engine: SCHEME, reason });
        if let Some(ByteSize(page)) = self.page_size
            && !(page.is_power_of_two() && (512..=65_536).contains(&page))
        {
            return refuse(format!(
                "option `page_size`: {page} is not a power of two from 512 to 65536"
            ));
        }
        let checkpoint = self.checkpoint;
        if !checkpoint.0.is_zero() && checkpoint.0 < MIN_CHECKPOINT.0 {
            return refuse(format!(
                "option `checkpoint`: {checkpoint} < {MIN_CHECKPOINT}, the smallest; 0 leaves it to `log`"
            ));
        }
        for (option, size, least) in [("cache", self.cache, MIN_CACHE), ("log", self.log, MIN_LOG)]
        {
            if size < least {
                return Err(Error::SizeTooSmall { engine: SCHEME, option, size, least });
            }
        }
        if self.cache > MAX_CACHE {
            return refuse(format!("option `cache`: {} > {MAX_CACHE}, the largest", self.cache));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use larder_store::StoreUrl;

    use super::*;

    fn read(query: &str) -> Result<BdbConfig> {
        let config: BdbConfig = StoreUrl::parse(&format!("bdb:?{query}"))?.options(SCHEME)?;
        config.check().map(|()| config)
    }

    #[test]
    fn a_wrong_option_is_refused_with_its_name_and_limit() {
        for (query, needle) in [
            ("type=queue", "option `type`: `queue` is not one of btree, hash"),
            ("sync=sometimes", "option `sync`: `sometimes` is not one of nosync, write, group"),
            ("page_size=5000", "option `page_size`: 5000 is not a power of two"),
            ("page_size=128k", "option `page_size`: 131072 is not"),
            ("cache=4k", "option `cache`: 4 KiB < 1 MiB, the smallest"),
            ("cache=20000g", "option `cache`: 19.5 TiB > 10 TiB, the largest"),
            ("log=1m", "option `log`: 1 MiB < 10 MiB, the smallest"),
            ("checkpoint=often", "option `checkpoint`"),
            ("checkpoint=1us", "option `checkpoint`: 1us < 10ms, the smallest"),
            ("size=1g", "unknown option `size`; known: type, sync, checkpoint"),
        ] {
            let error = read(query).unwrap_err().to_string();
            assert!(error.contains(needle), "{query}: {error}");
        }
    }
}
