//! How a region is made, as options say it.

use larder_segment::{Options, Refused};
use larder_store::{ByteSize, Error};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a region is made.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SegmentConfig {
    /// Bytes of the whole region: entries, their index and all that is kept beside them. It never grows. At least 1 MiB.
    pub(crate) size: ByteSize,
    /// Bytes that key and value of an entry have about. The index has room for so many entries; of smaller ones some are
    /// evicted before the region is full, of larger ones the index takes more than it needs.
    pub(crate) item_size: ByteSize,
    /// The longest key, up to 64 KiB, and to a 64th of `size`.
    pub(crate) max_key: ByteSize,
    /// The largest value, up to a quarter of `size`, which it is without this option.
    pub(crate) max_value: Option<ByteSize>,
    /// A name of up to 48 bytes. Keys are of this namespace alone, and so is a clear: others that share the region have keys of
    /// their own. Without this option keys are of none, and a clear is of the whole region. A region has up to 48.
    pub(crate) namespace: Option<String>,
}

impl Default for SegmentConfig {
    fn default() -> Self {
        Self {
            size: ByteSize(64 << 20),
            item_size: ByteSize(112),
            max_key: ByteSize(250),
            max_value: None,
            namespace: None,
        }
    }
}

impl SegmentConfig {
    /// The same in the words of the library.
    pub(crate) fn options(&self) -> Options {
        let bytes = |ByteSize(bytes)| usize::try_from(bytes).unwrap_or(usize::MAX / 4);
        Options {
            size: bytes(self.size),
            item: bytes(self.item_size),
            max_key: bytes(self.max_key),
            max_value: self.max_value.map(bytes),
        }
    }
}

/// Why a region is not opened, as an error of an engine.
pub(crate) fn refused(engine: &'static str, what: Refused) -> Error {
    match what {
        Refused::Io { source, .. } if source.raw_os_error() == Some(libc::ENOSPC) => {
            Error::Full { engine, what: "no room for a file of this `size`".to_owned() }
        }
        Refused::TooSmall { size, least } => Error::InvalidOptions {
            engine,
            reason: format!(
                "option `size`: {} < {}, the smallest",
                ByteSize(size as u64),
                ByteSize(least as u64)
            ),
        },
        Refused::Namespace { .. } | Refused::Namespaces { .. } => {
            Error::InvalidOptions { engine, reason: format!("option `namespace`: {what}") }
        }
        Refused::Limit { .. } => Error::InvalidOptions { engine, reason: what.to_string() },
        Refused::Busy => Error::Busy { engine, what: what.to_string() },
        other => Error::Unavailable { engine, what: other.to_string(), source: None },
    }
}
