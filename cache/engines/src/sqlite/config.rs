//! The options of `sqlite:`.

use std::time::Duration;

use larder_store::{ByteSize, Error, Result, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SCHEME;

/// The longest key. SQLite itself takes longer keys; but a key is stored twice, and a key longer than about a quarter
/// of a page makes its index slow.
pub(super) const MAX_KEY_LEN: usize = 4096;

/// SQLite's limit of a row, 10^9 bytes, less the bytes of a row beside its value.
const MAX_ROW_LEN: u64 = 1_000_000_000 - MAX_KEY_LEN as u64 - 64;

/// The fewest pages that leave room for entries of a useful size.
const MIN_PAGES: u64 = 64;

/// The options of `sqlite:`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SqliteConfig {
    /// Byte limit of the pages in use, of which a sixteenth is kept free. Beyond it, the entries stored longest ago
    /// make room, unless they were rewritten since; expired entries go first. The file uses their pages again, and does
    /// not shrink. The log beside the file is not counted: it grows to some 16 MiB, and further while other processes
    /// read without a pause. Processes that share a file should agree on the limit, because each evicts down to its
    /// own.
    pub(super) size: ByteSize,
    /// The moment at which writes reach the disk. `off`: when the system writes them; they survive the end of the
    /// process, and a loss of power may leave a file that must be deleted. `normal`: at each checkpoint; a loss of
    /// power costs the writes since the last one. `full` or `on`: before they are acknowledged.
    pub(super) sync: Sync,
    /// Name of the table: stores of different namespaces share nothing but the file.
    pub(super) namespace: String,
    /// Size of a page, a power of two from 512 to 64k. A file keeps the page size that it was made with.
    pub(super) page_size: ByteSize,
    /// Memory for pages that each session keeps. The pages are in the system's cache too, so more helps little.
    pub(super) cache: ByteSize,
    /// The part of the file that is read through a memory map. The map saves a copy, which counts for values from some
    /// ten kilobytes on. In exchange, an error of the disk ends the process instead of being reported.
    pub(super) mmap: ByteSize,
    /// The longest wait for a lock that another process holds.
    pub(super) timeout: Span,
}

/// When writes reach the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Sync {
    /// When the system writes them.
    Off,
    /// At each checkpoint.
    Normal,
    /// Before a write is acknowledged.
    #[serde(alias = "on")]
    Full,
}

impl Sync {
    /// The setting as SQLite names it.
    pub(super) fn pragma(self) -> &'static str {
        match self {
            Self::Off => "OFF",
            Self::Normal => "NORMAL",
            Self::Full => "FULL",
        }
    }
}

impl Default for SqliteConfig {
    fn default() -> Self {
        Self {
            size: ByteSize(1 << 30),
            sync: Sync::Off,
            namespace: "cache".into(),
            page_size: ByteSize(4096),
            cache: ByteSize(2 << 20),
            mmap: ByteSize(0),
            timeout: Span(Duration::from_secs(5)),
        }
    }
}

impl SqliteConfig {
    /// Refuses values that cannot work, and names their option.
    pub(super) fn check(&self) -> Result<()> {
        let refuse = |reason: String| Err(Error::InvalidOptions { engine: SCHEME, reason });
        let ByteSize(page) = self.page_size;
        if !page.is_power_of_two() || !(512..=65_536).contains(&page) {
            return refuse(format!(
                "option `page_size`: {page} is not a power of two from 512 to 65536"
            ));
        }
        // SQLite reserves names that begin with `sqlite_`.
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if !(1..=64).contains(&self.namespace.len())
            || !self.namespace.chars().all(letter)
            || self.namespace.to_ascii_lowercase().starts_with("sqlite_")
        {
            return refuse(format!(
                "option `namespace`: `{}` is not 1 to 64 letters, digits, `_` or `-`, or begins with `sqlite_`",
                self.namespace
            ));
        }
        Ok(())
    }

    /// Refuses a limit that is too small for a file with such pages.
    pub(super) fn check_size(&self, page_size: u64) -> Result<()> {
        let (size, least) = (self.size, ByteSize(MIN_PAGES * page_size));
        if size >= least {
            return Ok(());
        }
        Err(Error::SizeTooSmall { engine: SCHEME, option: "size", size, least })
    }

    /// The largest value that fits, with the longest key and the pages of an empty file, into the part of the limit
    /// that is filled.
    pub(super) fn max_value_len(&self, page_size: u64) -> usize {
        let room = self.size.0 - self.size.0 / 8 - 16 * page_size;
        usize::try_from(room.min(MAX_ROW_LEN)).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use larder_store::StoreUrl;

    use super::*;

    fn read(query: &str) -> Result<SqliteConfig> {
        let config: SqliteConfig = StoreUrl::parse(&format!("sqlite:?{query}"))?.options(SCHEME)?;
        config.check()?;
        config.check_size(config.page_size.0).map(|()| config)
    }

    #[test]
    fn a_wrong_option_is_refused_with_its_name_and_limit() {
        for (query, needle) in [
            ("size=1k", "option `size`: 1 KiB < 256 KiB, the smallest"),
            ("size=1m&page_size=64k", "1 MiB < 4 MiB"),
            ("page_size=5000", "option `page_size`: 5000 is not a power of two"),
            ("page_size=128k", "option `page_size`: 131072 is not"),
            ("namespace=sqlite_x", "`sqlite_x` is not 1 to 64 letters"),
            ("namespace=a%22b", "option `namespace`"),
            ("sync=sometimes", "option `sync`: `sometimes` is not one of off, normal"),
            ("timeout=soon", "option `timeout`"),
        ] {
            let error = read(query).unwrap_err().to_string();
            assert!(error.contains(needle), "{query}: {error}");
        }
    }

    #[test]
    fn on_is_another_word_for_full() {
        assert_eq!(read("sync=on").unwrap().sync, Sync::Full);
        assert_eq!(read("sync=full").unwrap().sync, Sync::Full);
        assert_eq!(read("").unwrap().sync, Sync::Off);
    }

    #[test]
    fn the_value_limit_follows_the_size_up_to_that_of_a_row() {
        assert_eq!(read("size=1m").unwrap().max_value_len(4096), 832 << 10);
        assert_eq!(read("size=8g").unwrap().max_value_len(4096) as u64, MAX_ROW_LEN);
    }
}
