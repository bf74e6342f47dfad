//! Requests in either protocol.

use larder_protocol::meta::arithmetic::Change;
use larder_protocol::storage::StorageRequest;
use larder_protocol::{meta, text};
use larder_store::Delta;

use super::keys::Cursor;
use super::outstanding::{NodePeer, SentRequest};
use super::terms::Wire;
use crate::pipelined::Link;

/// The beginning of a line that asks for several keys, and the end of a line.
pub(super) const GET: &[u8] = b"get";
pub(super) const LINE_END: &[u8] = b"\r\n";

/// The longest line of a request for several keys. A server keeps a line in memory until it has all of it.
pub(super) const LINE_LEN: usize = 32 * 1024;

/// Asks for a value.
#[inline]
pub(super) fn add_get(wire: Wire, link: &mut Link<NodePeer>, key: &[u8]) {
    match wire {
        Wire::Meta => meta::get::encode(link.output(), key),
        Wire::Text => {
            text::get::encode(link.output(), [key]);
            link.peer.keys.push(key);
        }
    }
}

/// Asks for many values; in the text protocol by one line.
pub(super) fn add_get_many<'k>(
    wire: Wire,
    link: &mut Link<NodePeer>,
    keys: impl Iterator<Item = &'k [u8]> + Clone,
) {
    match wire {
        Wire::Meta => keys.for_each(|key| meta::get::encode(link.output(), key)),
        Wire::Text => {
            let line = link.output().len() + GET.len();
            text::get::encode(link.output(), keys.clone());
            let (output, peer) = link.output_and_peer();
            let line = &output[line..output.len() - LINE_END.len()];
            peer.keys.push_line(line, keys.map(<[u8]>::len));
        }
    }
}

/// What is sent with [`add_get_many`].
pub(super) fn asked_of_many(wire: Wire, n_keys: usize) -> SentRequest {
    let n_keys = u32::try_from(n_keys).unwrap_or(u32::MAX);
    match wire {
        Wire::Meta => SentRequest::GetMany { n_keys, next: 0 },
        Wire::Text => SentRequest::GetManyText { n_keys, cursor: Cursor::default() },
    }
}

/// Asks for a value, and gives the entry a new TTL.
pub(super) fn add_get_and_touch(wire: Wire, link: &mut Link<NodePeer>, key: &[u8], exptime: i64) {
    match wire {
        Wire::Meta => meta::get::encode_get_and_touch(link.output(), key, exptime),
        Wire::Text => {
            text::get::encode_get_and_touch(link.output(), key, exptime);
            link.peer.keys.push(key);
        }
    }
}

/// Stores a value.
#[inline]
pub(super) fn add_set(
    wire: Wire,
    link: &mut Link<NodePeer>,
    request: &StorageRequest<'_>,
    value: &[u8],
) {
    match wire {
        Wire::Text => text::set::encode_header(link.output(), request),
        Wire::Meta => meta::set::encode_header(link.output(), request),
    }
    link.add_value(value, |out| out.extend_from_slice(LINE_END));
}

/// Removes a key.
pub(super) fn add_delete(wire: Wire, link: &mut Link<NodePeer>, key: &[u8]) {
    match wire {
        Wire::Text => text::delete::encode(link.output(), key),
        Wire::Meta => meta::delete::encode(link.output(), key),
    }
}

/// Gives an entry a new TTL.
pub(super) fn add_touch(wire: Wire, link: &mut Link<NodePeer>, key: &[u8], exptime: i64) {
    match wire {
        Wire::Text => text::touch::encode(link.output(), key, exptime),
        Wire::Meta => meta::get::encode_touch(link.output(), key, exptime),
    }
}

/// Changes a number.
pub(super) fn add_incr(wire: Wire, link: &mut Link<NodePeer>, key: &[u8], change: &Change) {
    match wire {
        Wire::Text => text::incr::encode(link.output(), key, change.delta, change.is_down),
        Wire::Meta => meta::arithmetic::encode(link.output(), key, change),
    }
}

/// The change of a number. `absent` has the number of an absent key and its end, which only the meta protocol takes.
pub(super) fn change_of(delta: Delta, absent: Option<(u64, i64)>) -> Change {
    match delta {
        Delta::Up(delta) => Change { delta, is_down: false, absent },
        Delta::Down(delta) => Change { delta, is_down: true, absent },
    }
}
