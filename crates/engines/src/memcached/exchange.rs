//! One operation on one connection, in either protocol.

use std::time::Duration;

use larder_protocol::storage::{StorageReply, StorageRequest};
use larder_protocol::{Malformed, Parse, Parsed, meta, text};
use larder_store::{Meta, Remaining, Result, SetOutcome};

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
    #[inline]
    pub(super) fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        match self.terms.wire {
            Wire::Text => self.get_text(key, value),
            Wire::Meta => self.get_meta(key, value),
        }
    }

    #[inline]
    fn get_text(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        text::get::encode_gets(&mut self.request, [key]);
        self.send()?;
        let is_ours = |found: &[u8]| (found == key).then_some(0);
        let header = self.receive(|input| match text::get::parse_hit(input, key) {
            Some((header, len)) => Ok(Parsed::Complete(Ok(Some(text_value(header, 0))), len)),
            None => text_header(input, is_ours),
        })?;
        let Some(header) = header else { return Ok(None) };
        self.receive_value(header.len, text::get::TAIL, value)?;
        Ok(Some(header.meta))
    }

    #[inline]
    fn get_meta(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        meta::get::encode(&mut self.request, key);
        self.send()?;
        let Some(header) = self.receive(meta_header)? else { return Ok(None) };
        self.receive_value(header.len, meta::get::TAIL, value)?;
        Ok(Some(header.meta))
    }

    pub(super) fn set(&mut self, request: &StorageRequest<'_>, value: &[u8]) -> Result<SetOutcome> {
        let reply = match self.terms.wire {
            Wire::Text => {
                text::set::encode_header(&mut self.request, request);
                self.send_value(value)?;
                self.receive(text::set::parse_reply)?
            }
            Wire::Meta => {
                meta::set::encode_header(&mut self.request, request);
                self.send_value(value)?;
                self.receive(meta::set::parse_reply)?
            }
        };
        Ok(match reply {
            StorageReply::Stored => SetOutcome::Stored,
            StorageReply::NotStored => SetOutcome::NotStored,
            StorageReply::Exists => SetOutcome::Exists,
            StorageReply::NotFound => SetOutcome::NotFound,
        })
    }

    pub(super) fn delete(&mut self, key: &[u8]) -> Result<bool> {
        match self.terms.wire {
            Wire::Text => {
                text::delete::encode(&mut self.request, key);
                self.send()?;
                self.receive(text::delete::parse_reply)
            }
            Wire::Meta => {
                meta::delete::encode(&mut self.request, key);
                self.send()?;
                self.receive(meta::delete::parse_reply)
            }
        }
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
                self.receive(meta::get::parse_touch_reply)
            }
        }
    }

    pub(super) fn incr(&mut self, key: &[u8], delta: i64) -> Result<Option<u64>> {
        match self.terms.wire {
            Wire::Text => {
                text::incr::encode(&mut self.request, key, delta);
                self.send()?;
                self.receive(text::incr::parse_reply)
            }
            Wire::Meta => {
                meta::arithmetic::encode(&mut self.request, key, delta);
                self.send()?;
                self.receive(meta::arithmetic::parse_reply)
            }
        }
    }

    pub(super) fn flush_all(&mut self) -> Result<()> {
        text::flush_all::encode(&mut self.request);
        self.send()?;
        self.receive(text::flush_all::parse_reply)
    }
}

/// Reads a line of the answer to `gets`; `None` is its end. `place` finds the key among those that wait for an answer;
/// a key that it does not find was never asked for.
pub(super) fn text_header(
    input: &[u8],
    place: impl FnOnce(&[u8]) -> Option<usize>,
) -> Parse<'_, Option<AnswerHeader>> {
    text::get::parse_reply(input)?.and_then(|reply| match reply {
        text::get::GetReply::End => Ok(None),
        text::get::GetReply::Value(value) => {
            let place = place(value.key).ok_or(Malformed { command: "gets" })?;
            Ok(Some(text_value(value, place)))
        }
    })
}

/// Reads the answer to `mg` up to its value; `None` is a miss.
pub(super) fn meta_header(input: &[u8]) -> Parse<'_, Option<AnswerHeader>> {
    if let Some((len, flags, header_len)) = meta::get::parse_hit(input) {
        return Ok(Parsed::Complete(Ok(Some(meta_value(len, flags))), header_len));
    }
    meta::get::parse_reply(input)?.and_then(|reply| {
        Ok(match reply {
            meta::get::GetReply::Miss => None,
            meta::get::GetReply::Value { len, flags } => Some(meta_value(len, flags)),
        })
    })
}

fn text_value(header: text::get::ValueHeader<'_>, place: usize) -> AnswerHeader {
    let version = known(header.version);
    let meta = Meta { flags: header.flags, version, ttl: Remaining::Unknown };
    AnswerHeader { len: header.len, meta, place }
}

fn meta_value(len: usize, flags: meta::ReplyFlags) -> AnswerHeader {
    let ttl = match flags.ttl_s.map(u64::try_from) {
        None => Remaining::Unknown,
        Some(Err(_)) => Remaining::Forever,
        Some(Ok(seconds)) => Remaining::For(Duration::from_secs(seconds)),
    };
    let meta = Meta { flags: flags.flags, version: known(flags.version), ttl };
    AnswerHeader { len, meta, place: 0 }
}

/// A server that keeps no versions sends 0, which is no version.
fn known(version: Option<u64>) -> Option<u64> {
    version.filter(|version| *version != 0)
}
