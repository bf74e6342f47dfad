//! Requests that were sent, and their answers.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use larder_protocol::meta::ReplyFlags;
use larder_protocol::meta::arithmetic::Changed;
use larder_protocol::meta::delete::DeleteReply;
use larder_protocol::storage::StorageReply;
use larder_protocol::text::get::GetReply;
use larder_protocol::{Malformed, Parse, Parsed, Refusal, meta, text};
use larder_store::{Answer, Error, Meta, Result};

use super::SCHEME;
use super::address::Node;
use super::answer::{
    AnswerHeader, meta_header, meta_of, set_outcome, text_header, text_meta, unversioned, versioned,
};
use super::errors;
use super::keys::{Cursor, Keys};
use super::reply::Reply;
use super::terms::{Terms, Wire};
use crate::pipelined::{Arriving, Peer, Read};
use crate::socket::Socket;

/// The bytes between a value and the next line.
const END_OF_VALUE: &[u8; 2] = b"\r\n";

/// A node at the other end of a link.
#[derive(Debug)]
pub(super) struct NodePeer {
    pub(super) node: Arc<Node>,
    pub(super) terms: Terms,
    /// The connections that were opened, of all sessions.
    n_connections: Arc<AtomicU64>,
    /// Answers that only calls ask for which wait, each with the number of its request.
    pub(super) replies: Vec<(usize, Reply)>,
    /// The first of the two answers to the foremost request, where that has come and the other has not.
    pub(super) changed: Option<Result<DeleteReply>>,
    counted: Option<Result<Option<u64>>>,
    /// The statistics of the foremost request that have come.
    pub(super) stats: BTreeMap<String, String>,
    /// The keys of reads in the text protocol, whose answers name them.
    pub(super) keys: Keys,
    /// The length of the line with several keys that is being put together.
    pub(super) line_len: usize,
}

/// A request that has no answer yet.
#[derive(Debug)]
pub(super) enum SentRequest {
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
    Incr,
    /// As [`Self::Get`] in the meta protocol, which may meet a lease: [`Reply::Lease`].
    GetAndTouch,
    /// The same, where an absent key gets a lease.
    GetOrLease {
        id: u32,
    },
    /// Looks at an entry: [`Reply::Looked`].
    Look {
        id: u32,
    },
    /// Removes or marks an entry of a certain version: [`Reply::Changed`].
    Change {
        id: u32,
    },
    /// Marks an entry and looks at it: [`Reply::Marked`].
    MarkAndLook {
        id: u32,
    },
    /// Changes two entries: [`Reply::Changed`] tells of the first.
    ChangeTwo {
        id: u32,
    },
    /// Gives an entry a new TTL in the meta protocol: [`Reply::Touched`].
    TouchClosely,
    Flush,
    /// [`Reply::Version`].
    Version,
    Noop,
    /// [`Reply::Stats`].
    Stats,
    /// Counts in the text protocol, and then stores the initial number where the key was absent.
    IncrOrAdd {
        initial: u64,
    },
}

impl NodePeer {
    pub(super) fn new(node: &Arc<Node>, terms: Terms, n_connections: &Arc<AtomicU64>) -> Self {
        Self {
            node: Arc::clone(node),
            terms,
            n_connections: Arc::clone(n_connections),
            replies: Vec::new(),
            changed: None,
            counted: None,
            stats: BTreeMap::new(),
            keys: Keys::default(),
            line_len: 0,
        }
    }

    /// Passes on an answer without a value, as `of` makes it of the parsed reply.
    #[inline]
    pub(super) fn answer<'i, T>(
        &self,
        parsed: Parse<'i, T>,
        value_len: usize,
        input: &'i [u8],
        of: impl FnOnce(T) -> Answer<'i>,
        report: impl FnOnce(Answer<'i>),
    ) -> Read {
        match parsed {
            Ok(Parsed::Complete(Ok(answer), len)) => {
                report(of(answer));
                Read::Last(len)
            }
            Ok(Parsed::Complete(Err(refused), len)) => {
                let error = self.refused(value_len, refused);
                // Other refusals may be only a part of an answer.
                if !errors::is_whole_answer(&error) {
                    return Read::Broken(error);
                }
                report(Answer::Failed(error));
                Read::Last(len)
            }
            Ok(Parsed::Incomplete) => Read::Incomplete(0),
            Err(malformed) => self.malformed(malformed, input),
        }
    }

    /// What the bytes are in place of one of several answers. A refusal may be the whole of any number of them.
    #[cold]
    fn no_part<T>(&self, parsed: &Parse<'_, T>, input: &[u8]) -> Read {
        match parsed {
            Ok(Parsed::Incomplete) => Read::Incomplete(0),
            Ok(Parsed::Complete(Ok(_), len)) => Read::More(*len),
            Ok(Parsed::Complete(Err(refused), _)) => Read::Broken(self.refused(0, *refused)),
            Err(malformed) => self.malformed(*malformed, input),
        }
    }

    #[cold]
    pub(super) fn refused(&self, value_len: usize, refused: Refusal<'_>) -> Error {
        errors::refused(&self.node, self.terms.max_value_len, value_len, refused)
    }

    #[cold]
    pub(super) fn malformed(&self, malformed: Malformed, input: &[u8]) -> Read {
        Read::Broken(errors::malformed(&self.node, malformed, input))
    }

    /// Reads the value behind a header of `header_len` bytes, and the `tail` behind it. `read` is what all these bytes are.
    ///
    /// Metadata that `report` puts together just where it passes them on are not copied on the way.
    #[inline]
    fn value<'i, const N: usize>(
        &self,
        input: &'i [u8],
        header_len: usize,
        value_len: usize,
        tail: &[u8; N],
        read: fn(usize) -> Read,
        report: impl FnOnce(&'i [u8]),
    ) -> Read {
        let end = header_len + value_len;
        let whole = end + N;
        match input.get(end..whole) {
            Some(behind) if behind == tail => {
                report(&input[header_len..end]);
                read(whole)
            }
            Some(behind) => Read::Broken(errors::no_end(&self.node, behind)),
            None => Read::Incomplete(whole),
        }
    }

    /// The same, where the value is the whole answer.
    #[inline]
    pub(super) fn one_value<'i, const N: usize>(
        &self,
        input: &'i [u8],
        header_len: usize,
        value_len: usize,
        tail: &'static [u8; N],
        meta: impl Fn() -> Meta,
        report: impl FnOnce(Answer<'i>),
    ) -> Read {
        let hit = |value| report(Answer::Hit { value, meta: meta() });
        match self.value(input, header_len, value_len, tail, Read::Last, hit) {
            Read::Incomplete(_) => {
                Read::Value(Arriving { head_len: header_len, value_len, tail, meta: meta() })
            }
            read => read,
        }
    }

    #[inline]
    fn read_meta<'i>(&self, input: &'i [u8], report: impl FnOnce(Answer<'i>)) -> Read {
        const TAIL: &[u8; 2] = meta::get::TAIL;
        if let Some((len, flags, header_len)) = meta::get::parse_hit(input) {
            return self.one_value(input, header_len, len, TAIL, || meta_of(flags), report);
        }
        match meta_header(input) {
            Ok(Parsed::Complete(Ok(Some(AnswerHeader { len, meta })), header_len)) => {
                self.one_value(input, header_len, len, TAIL, || meta, report)
            }
            parsed => self.answer(parsed, 0, input, |_| Answer::Miss, report),
        }
    }

    #[inline]
    fn read_text<'i>(&mut self, input: &'i [u8], report: impl FnOnce(Answer<'i>)) -> Read {
        const TAIL: &[u8; 7] = text::get::TAIL;
        let key = self.keys.first();
        let read = if let Some((header, header_len)) = text::get::parse_hit(input, key) {
            let meta = || text_meta(header.flags);
            self.one_value(input, header_len, header.len, TAIL, meta, report)
        } else {
            match text_header(input, key) {
                Ok(Parsed::Complete(Ok(Some(AnswerHeader { len, meta })), header_len)) => {
                    self.one_value(input, header_len, len, TAIL, || meta, report)
                }
                parsed => self.answer(parsed, 0, input, |_| Answer::Miss, report),
            }
        };
        if let Read::Last(_) = &read {
            self.keys.remove_first();
        }
        read
    }

    /// Reads the answer to the `next` key of several, which come in the order of the request.
    #[inline]
    fn read_many_meta<'i>(
        &self,
        input: &'i [u8],
        n_keys: u32,
        next: &mut u32,
        report: impl FnOnce(Answer<'i>),
    ) -> Read {
        if *next == n_keys {
            report(Answer::End);
            return Read::Last(0);
        }
        let place = *next as usize;
        let read = if let Some((len, flags, header_len)) = meta::get::parse_hit(input) {
            let entry = |value| report(Answer::Entry { place, value, meta: meta_of(flags) });
            self.value(input, header_len, len, meta::get::TAIL, Read::More, entry)
        } else {
            self.read_other_meta(input, place, report)
        };
        if let Read::More(_) = &read {
            *next += 1;
        }
        read
    }

    /// Reads a miss, or a hit with flags that nobody asked for.
    fn read_other_meta<'i>(
        &self,
        input: &'i [u8],
        place: usize,
        report: impl FnOnce(Answer<'i>),
    ) -> Read {
        match meta_header(input) {
            Ok(Parsed::Complete(Ok(Some(AnswerHeader { len, meta })), header_len)) => {
                let entry = |value| report(Answer::Entry { place, value, meta });
                self.value(input, header_len, len, meta::get::TAIL, Read::More, entry)
            }
            parsed => self.no_part(&parsed, input),
        }
    }

    /// Reads a value of several keys, or the end of them.
    #[inline]
    fn read_many_text<'i>(
        &mut self,
        input: &'i [u8],
        n_keys: u32,
        cursor: &mut Cursor,
        report: impl FnOnce(Answer<'i>),
    ) -> Read {
        let next = self.keys.at(*cursor);
        match text::get::parse_hit(input, next) {
            Some((header, header_len)) if cursor.place < n_keys => {
                let place = cursor.place as usize;
                let entry =
                    |value| report(Answer::Entry { place, value, meta: text_meta(header.flags) });
                let read =
                    self.value(input, header_len, header.len, END_OF_VALUE, Read::More, entry);
                if let Read::More(_) = &read {
                    cursor.advance(next);
                }
                read
            }
            _ => self.search_many_text(input, n_keys, cursor, report),
        }
    }

    /// The same where the next key is absent. A proxy may answer in another order than asked.
    #[inline(never)]
    fn search_many_text<'i>(
        &mut self,
        input: &'i [u8],
        n_keys: u32,
        cursor: &mut Cursor,
        report: impl FnOnce(Answer<'i>),
    ) -> Read {
        let (header, header_len) = match text::get::parse_reply(input) {
            Ok(Parsed::Complete(Ok(GetReply::Value(header)), len)) => (header, len),
            Ok(Parsed::Complete(Ok(GetReply::End), len)) => {
                self.keys.remove_all(n_keys, *cursor);
                report(Answer::End);
                return Read::Last(len);
            }
            parsed => return self.no_part(&parsed, input),
        };
        let mut found = None;
        let keep = |value| found = Some(value);
        let read = self.value(input, header_len, header.len, END_OF_VALUE, Read::More, keep);
        let Some(value) = found else { return read };
        let Some(place) = self.keys.find(header.key, n_keys, cursor) else {
            return self.malformed(Malformed { command: "get" }, input);
        };
        report(Answer::Entry { place: place as usize, value, meta: text_meta(header.flags) });
        read
    }
}

impl NodePeer {
    /// Reads the answer to the `add` behind an `incr`, and passes on what both tell.
    fn read_add<'i>(
        &mut self,
        input: &'i [u8],
        initial: u64,
        report: impl FnOnce(Answer<'i>),
    ) -> Read {
        let (outcome, len) = match text::set::parse_reply(input) {
            Ok(Parsed::Complete(outcome, len)) => (outcome, len),
            Ok(Parsed::Incomplete) => return Read::Incomplete(0),
            Err(malformed) => return self.malformed(malformed, input),
        };
        let outcome = outcome.map_err(|refused| self.refused(0, refused));
        let answer = match (self.counted.take(), outcome) {
            (_, Err(error)) if !errors::is_whole_answer(&error) => return Read::Broken(error),
            (Some(Ok(Some(number))), _) => Answer::Counted(Some(unversioned(number))),
            (Some(Err(error)), _) | (_, Err(error)) => Answer::Failed(error),
            (_, Ok(StorageReply::Stored(_))) => Answer::Counted(Some(unversioned(initial))),
            (_, Ok(_)) => {
                let what = format!("{}: another client stored the key meanwhile", self.node);
                Answer::Failed(Error::Busy { engine: SCHEME, what })
            }
        };
        report(answer);
        Read::Last(len)
    }
}

impl Peer for NodePeer {
    type SentRequest = SentRequest;
    type Reply = Reply;

    fn open(&mut self, within: Duration) -> Result<Socket> {
        let socket = self.node.connect(within);
        let socket = socket.map_err(|error| self.failed(error, within))?;
        self.n_connections.fetch_add(1, Ordering::Relaxed);
        Ok(socket)
    }

    fn replies(&mut self) -> &mut Vec<(usize, Reply)> {
        &mut self.replies
    }

    fn end_value(&mut self) {
        if self.terms.wire == Wire::Text {
            self.keys.remove_first();
        }
    }

    fn packet_len(&self) -> Option<usize> {
        self.node.packet_len()
    }

    #[inline]
    fn read<'i>(
        &mut self,
        asked: &mut SentRequest,
        input: &'i [u8],
        report: impl FnOnce(Answer<'i>),
    ) -> Read {
        let wire = self.terms.wire;
        match asked {
            SentRequest::Get if wire == Wire::Meta => self.read_meta(input, report),
            SentRequest::Get => self.read_text(input, report),
            SentRequest::GetMany { n_keys, next } => {
                self.read_many_meta(input, *n_keys, next, report)
            }
            SentRequest::GetManyText { n_keys, cursor } => {
                self.read_many_text(input, *n_keys, cursor, report)
            }
            SentRequest::Set { value_len } => {
                let parsed = match wire {
                    Wire::Text => text::set::parse_reply(input),
                    Wire::Meta => meta::set::parse_reply(input),
                };
                let stored = |reply| Answer::Stored(set_outcome(reply));
                self.answer(parsed, *value_len, input, stored, report)
            }
            SentRequest::Oversized { value_len } => {
                let too_large = |_| Answer::Failed(self.terms.too_large(*value_len));
                let parsed = parse_delete(wire, input);
                self.answer(parsed, 0, input, too_large, report)
            }
            SentRequest::Delete => {
                self.answer(parse_delete(wire, input), 0, input, Answer::Found, report)
            }
            SentRequest::Touch if wire == Wire::Text => {
                self.answer(text::touch::parse_reply(input), 0, input, Answer::Found, report)
            }
            // A lease of an absent key is no entry. If it has no end now, the next reader takes it away.
            SentRequest::Touch => {
                let found = |flags: Option<ReplyFlags>| {
                    Answer::Found(flags.is_some_and(|flags| !flags.is_lease(0)))
                };
                self.answer(meta::get::parse_touch_reply(input), 0, input, found, report)
            }
            SentRequest::Incr if wire == Wire::Text => {
                let answer = |number: Option<u64>| Answer::Counted(number.map(unversioned));
                self.answer(text::incr::parse_reply(input), 0, input, answer, report)
            }
            SentRequest::Incr => {
                let answer = |changed: Option<Changed>| Answer::Counted(changed.map(versioned));
                self.answer(meta::arithmetic::parse_reply(input), 0, input, answer, report)
            }
            SentRequest::IncrOrAdd { .. } if self.counted.is_none() => {
                match self.first_of_two(text::incr::parse_reply(input), input) {
                    Ok((told, len)) => {
                        self.counted = Some(told);
                        Read::More(len)
                    }
                    Err(read) => read,
                }
            }
            SentRequest::IncrOrAdd { initial } => self.read_add(input, *initial, report),
            other => self.read_for_call(other, input, report),
        }
    }

    fn forget(&mut self) {
        self.keys = Keys::default();
        self.line_len = 0;
        (self.changed, self.counted) = (None, None);
        self.stats.clear();
    }

    fn failed(&self, source: io::Error, waited: Duration) -> Error {
        errors::failed(&self.node, waited, source)
    }

    fn no_end(&self, behind: &[u8]) -> Error {
        errors::no_end(&self.node, behind)
    }

    fn unasked(&self, received: &[u8]) -> Error {
        errors::unasked(&self.node, received)
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
