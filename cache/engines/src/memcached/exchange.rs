//! One operation on one connection, in either protocol.

use std::time::Duration;

use larder_protocol::meta::arithmetic::{Change, Changed};
use larder_protocol::meta::delete::DeleteReply;
use larder_protocol::storage::{StorageReply, StorageRequest};
use larder_protocol::{Malformed, Parse, Parsed, meta, text};
use larder_store::{Counted, DeleteOutcome, Delta, Facts, Meta, Remaining, Result, SetOutcome};

use super::connection::{Connection, Wire};

/// The header of a value.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnswerHeader {
    /// Length of the value.
    pub(super) len: usize,
    /// Metadata of the value.
    pub(super) meta: Meta,
    /// The place of the value's key among the keys that wait for an answer.
    pub(super) place: usize,
}

impl Connection {
    /// Puts the value behind the bytes of `out`; an error leaves `out` as it was.
    #[inline]
    pub(super) fn get_onto(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<Option<Meta>> {
        match self.terms.wire {
            Wire::Text => {
                text::get::encode(&mut self.request, [key]);
                self.answer_get_text(key, out)
            }
            Wire::Meta => {
                meta::get::encode(&mut self.request, key);
                self.answer_get_meta(out)
            }
        }
    }

    /// As [`Self::get_onto`], in a request that also gives the entry a new TTL.
    pub(super) fn get_and_touch(
        &mut self,
        key: &[u8],
        exptime: i64,
        out: &mut Vec<u8>,
    ) -> Result<Option<Meta>> {
        match self.terms.wire {
            Wire::Text => {
                text::get::encode_get_and_touch(&mut self.request, key, exptime);
                self.answer_get_text(key, out)
            }
            Wire::Meta => {
                meta::get::encode_get_and_touch(&mut self.request, key, exptime);
                self.answer_get_and_touch_meta(key, out)
            }
        }
    }

    #[inline]
    fn answer_get_text(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<Option<Meta>> {
        self.send()?;
        let is_ours = |found: &[u8]| (found == key).then_some(0);
        let header = self.receive(|input| match text::get::parse_hit(input, key) {
            Some((header, len)) => Ok(Parsed::Complete(Ok(Some(text_value(header, 0))), len)),
            None => text_header(input, is_ours),
        })?;
        let Some(header) = header else { return Ok(None) };
        self.receive_value(header.len, text::get::TAIL, out)?;
        Ok(Some(header.meta))
    }

    #[inline]
    pub(super) fn answer_get_meta(&mut self, out: &mut Vec<u8>) -> Result<Option<Meta>> {
        self.send()?;
        let Some(header) = self.receive(meta_header)? else { return Ok(None) };
        self.receive_value(header.len, meta::get::TAIL, out)?;
        Ok(Some(header.meta))
    }

    /// Looks at an entry without its value, which only the meta protocol can.
    pub(super) fn look(&mut self, key: &[u8]) -> Result<Option<Facts>> {
        Ok(self.look_closely(key)?.filter(|found| !found.is_lease).map(|found| found.facts))
    }

    /// The same, but it tells a lease from a miss.
    pub(super) fn look_closely(&mut self, key: &[u8]) -> Result<Option<Looked>> {
        meta::get::encode_look(&mut self.request, key);
        self.send()?;
        self.receive_look()
    }

    /// Waits for what a look finds.
    pub(super) fn receive_look(&mut self) -> Result<Option<Looked>> {
        self.receive(|input| {
            meta::get::parse_look_reply(input)?.and_then(|found| {
                let looked = |flags: meta::ReplyFlags| {
                    let len = flags.len.ok_or(Malformed { command: "mg" })?;
                    let meta = meta_value(len, flags).meta;
                    let facts = Facts { was_hit: flags.was_hit, ..Facts::of(meta, len) };
                    Ok(Looked { facts, is_lease: flags.is_lease(len), is_won: flags.is_won })
                };
                found.map(looked).transpose()
            })
        })
    }

    pub(super) fn set(&mut self, request: &StorageRequest<'_>, value: &[u8]) -> Result<SetOutcome> {
        self.encode_set(request);
        self.send_value(value)?;
        self.receive_set(value.len())
    }

    /// Adds the header of a value to the request.
    pub(super) fn encode_set(&mut self, request: &StorageRequest<'_>) {
        match self.terms.wire {
            Wire::Text => text::set::encode_header(&mut self.request, request),
            Wire::Meta => meta::set::encode_header(&mut self.request, request),
        }
    }

    /// Waits for the outcome for a value of this length.
    pub(super) fn receive_set(&mut self, value_len: usize) -> Result<SetOutcome> {
        self.value_len = value_len;
        let reply = match self.terms.wire {
            Wire::Text => self.receive(text::set::parse_reply)?,
            Wire::Meta => self.receive(meta::set::parse_reply)?,
        };
        Ok(set_outcome(reply))
    }

    pub(super) fn delete(&mut self, key: &[u8]) -> Result<bool> {
        self.encode_delete(key);
        self.send()?;
        self.receive_delete()
    }

    /// Adds a delete to the request.
    pub(super) fn encode_delete(&mut self, key: &[u8]) {
        match self.terms.wire {
            Wire::Text => text::delete::encode(&mut self.request, key),
            Wire::Meta => meta::delete::encode(&mut self.request, key),
        }
    }

    /// Waits for the outcome of a delete.
    pub(super) fn receive_delete(&mut self) -> Result<bool> {
        match self.terms.wire {
            Wire::Text => self.receive(text::delete::parse_reply),
            Wire::Meta => self.receive(meta::delete::parse_reply),
        }
    }

    /// Deletes on condition of a version, which only the meta protocol can.
    pub(super) fn delete_if(&mut self, key: &[u8], version: u64) -> Result<DeleteOutcome> {
        meta::delete::encode_if(&mut self.request, key, version);
        self.send()?;
        Ok(match self.receive(meta::delete::parse_if_reply)? {
            DeleteReply::Deleted => DeleteOutcome::Deleted,
            DeleteReply::Exists => DeleteOutcome::Exists,
            DeleteReply::NotFound => DeleteOutcome::NotFound,
        })
    }

    pub(super) fn touch(&mut self, key: &[u8], exptime: i64) -> Result<bool> {
        match self.terms.wire {
            Wire::Text => {
                text::touch::encode(&mut self.request, key, exptime);
                self.send()?;
                self.receive(text::touch::parse_reply)
            }
            Wire::Meta => {
                meta::get::encode_touch(&mut self.request, key, exptime);
                self.send()?;
                let flags = self.receive(meta::get::parse_touch_reply)?;
                self.touched(key, flags)
            }
        }
    }

    /// Changes a number. `absent` has the number of an absent key and its end, which only the meta protocol takes.
    pub(super) fn incr(
        &mut self,
        key: &[u8],
        delta: Delta,
        absent: Option<(u64, i64)>,
    ) -> Result<Option<Counted>> {
        encode_incr(self.terms.wire, &mut self.request, key, &change_of(delta, absent));
        self.send()?;
        match self.terms.wire {
            Wire::Text => Ok(self.receive(text::incr::parse_reply)?.map(unversioned)),
            Wire::Meta => Ok(self.receive(meta::arithmetic::parse_reply)?.map(versioned)),
        }
    }

    pub(super) fn flush_all(&mut self) -> Result<()> {
        text::flush_all::encode(&mut self.request);
        self.send()?;
        self.receive(text::flush_all::parse_reply)
    }
}

/// The change of a number. `absent` has the number of an absent key and its end, which only the meta protocol takes.
pub(super) fn change_of(delta: Delta, absent: Option<(u64, i64)>) -> Change {
    match delta {
        Delta::Up(delta) => Change { delta, is_down: false, absent },
        Delta::Down(delta) => Change { delta, is_down: true, absent },
    }
}

/// Asks for a changed number.
pub(super) fn encode_incr(wire: Wire, out: &mut Vec<u8>, key: &[u8], change: &Change) {
    match wire {
        Wire::Text => text::incr::encode(out, key, change.delta, change.is_down),
        Wire::Meta => meta::arithmetic::encode(out, key, change),
    }
}

/// A number of the text protocol, which tells no versions.
pub(super) fn unversioned(number: u64) -> Counted {
    Counted { number, version: None }
}

/// A number of the meta protocol.
pub(super) fn versioned(Changed { number, version }: Changed) -> Counted {
    Counted { number, version: known(version) }
}

/// Reads a line of the answer to `get`; `None` is its end. `place` finds the key among those that wait for an answer;
/// a key that it does not find was never asked for.
pub(super) fn text_header(
    input: &[u8],
    place: impl FnOnce(&[u8]) -> Option<usize>,
) -> Parse<'_, Option<AnswerHeader>> {
    text::get::parse_reply(input)?.and_then(|reply| match reply {
        text::get::GetReply::End => Ok(None),
        text::get::GetReply::Value(value) => {
            let place = place(value.key).ok_or(Malformed { command: "get" })?;
            Ok(Some(text_value(value, place)))
        }
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

/// What `mg` finds.
#[derive(Debug, Clone, Copy)]
pub(super) enum Found {
    Miss,
    /// The lease of a key that is absent, with its version, and whether it has no end. It has no value.
    Lease {
        version: Option<u64>,
        is_won: bool,
        lasts: bool,
    },
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
            Found::Miss | Found::Lease { .. } => None,
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
            let found = Found::Lease { version, is_won: flags.is_won, lasts };
            Ok(Parsed::Complete(Ok(found), whole))
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

pub(super) fn text_value(header: text::get::ValueHeader<'_>, place: usize) -> AnswerHeader {
    AnswerHeader { len: header.len, meta: text_meta(header.flags), place }
}

/// The metadata that the text protocol tells.
#[inline]
pub(super) fn text_meta(flags: u32) -> Meta {
    Meta { flags, version: None, ttl: Remaining::Unknown, stale: false }
}

#[inline]
fn meta_value(len: usize, flags: meta::ReplyFlags) -> AnswerHeader {
    AnswerHeader { len, meta: meta_of(flags), place: 0 }
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
