//! Finds the abilities of the store behind a `larder serve`.
//!
//! The server answers alike whatever its store is, and a fact that the store does not know is a 0 or -1 there. So an
//! entry is stored and read back, and shows the facts that come back. Only a server that Larder started is tried: the
//! entry is a write.

use std::sync::Arc;
use std::time::Duration;

use larder_protocol::storage::{StorageMode, StorageRequest};
use larder_store::{Error, Remaining, Result};

use super::address::Node;
use super::calls::Leasing;
use super::introspection::{ask, control_by, counters, optional};
use super::outstanding::NodePeer;
use super::terms::Wire;
use crate::pipelined::Links;

/// The key of the entry, and a key without an entry.
const KEY: &[u8] = b"~larder-trial";
const ABSENT: &[u8] = b"~larder-trial-absent";

/// The flags and the TTL of the entry, in seconds: an entry that a killed process leaves behind ends with it.
const FLAGS: u32 = 7;
const TTL: i64 = 100;

/// What the store behind a server was seen to do.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not one state")]
pub(super) struct StoreAbilities {
    /// A key without an entry is a miss.
    pub(super) stores: bool,
    /// The flags came back.
    pub(super) flags: bool,
    /// An entry may have a TTL.
    pub(super) ttl: bool,
    /// A read tells the TTL that is left.
    pub(super) ttl_left: bool,
    /// The lease of an absent key has a version.
    pub(super) leases: bool,
    /// The server counts the entry.
    pub(super) counts_items: bool,
    /// The server knows the bytes of the entry.
    pub(super) counts_bytes: bool,
}

/// Tries a node, and leaves no entry there.
pub(super) fn of(node: &Arc<Node>, timeout: Duration) -> Result<StoreAbilities> {
    let control = &mut control_by(Wire::Meta, node, timeout);
    let mut stores_with = |flags, exptime| -> Result<bool> {
        let request = StorageRequest { key: KEY, len: 1, flags, exptime, mode: StorageMode::Set };
        Ok(optional(ask(control, |connection| connection.set(&request, b"1")))?.is_some())
    };
    // A store without flags or TTLs may refuse them.
    let ttl = stores_with(FLAGS, TTL)? || stores_with(0, TTL)?;
    if !ttl {
        stores_with(0, 0)?;
    }
    let found = ask(control, |connection| connection.get_onto(KEY, &mut Vec::new()))?;
    let counters = counters(node, timeout)?;
    let counts = |name: &str| counters.get(name).is_some_and(|number| number != "0");
    let other = ask(control, |connection| connection.get_onto(ABSENT, &mut Vec::new()))?;
    let leases = other.is_none() && has_leases(control)?;
    for key in [KEY, ABSENT] {
        ask(control, |connection| connection.delete(key))?;
    }
    Ok(StoreAbilities {
        stores: other.is_none(),
        flags: found.is_some_and(|meta| meta.flags == FLAGS),
        ttl,
        ttl_left: found.is_some_and(|meta| matches!(meta.ttl, Remaining::For(_))),
        leases,
        counts_items: counts("curr_items"),
        counts_bytes: counts("bytes"),
    })
}

/// Whether an absent key gets a lease with a version, and an entry of a version can be marked as stale.
fn has_leases(control: &mut Links<NodePeer>) -> Result<bool> {
    let lease = ask(control, |connection| connection.get_or_lease(ABSENT, 1, &mut Vec::new()));
    let lease = match lease {
        // The lease has no version.
        Err(Error::Full { .. }) => None,
        lease => optional(lease)?,
    };
    let Some(Leasing::Lease { version, is_won: true, .. }) = lease else { return Ok(false) };
    let marked = ask(control, |connection| connection.mark(ABSENT, version, None));
    Ok(optional(marked)?.is_some())
}
