//! Options of `moka:`.

use larder_store::ByteSize;
use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};

/// The options with which a cache is built.
#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct MokaConfig {
    /// Bytes that keys, values and their bookkeeping may take before entries are dropped.
    pub(super) size: ByteSize,
    /// The rule by which entries are dropped and new entries are accepted: tinylfu (moka's default; keeps entries that
    /// are asked for often, and may refuse a new one) or lru.
    pub(super) policy: Policy,
}

impl Default for MokaConfig {
    fn default() -> Self {
        Self { size: ByteSize(64 << 20), policy: Policy::TinyLfu }
    }
}

/// moka's two policies of eviction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Policy {
    TinyLfu,
    Lru,
}

impl Policy {
    /// The policy as its option names it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::TinyLfu => "tinylfu",
            Self::Lru => "lru",
        }
    }
}

pub(super) fn schema() -> Schema {
    schema_for!(MokaConfig)
}
