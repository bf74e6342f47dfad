//! Answers to requests that were sent without waiting, and what reading them needs.

use std::io;
use std::sync::Arc;

use larder_protocol::text::get::GetReply;
use larder_protocol::{Malformed, Parse, Parsed, meta, text};
use larder_store::{Answer, Error, Meta, Result};

use super::SCHEME;
use super::address::Node;
use super::connection::Wire;
use super::exchange::{AnswerHeader, meta_header, set_outcome, text_header, text_value};
use super::keys::{Cursor, Keys};
use super::refusal;
use super::store::Shared;
use crate::pipelined::{Peer, Read};
use crate::socket::Socket;

/// The bytes between a value and the next line.
const END_OF_VALUE: &[u8; 2] = b"\r\n";

/// A node at the other end of a link.
#[derive(Debug)]
pub(super) struct NodePeer {
    shared: Arc<Shared>,
    node: Arc<Node>,
    wire: Wire,
    /// The keys of reads in the text protocol, whose answers name them.
    pub(super) keys: Keys,
    /// The length of the line with several keys that is being put together.
    pub(super) line_len: usize,
}

/// A request that has no answer yet.
#[derive(Debug)]
pub(super) enum Asked {
    Get,
    /// Reads keys of which `next` is the first without an answer.
    GetMany {
        n_keys: u32,
        next: u32,
    },
    /// The same in the text protocol, which says nothing of keys that are absent.
    GetManyText {
        n_keys: u32,
        cursor: Cursor,
    },
    /// Stores a value of this length.
    Set {
        value_len: usize,
    },
    /// Removes a key whose new value, of this length, is too long to be sent.
    Oversized {
        value_len: usize,
    },
    Delete,
    Touch,
}

impl NodePeer {
    pub(super) fn new(shared: &Arc<Shared>, node: &Arc<Node>) -> Self {
        let (shared, node) = (Arc::clone(shared), Arc::clone(node));
        let wire = shared.terms().wire;
        Self { shared, node, wire, keys: Keys::default(), line_len: 0 }
    }

    /// What an answer without a value tells.
    #[inline]
    fn told<'i, T>(
        &self,
        parsed: Parse<'i, T>,
        value_len: usize,
        input: &'i [u8],
        tell: impl FnOnce(T) -> Answer<'i>,
    ) -> Read<'i> {
        match parsed {
            Ok(Parsed::Complete(Ok(answer), len)) => Read::Told(tell(answer), len),
            Ok(Parsed::Incomplete) => Read::Incomplete(0),
            Ok(Parsed::Complete(Err(refusal), len)) => {
                let limit = self.shared.max_value_len();
                let error = refusal::refused(&self.node, limit, value_len, refusal);
                // Other refusals may be only a part of an answer.
                if refusal::is_whole_answer(&error) {
                    Read::Told(Answer::Failed(error), len)
                } else {
                    Read::Broken(error)
                }
            }
            Err(malformed) => self.malformed(malformed, input),
        }
    }

    #[cold]
    fn malformed<'i>(&self, malformed: Malformed, input: &[u8]) -> Read<'i> {
        Read::Broken(refusal::malformed(&self.node, malformed, input))
    }

    /// What a value tells, whose header takes `header_len` bytes.
    #[inline]
    fn value<'i, const N: usize>(
        &self,
        input: &'i [u8],
        header_len: usize,
        header: AnswerHeader,
        tail: &[u8; N],
        tell: impl FnOnce(&'i [u8], Meta) -> Answer<'i>,
    ) -> Read<'i> {
        let end = header_len + header.len;
        let Some(behind) = input.get(end..end + N) else {
            return Read::Incomplete(end + N);
        };
        if behind != tail {
            return Read::Broken(refusal::no_end(&self.node, behind));
        }
        Read::Told(tell(&input[header_len..end], header.meta), end + N)
    }

    #[inline]
    fn read_meta<'i>(&self, input: &'i [u8]) -> Read<'i> {
        match meta_header(input) {
            Ok(Parsed::Complete(Ok(Some(header)), len)) => {
                let hit = |value, meta| Answer::Hit { value, meta };
                self.value(input, len, header, meta::get::TAIL, hit)
            }
            parsed => self.told(parsed, 0, input, |_| Answer::Miss),
        }
    }

    #[inline]
    fn read_text<'i>(&mut self, input: &'i [u8]) -> Read<'i> {
        let key = self.keys.first();
        let parsed = match text::get::parse_hit(input, key) {
            Some((header, len)) => Ok(Parsed::Complete(Ok(Some(text_value(header, 0))), len)),
            None => text_header(input, |found| (found == key).then_some(0)),
        };
        let read = match parsed {
            Ok(Parsed::Complete(Ok(Some(header)), len)) => {
                let hit = |value, meta| Answer::Hit { value, meta };
                self.value(input, len, header, text::get::TAIL, hit)
            }
            parsed => self.told(parsed, 0, input, |_| Answer::Miss),
        };
        if let Read::Told(..) = &read {
            self.keys.remove(1);
        }
        read
    }

    /// Reads the answer to the `next` key of several, which come in the order of the request.
    fn read_many_meta<'i>(&self, input: &'i [u8], n_keys: u32, next: &mut u32) -> Read<'i> {
        if *next == n_keys {
            return Read::Told(Answer::End, 0);
        }
        let place = *next as usize;
        let read = match meta_header(input) {
            Ok(Parsed::Complete(Ok(Some(header)), len)) => {
                let entry = |value, meta| Answer::Entry { place, value, meta };
                self.value(input, len, header, meta::get::TAIL, entry)
            }
            Ok(Parsed::Complete(Ok(None), len)) => Read::Skipped(len),
            parsed => part_of_answer(self.told(parsed, 0, input, |_| Answer::Miss)),
        };
        if let Read::Told(..) | Read::Skipped(_) = &read {
            *next += 1;
        }
        read
    }

    /// Reads a value of several keys, or the end of them.
    #[inline]
    fn read_many_text<'i>(
        &mut self,
        input: &'i [u8],
        n_keys: u32,
        cursor: &mut Cursor,
    ) -> Read<'i> {
        let next = self.keys.at(*cursor);
        match text::get::parse_hit(input, next) {
            Some((header, len)) if cursor.place < n_keys => {
                let place = cursor.place as usize;
                let entry = |value, meta| Answer::Entry { place, value, meta };
                let read = self.value(input, len, text_value(header, place), END_OF_VALUE, entry);
                if let Read::Told(..) = &read {
                    cursor.advance(next);
                }
                read
            }
            _ => self.search_many_text(input, n_keys, cursor),
        }
    }

    /// The same where the next key is absent. A proxy may answer in another order than asked.
    fn search_many_text<'i>(
        &mut self,
        input: &'i [u8],
        n_keys: u32,
        cursor: &mut Cursor,
    ) -> Read<'i> {
        let (header, len) = match text::get::parse_reply(input) {
            Ok(Parsed::Complete(Ok(GetReply::Value(header)), len)) => (header, len),
            Ok(Parsed::Complete(Ok(GetReply::End), len)) => {
                self.keys.remove(n_keys);
                return Read::Told(Answer::End, len);
            }
            parsed => return part_of_answer(self.told(parsed, 0, input, |_| Answer::End)),
        };
        let whole = len + header.len + END_OF_VALUE.len();
        if input.len() < whole {
            return Read::Incomplete(whole);
        }
        let Some(place) = self.keys.find(header.key, n_keys, cursor) else {
            return self.malformed(Malformed { command: "get" }, input);
        };
        let place = place as usize;
        let entry = |value, meta| Answer::Entry { place, value, meta };
        self.value(input, len, text_value(header, place), END_OF_VALUE, entry)
    }
}

/// A refusal in place of one of several answers, which may be the whole of any number of them.
fn part_of_answer(read: Read<'_>) -> Read<'_> {
    match read {
        Read::Told(Answer::Failed(error), _) => Read::Broken(error),
        read => read,
    }
}

impl Peer for NodePeer {
    type Asked = Asked;

    fn open(&mut self) -> Result<Socket> {
        let socket = self.node.connect(self.shared.terms().timeout);
        let socket = socket.map_err(|error| self.failed(error))?;
        self.shared.count_connection();
        Ok(socket)
    }

    fn packet_len(&self) -> Option<usize> {
        self.node.packet_len()
    }

    #[inline]
    fn read<'i>(&mut self, asked: &mut Asked, input: &'i [u8]) -> Read<'i> {
        let wire = self.wire;
        match asked {
            Asked::Get if wire == Wire::Meta => self.read_meta(input),
            Asked::Get => self.read_text(input),
            Asked::GetMany { n_keys, next } => self.read_many_meta(input, *n_keys, next),
            Asked::GetManyText { n_keys, cursor } => self.read_many_text(input, *n_keys, cursor),
            Asked::Set { value_len } => {
                let parsed = match wire {
                    Wire::Text => text::set::parse_reply(input),
                    Wire::Meta => meta::set::parse_reply(input),
                };
                self.told(parsed, *value_len, input, |reply| Answer::Stored(set_outcome(reply)))
            }
            Asked::Oversized { value_len } => {
                let too_large = self.shared.too_large(*value_len);
                self.told(parse_delete(wire, input), 0, input, |_| Answer::Failed(too_large))
            }
            Asked::Delete => self.told(parse_delete(wire, input), 0, input, Answer::Found),
            Asked::Touch if wire == Wire::Text => {
                self.told(text::touch::parse_reply(input), 0, input, Answer::Found)
            }
            // A lease of an absent key is no entry. If it has no end now, the next reader takes it away.
            Asked::Touch => self.told(meta::get::parse_touch_reply(input), 0, input, |flags| {
                Answer::Found(flags.is_some_and(|flags| !flags.is_lease(0)))
            }),
        }
    }

    fn forget(&mut self) {
        self.keys = Keys::default();
        self.line_len = 0;
    }

    fn failed(&self, source: io::Error) -> Error {
        refusal::failed(&self.node, self.shared.terms().timeout, source)
    }

    fn unasked(&self, received: &[u8]) -> Error {
        refusal::unasked(&self.node, received)
    }

    fn lost_behind(&self) -> Error {
        let what = format!("{}: the answer is lost behind a malformed one", self.node);
        Error::Unavailable { engine: SCHEME, what, source: None }
    }
}

fn parse_delete(wire: Wire, input: &[u8]) -> Parse<'_, bool> {
    match wire {
        Wire::Text => text::delete::parse_reply(input),
        Wire::Meta => meta::delete::parse_reply(input),
    }
}
