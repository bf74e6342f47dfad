//! `SET`, `ADD`, `REPLACE`, `APPEND`, `PREPEND` and their quiet variants: extras, the key, the value.
//!
//! Their source is sections 4.3 and 4.10 of the Memcache Binary Protocol (`protocol-binary.txt`).

use super::header::{Echo, Extras, Lengths, RequestHeader};
use super::{Status, reply};
use crate::storage::{StorageMode, StorageReply, StorageRequest};

/// A request as a server receives it. The value follows it, without an end of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// The request up to its value. Its mode is [`StorageMode::Cas`] for every `SET`, `ADD` and `REPLACE` with a
    /// version, as memcached takes them: the entry must exist then, even for `ADD`.
    pub header: StorageRequest<'a>,
    /// The version that the entry must have so that the value of `APPEND` or `PREPEND` is put beside its own.
    pub version: Option<u64>,
}

/// Reads the parts of a request. `APPEND` and `PREPEND` have no extras.
#[inline]
pub(super) fn parse_request<'a>(
    header: &RequestHeader,
    lengths: Lengths,
    mode: StorageMode,
    mut extras: Extras<'_>,
    key: &'a [u8],
) -> Request<'a> {
    let (flags, exptime) = (extras.next_u32(), extras.next_exptime());
    let (mode, version) = match (mode, header.condition()) {
        (StorageMode::Append | StorageMode::Prepend, version) => (mode, version),
        (_, Some(version)) => (StorageMode::Cas(version), None),
        (_, None) => (mode, None),
    };
    let header = StorageRequest { key, len: lengths.value, flags, exptime, mode };
    Request { header, version }
}

/// Writes the answer. Success has the version of the new entry, and a quiet command leaves it out.
#[inline]
pub fn encode_reply(out: &mut Vec<u8>, echo: Echo, mode: StorageMode, reply: StorageReply) {
    let status = match reply {
        StorageReply::Stored(version) => {
            return reply::encode_success(out, echo, version.unwrap_or(0));
        }
        StorageReply::Exists => Status::Exists,
        StorageReply::NotFound => Status::NotFound,
        StorageReply::NotStored => not_stored(mode),
    };
    reply::encode_error(out, echo, status);
}

/// The status of a value whose condition did not hold.
fn not_stored(mode: StorageMode) -> Status {
    match mode {
        StorageMode::Add => Status::Exists,
        StorageMode::Replace => Status::NotFound,
        StorageMode::Set | StorageMode::Append | StorageMode::Prepend | StorageMode::Cas(_) => {
            Status::NotStored
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binary::opcode;

    #[test]
    fn each_outcome_has_its_status() {
        let exists = StorageReply::Exists;
        for (mode, reply, status) in [
            (StorageMode::Set, StorageReply::Stored(Some(9)), Status::Success),
            (StorageMode::Add, StorageReply::NotStored, Status::Exists),
            (StorageMode::Replace, StorageReply::NotStored, Status::NotFound),
            (StorageMode::Append, StorageReply::NotStored, Status::NotStored),
            (StorageMode::Prepend, StorageReply::NotStored, Status::NotStored),
            (StorageMode::Append, exists, Status::Exists),
            (StorageMode::Cas(1), exists, Status::Exists),
            (StorageMode::Cas(1), StorageReply::NotFound, Status::NotFound),
        ] {
            let mut out = Vec::new();
            encode_reply(&mut out, Echo { opcode: opcode::SET, opaque: 0 }, mode, reply);
            assert_eq!(out[6..8], status.code().to_be_bytes(), "{mode:?} {reply:?}");
            let version = if status == Status::Success { 9 } else { 0 };
            assert_eq!(out[23], version, "{mode:?} {reply:?}");
            assert_eq!(&out[24..], status.text(), "{mode:?} {reply:?}");
        }
    }
}
