//! Options of `quick_cache:`.

use larder_store::ByteSize;
use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};

/// The options with which a cache is built.
#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct QuickCacheConfig {
    /// Bytes that keys, values and their bookkeeping may take before entries are dropped. Each shard has an equal part.
    pub(super) size: ByteSize,
    /// The size of a usual entry with its key and bookkeeping. The cache remembers half as many dropped keys as such entries fit
    /// in, and no shard has room for fewer than 32 of them.
    pub(super) entry: ByteSize,
    /// The most shards, each with a lock of its own and a part of the size. Default: four for each processor.
    pub(super) shards: Option<u16>,
}

impl Default for QuickCacheConfig {
    fn default() -> Self {
        Self { size: ByteSize(64 << 20), entry: ByteSize(1 << 10), shards: None }
    }
}

pub(super) fn schema() -> Schema {
    schema_for!(QuickCacheConfig)
}
