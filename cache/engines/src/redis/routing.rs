//! The answers of a cluster that concern the way to a node: a redirection, and signs that its layout has changed.

use larder_protocol::resp::{ServerError, Value};

/// A sign that the layout of a cluster may have changed. Most refusals are no such sign: any node would answer the
/// same.
#[derive(Debug, Clone, Copy)]
pub(super) struct Doubt {
    /// The place of the node that gave the sign.
    pub(super) node: usize,
    /// The node is gone, or is itself cut off from its cluster; otherwise it knows which node has its former slots.
    pub(super) is_lost: bool,
}

impl Doubt {
    /// A node reported that another node has its slot.
    pub(super) fn moved(node: usize) -> Self {
        Self { node, is_lost: false }
    }
}

/// Whether a refusal is a sign that the layout may have changed, and then whether its node is lost.
pub(super) fn doubt_in(error: &ServerError) -> Option<bool> {
    match error.code() {
        "MOVED" => Some(false),
        "CLUSTERDOWN" => Some(true),
        _ => None,
    }
}

/// Whether a part of a batch that was refused so is to be asked for once more, each key by itself.
///
/// While a slot moves, its keys are on two nodes. Another client may have made a server forget a script.
pub(super) fn asks_for_single_keys(error: &ServerError) -> bool {
    matches!(error.code(), "TRYAGAIN" | "NOSCRIPT") || Redirect::of(error).is_some()
}

/// The node to which a cluster redirects a request.
#[derive(Debug)]
pub(super) struct Redirect {
    pub(super) slot: u16,
    pub(super) host: String,
    pub(super) port: u16,
    /// Whether only this request is redirected: the slot is about to move.
    pub(super) is_once: bool,
}

impl Redirect {
    /// The redirection in an answer, if any.
    pub(super) fn in_answer(answer: &Value) -> Option<Self> {
        match answer {
            Value::Error(error) => Self::of(error),
            _ => None,
        }
    }

    /// Reads `MOVED 3999 127.0.0.1:6381` or `ASK 3999 127.0.0.1:6381`; the host may be missing.
    pub(super) fn of(error: &ServerError) -> Option<Self> {
        let is_once = match error.code() {
            "MOVED" => false,
            "ASK" => true,
            _ => return None,
        };
        let (slot, address) = error.details().split_once(' ')?;
        let (host, port) = address.rsplit_once(':')?;
        let (slot, port) = (slot.parse().ok()?, port.parse().ok()?);
        Some(Self { slot, host: host.into(), port, is_once })
    }
}
