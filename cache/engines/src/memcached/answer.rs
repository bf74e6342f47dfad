//! Answers of a node, and what they tell.

use std::time::Duration;

use larder_protocol::meta::arithmetic::Changed;
use larder_protocol::storage::StorageReply;
use larder_protocol::{Malformed, Parse, Parsed, meta, text};
use larder_store::{Counted, Facts, Meta, Remaining, SetOutcome};

/// The header of a value.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnswerHeader {
    /// Length of the value.
    pub(super) len: usize,
    /// Metadata of the value.
    pub(super) meta: Meta,
}

/// A number of the text protocol, which tells no versions.
pub(super) fn unversioned(number: u64) -> Counted {
    Counted { number, version: None }
}

/// A number of the meta protocol.
pub(super) fn versioned(Changed { number, version }: Changed) -> Counted {
    Counted { number, version: known(version) }
}

/// Reads a line of the answer to `get` of a key; `None` is its end. Another key was never asked for.
pub(super) fn text_header<'i>(input: &'i [u8], key: &[u8]) -> Parse<'i, Option<AnswerHeader>> {
    text::get::parse_reply(input)?.and_then(|reply| match reply {
        text::get::GetReply::End => Ok(None),
        text::get::GetReply::Value(value) if value.key == key => {
            Ok(Some(AnswerHeader { len: value.len, meta: text_meta(value.flags) }))
        }
        text::get::GetReply::Value(_) => Err(Malformed { command: "get" }),
    })
}

/// An entry that a look finds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Looked {
    pub(super) facts: Facts,
    /// It is only the lease of a key that is absent.
    pub(super) is_lease: bool,
    /// The server tells this client alone that the entry is stale.
    pub(super) is_won: bool,
}

/// Reads what a look finds.
pub(super) fn looked(input: &[u8]) -> Parse<'_, Option<Looked>> {
    meta::get::parse_look_reply(input)?.and_then(|found| {
        let looked = |flags: meta::ReplyFlags| {
            let len = flags.len.ok_or(Malformed { command: "mg" })?;
            let meta = meta_value(len, flags).meta;
            let facts = Facts { was_hit: flags.was_hit, ..Facts::of(meta, len) };
            Ok(Looked { facts, is_lease: flags.is_lease(len), is_won: flags.is_won })
        };
        found.map(looked).transpose()
    })
}

/// The lease of a key that is absent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lease {
    /// Its version, if the server keeps versions.
    pub(super) version: Option<u64>,
    /// The server gives it to this client.
    pub(super) is_won: bool,
    /// It has no end.
    pub(super) lasts: bool,
}

/// What `mg` finds.
#[derive(Debug, Clone, Copy)]
pub(super) enum Found {
    Miss,
    /// It has no value.
    Lease(Lease),
    /// The value follows.
    Value(AnswerHeader),
}

/// Reads the answer to `mg` up to its value; `None` is a miss.
#[inline]
pub(super) fn meta_header(input: &[u8]) -> Parse<'_, Option<AnswerHeader>> {
    if let Some((len, flags, header_len)) = meta::get::parse_hit(input) {
        return Ok(Parsed::Complete(Ok(Some(meta_value(len, flags))), header_len));
    }
    meta_found(input)?.and_then(|found| {
        Ok(match found {
            Found::Value(header) => Some(header),
            Found::Miss | Found::Lease(_) => None,
        })
    })
}

/// The same, but it tells a lease from a miss.
pub(super) fn meta_found(input: &[u8]) -> Parse<'_, Found> {
    let parsed = meta::get::parse_reply(input)?;
    let Parsed::Complete(Ok(meta::get::GetReply::Value { len, flags }), header_len) = parsed else {
        return parsed.and_then(|_| Ok(Found::Miss));
    };
    if !flags.is_lease(len) {
        return Ok(Parsed::Complete(Ok(Found::Value(meta_value(len, flags))), header_len));
    }
    // The end of its empty value belongs to the answer.
    let whole = header_len + meta::get::TAIL.len();
    match input.get(header_len..whole) {
        None => Ok(Parsed::Incomplete),
        Some(tail) if tail == meta::get::TAIL => {
            let (version, lasts) = (known(flags.version), flags.ttl_s == Some(-1));
            let lease = Lease { version, is_won: flags.is_won, lasts };
            Ok(Parsed::Complete(Ok(Found::Lease(lease)), whole))
        }
        Some(_) => Err(Malformed { command: "mg" }),
    }
}

/// The outcome that an answer to `set` tells.
pub(super) fn set_outcome(reply: StorageReply) -> SetOutcome {
    match reply {
        StorageReply::Stored(version) => SetOutcome::Stored(known(version)),
        StorageReply::NotStored => SetOutcome::NotStored,
        StorageReply::Exists => SetOutcome::Exists,
        StorageReply::NotFound => SetOutcome::NotFound,
    }
}

/// The metadata that the text protocol tells.
#[inline]
pub(super) fn text_meta(flags: u32) -> Meta {
    Meta { flags, version: None, ttl: Remaining::Unknown, stale: false }
}

#[inline]
fn meta_value(len: usize, flags: meta::ReplyFlags) -> AnswerHeader {
    AnswerHeader { len, meta: meta_of(flags) }
}

/// The metadata that the flags of an answer tell.
#[inline]
pub(super) fn meta_of(flags: meta::ReplyFlags) -> Meta {
    let ttl = match flags.ttl_s.map(u64::try_from) {
        None => Remaining::Unknown,
        Some(Err(_)) => Remaining::Forever,
        Some(Ok(seconds)) => Remaining::For(Duration::from_secs(seconds)),
    };
    Meta { flags: flags.flags, version: known(flags.version), ttl, stale: flags.is_stale }
}

/// A server that keeps no versions sends 0, which is no version.
pub(super) fn known(version: Option<u64>) -> Option<u64> {
    version.filter(|version| *version != 0)
}
