//! Options of `file:`.

use larder_store::{ByteSize, Error, Mount, Result, StoreUrl};
use schemars::{JsonSchema, Schema, schema_for};
use serde::Deserialize;

use super::SCHEME;
use super::name::MAX_DEPTH;

/// The depth of a new store's folders.
const DEFAULT_DEPTH: u8 = 2;

/// Up to this size limit one level is enough: with entries of one 4 KiB block, a folder has at most 256 entries. With
/// two levels, so few entries would leave nearly every folder empty after a while. The search for an entry to evict
/// would open each folder.
const SMALL: u64 = 256 << 20;

/// The smallest size limit: a smaller store could have room for only a single entry with a long key.
pub(super) const MIN_SIZE: u64 = 1 << 20;

/// The options with which a store is opened.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct FileConfig {
    /// Levels of folders above the entries, 0 to 4, each of up to 256 folders. A store keeps the depth that it was
    /// made with, which is 2 unless given, and 1 where `size` is 256 MiB or less.
    pub(super) depth: Option<u8>,
    /// A file system in memory that is mounted for the store, on a new folder in its path, and unmounted when the store
    /// is closed: `tmpfs:1g`, `tmpfs` (half of memory) or `ramfs` (no limit). Needs root.
    pub(super) mount: Option<Mount>,
    /// The folder under the path that holds the entries; stores of several namespaces share a path.
    pub(super) namespace: String,
    /// Bytes that the entries may take, in blocks of the file system; the oldest entries make room. Unlimited unless
    /// given. Every process that opens the store must give the same limit.
    pub(super) size: Option<ByteSize>,
    /// Wait for the disk at each change.
    pub(super) sync: bool,
}

impl Default for FileConfig {
    fn default() -> Self {
        Self { depth: None, mount: None, namespace: "cache".into(), size: None, sync: false }
    }
}

impl FileConfig {
    /// The options of a URL, within their ranges.
    pub(super) fn read(url: &StoreUrl) -> Result<Self> {
        let config: Self = url.options(SCHEME)?;
        let invalid = |reason: String| Err(Error::InvalidOptions { engine: SCHEME, reason });
        if let Some(depth) = config.depth.filter(|depth| *depth > MAX_DEPTH) {
            return invalid(format!("option `depth`: {depth} is not from 0 to {MAX_DEPTH}"));
        }
        if let Some(size) = config.size.filter(|size| size.0 < MIN_SIZE) {
            let least = ByteSize(MIN_SIZE);
            return Err(Error::SizeTooSmall { engine: SCHEME, option: "size", size, least });
        }
        let name = &config.namespace;
        if name.is_empty() || name.starts_with('.') || name.contains(['/', '\0']) {
            return invalid(format!(
                "option `namespace`: `{name}` is not the name of a folder; write one without `/`"
            ));
        }
        Ok(config)
    }

    /// The depth of a new store.
    pub(super) fn depth_when_new(&self) -> u8 {
        let is_small = self.size.is_some_and(|size| size.0 <= SMALL);
        self.depth.unwrap_or(if is_small { 1 } else { DEFAULT_DEPTH })
    }
}

pub(super) fn schema() -> Schema {
    schema_for!(FileConfig)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_store_has_few_folders_unless_it_is_told_otherwise() {
        for (options, depth) in
            [("", 2), ("?size=256m", 1), ("?size=257m", 2), ("?size=1m&depth=3", 3)]
        {
            let url = StoreUrl::parse(&format!("file:/nowhere{options}")).unwrap();
            assert_eq!(FileConfig::read(&url).unwrap().depth_when_new(), depth, "{options}");
        }
    }

    #[test]
    fn options_out_of_range_are_named_with_their_range() {
        for (options, message) in [
            ("depth=5", "file: option `depth`: 5 is not from 0 to 4"),
            ("size=4k", "file: option `size`: 4 KiB < 1 MiB, the smallest"),
            (
                "namespace=../x",
                "file: option `namespace`: `../x` is not the name of a folder; write one without `/`",
            ),
        ] {
            let url = StoreUrl::parse(&format!("file:/nowhere?{options}")).unwrap();
            assert_eq!(FileConfig::read(&url).unwrap_err().to_string(), message);
        }
    }
}
