//! The terms of the conversation with a node.

use std::time::Duration;

use larder_store::Error;

use super::SCHEME;
use super::limits::LONGEST_SENT;

/// The terms of the conversation with a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    /// The protocol.
    pub(super) wire: Wire,
    /// The longest silence of the node.
    pub(super) timeout: Duration,
    /// Whether a connection is kept after an operation.
    pub(super) keep: bool,
    /// The node's item limit, if the node reports it.
    pub(super) max_value_len: Option<usize>,
}

/// The protocol on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    Text,
    Meta,
}

impl Terms {
    /// The error of a value that is too long to be sent.
    pub(super) fn too_large(&self, len: usize) -> Error {
        let limit = self.max_value_len.unwrap_or(LONGEST_SENT);
        Error::ValueTooLarge { engine: SCHEME, len, limit }
    }
}
