//! Requests that were sent, and their answers.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use larder_protocol::Parsed;
use larder_protocol::resp::{ParsedValue, Reply, ServerError, Value, parse_reply, parse_value};
use larder_store::{Answer, Counted, Error, Meta, Remaining, SetOutcome};

use super::address::Node;
use super::routing::doubt_in;
use super::shared::Shared;
use super::{SCHEME, errors};
use crate::pipelined::{Arriving, Peer, Read};
use crate::socket::Socket;

/// The end of a value.
const END: &[u8; 2] = b"\r\n";

/// The metadata of every value. A constant is copied at once, and what is put together just before the copy is not.
const NO_META: Meta = Meta { flags: 0, version: None, ttl: Remaining::Unknown, stale: false };

/// A node at the other end of a link.
#[derive(Debug)]
pub(super) struct NodePeer {
    shared: Arc<Shared>,
    pub(super) node: Arc<Node>,
    doubts: Arc<Doubts>,
    /// The number of its link.
    pub(super) link: usize,
    /// Whether the server knows the script that counts, as far as its answers show.
    pub(super) knows_incr: bool,
    /// Where the caller waits, the replies that it reads itself, each with the number of its request. The answer to such a
    /// request is [`Answer::End`].
    replies: Vec<(usize, Value)>,
    /// Whether the caller reads refusals itself, because it follows redirections.
    passes_refusals: bool,
}

/// A request that has no answer yet.
#[derive(Debug)]
pub(super) enum SentRequest {
    /// Reads a value by this command.
    Get(&'static str),
    /// Reads several keys, of which `next` is the first without an answer. Before that, the head of the answer is due.
    GetMany {
        n_keys: u32,
        next: Option<u32>,
        /// The number of the request, where its caller waits.
        id: u32,
    },
    /// Any command, whose reply the caller reads itself.
    Own {
        command: &'static str,
        /// The number of the request.
        id: u32,
    },
    Set,
    /// Puts a text behind a value, or before it.
    Join,
    /// Removes a key whose new value, of this length, is too long to be sent.
    Oversized {
        value_len: usize,
    },
    /// Asks, by this command, whether a key is there.
    Found(&'static str),
    /// Counts a number, by a script.
    Incr,
}

/// The first sign since the last look that the layout of a cluster may have changed. The links of a session share it.
#[derive(Debug, Default)]
pub(super) struct Doubts(AtomicUsize);

impl Doubts {
    /// Whether there is a sign.
    #[inline]
    pub(super) fn are_there(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// The link that gave the sign, and whether its node is lost.
    pub(super) fn first(&self) -> Option<(usize, bool)> {
        let sign = self.0.load(Ordering::Relaxed).checked_sub(1)?;
        Some((sign / 2, sign % 2 == 1))
    }

    /// Forgets the sign, because the layout is new.
    pub(super) fn forget(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    pub(super) fn note(&self, link: usize, is_lost: bool) {
        let sign = 2 * link + usize::from(is_lost) + 1;
        // An error means that there is an earlier sign.
        let _ = self.0.compare_exchange(0, sign, Ordering::Relaxed, Ordering::Relaxed);
    }
}

impl NodePeer {
    pub(super) fn new(
        shared: &Arc<Shared>,
        node: &Arc<Node>,
        doubts: &Arc<Doubts>,
        link: usize,
        passes_refusals: bool,
    ) -> Self {
        Self {
            shared: Arc::clone(shared),
            node: Arc::clone(node),
            doubts: Arc::clone(doubts),
            link,
            knows_incr: false,
            replies: Vec::new(),
            passes_refusals,
        }
    }

    /// Passes on a reply that is not the expected one.
    #[cold]
    fn other<'i>(
        &mut self,
        command: &'static str,
        reply: Reply<'_>,
        len: usize,
        id: u32,
        report: impl FnOnce(Answer<'i>),
    ) -> Read {
        let Reply::Error(line) = reply else {
            return Read::Broken(errors::unexpected(&self.node, command, &reply));
        };
        let error = ServerError::new(line);
        if self.passes_refusals {
            self.replies.push((id as usize, Value::Error(error)));
            report(Answer::End);
            return Read::Last(len);
        }
        if let Some(is_lost) = doubt_in(&error) {
            self.doubts.note(self.link, is_lost);
        }
        let is_cluster = self.shared.layout().is_cluster();
        report(Answer::Failed(errors::refused_at_once(&self.node, &error, is_cluster)));
        Read::Last(len)
    }

    /// Passes on the next reply, of which `of` makes an answer unless it is an unexpected one.
    #[inline]
    fn reply<'i>(
        &mut self,
        input: &'i [u8],
        command: &'static str,
        id: u32,
        of: impl FnOnce(Reply<'i>) -> Option<Answer<'i>>,
        report: impl FnOnce(Answer<'i>),
    ) -> Read {
        match parse_reply(input, command) {
            Ok(Parsed::Complete(reply, len)) => match of(reply) {
                Some(answer) => {
                    report(answer);
                    Read::Last(len)
                }
                None => self.other(command, reply, len, id, report),
            },
            Ok(Parsed::Incomplete) => Read::Incomplete(0),
            Err(_) => Read::Broken(errors::malformed(&self.node, input)),
        }
    }

    /// The value behind a head, and the number of bytes of both and of the end.
    #[inline]
    fn value<'i>(
        &self,
        input: &'i [u8],
        head: usize,
        len: usize,
    ) -> Result<(&'i [u8], usize), Read> {
        let end = head + len;
        let whole = end + END.len();
        match input.get(end..whole) {
            None => Err(Read::Incomplete(whole)),
            Some(behind) if behind == END => Ok((&input[head..end], whole)),
            Some(behind) => Err(Read::Broken(errors::malformed(&self.node, behind))),
        }
    }

    #[inline]
    fn read_one<'i>(
        &mut self,
        input: &'i [u8],
        command: &'static str,
        report: impl FnOnce(Answer<'i>),
    ) -> Read {
        if let Ok(Parsed::Complete(Reply::Bulk(value_len), head_len)) = parse_reply(input, command)
        {
            return match self.value(input, head_len, value_len) {
                Ok((value, whole)) => {
                    report(Answer::Hit { value, meta: NO_META });
                    Read::Last(whole)
                }
                Err(Read::Incomplete(_)) => {
                    Read::Value(Arriving { head_len, value_len, tail: END, meta: NO_META })
                }
                Err(read) => read,
            };
        }
        let miss = |reply| matches!(reply, Reply::Nil).then_some(Answer::Miss);
        self.reply(input, command, 0, miss, report)
    }

    /// Reads a reply for the caller.
    fn read_own<'i>(
        &mut self,
        input: &'i [u8],
        command: &'static str,
        id: u32,
        report: impl FnOnce(Answer<'i>),
    ) -> Read {
        match parse_value(input, command) {
            Ok(ParsedValue::Complete(value, len)) => {
                self.replies.push((id as usize, value));
                report(Answer::End);
                Read::Last(len)
            }
            Ok(ParsedValue::Incomplete(needed)) => Read::Incomplete(needed),
            Err(_) => Read::Broken(errors::malformed(&self.node, input)),
        }
    }

    /// Reads the head of the answer to several keys.
    fn head_of_many<'i>(
        &mut self,
        input: &'i [u8],
        n_keys: u32,
        next: &mut Option<u32>,
        id: u32,
        report: impl FnOnce(Answer<'i>),
    ) -> Read {
        match parse_reply(input, "MGET") {
            Ok(Parsed::Complete(Reply::Array(n), len)) if n == n_keys as usize => {
                *next = Some(0);
                Read::More(len)
            }
            _ => self.reply(input, "MGET", id, |_| None, report),
        }
    }

    /// Reads the answer to the `next` of several keys.
    #[inline]
    fn read_many<'i>(
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
        let len = match parse_reply(input, "MGET") {
            Ok(Parsed::Complete(Reply::Bulk(len), head)) => match self.value(input, head, len) {
                Ok((value, whole)) => {
                    report(Answer::Entry { place: *next as usize, value, meta: NO_META });
                    whole
                }
                Err(read) => return read,
            },
            Ok(Parsed::Complete(Reply::Nil, len)) => len,
            // A server has no errors in place of values.
            Ok(Parsed::Complete(other, _)) => {
                return Read::Broken(errors::unexpected(&self.node, "MGET", &other));
            }
            Ok(Parsed::Incomplete) => return Read::Incomplete(0),
            Err(_) => return Read::Broken(errors::malformed(&self.node, input)),
        };
        *next += 1;
        Read::More(len)
    }
}

impl NodePeer {
    /// Reads the answer of the script that counts.
    fn read_number<'i>(&mut self, input: &'i [u8], report: impl FnOnce(Answer<'i>)) -> Read {
        const COMMAND: &str = "EVALSHA";
        match parse_reply(input, COMMAND) {
            Ok(Parsed::Complete(Reply::Bulk(len), head)) => {
                let (digits, whole) = match self.value(input, head, len) {
                    Ok(value) => value,
                    Err(read) => return read,
                };
                let number = str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
                let Some(number) = number else {
                    return Read::Broken(errors::malformed(&self.node, digits));
                };
                report(Answer::Counted(Some(Counted { number, version: None })));
                Read::Last(whole)
            }
            Ok(Parsed::Complete(Reply::Error(line), len)) if line.starts_with(b"NOSCRIPT") => {
                self.knows_incr = false;
                let what =
                    format!("{} has forgotten a script; the next request brings it", self.node);
                report(Answer::Failed(Error::Busy { engine: SCHEME, what }));
                Read::Last(len)
            }
            _ => {
                let of = |reply| match reply {
                    Reply::Nil => Some(Answer::Counted(None)),
                    Reply::Integer(_) => Some(Answer::Failed(Error::NotANumber { engine: SCHEME })),
                    _ => None,
                };
                self.reply(input, COMMAND, 0, of, report)
            }
        }
    }
}

impl Peer for NodePeer {
    type SentRequest = SentRequest;
    type Reply = Value;

    fn replies(&mut self) -> &mut Vec<(usize, Value)> {
        &mut self.replies
    }

    fn open(&mut self, within: Duration) -> larder_store::Result<Socket> {
        let socket = self.node.connect(within);
        let socket = socket.inspect_err(|_| self.doubts.note(self.link, true))?;
        self.shared.count_connection();
        Ok(socket)
    }

    #[inline]
    fn read<'i>(
        &mut self,
        asked: &mut SentRequest,
        input: &'i [u8],
        report: impl FnOnce(Answer<'i>),
    ) -> Read {
        match asked {
            SentRequest::Get(command) => self.read_one(input, command, report),
            SentRequest::GetMany { n_keys, next: Some(next), .. } => {
                self.read_many(input, *n_keys, next, report)
            }
            SentRequest::GetMany { n_keys, next, id } => {
                self.head_of_many(input, *n_keys, next, *id, report)
            }
            SentRequest::Own { command, id } => self.read_own(input, command, *id, report),
            SentRequest::Set => {
                let of = |reply| match reply {
                    Reply::Simple(b"OK") => Some(Answer::Stored(SetOutcome::Stored(None))),
                    Reply::Nil => Some(Answer::Stored(SetOutcome::NotStored)),
                    _ => None,
                };
                self.reply(input, "SET", 0, of, report)
            }
            SentRequest::Join => {
                let of = |reply| match reply {
                    Reply::Integer(0) => Some(Answer::Stored(SetOutcome::NotStored)),
                    Reply::Integer(_) => Some(Answer::Stored(SetOutcome::Stored(None))),
                    _ => None,
                };
                self.reply(input, "EVAL", 0, of, report)
            }
            SentRequest::Found(command) => {
                let of = |reply| match reply {
                    Reply::Integer(n) => Some(Answer::Found(n > 0)),
                    _ => None,
                };
                self.reply(input, command, 0, of, report)
            }
            SentRequest::Oversized { value_len } => {
                let shared = Arc::clone(&self.shared);
                let of = |reply| match reply {
                    Reply::Integer(_) => Some(Answer::Failed(shared.too_large(*value_len))),
                    _ => None,
                };
                self.reply(input, "DEL", 0, of, report)
            }
            SentRequest::Incr => self.read_number(input, report),
        }
    }

    fn forget(&mut self) {
        self.knows_incr = false;
    }

    fn failed(&self, source: io::Error, waited: Duration) -> Error {
        self.doubts.note(self.link, true);
        errors::failed(&self.node, waited, &source)
    }

    fn unasked(&self, received: &[u8]) -> Error {
        errors::unasked(&self.node, received)
    }

    fn no_end(&self, behind: &[u8]) -> Error {
        errors::malformed(&self.node, behind)
    }

    fn lost_behind(&self) -> Error {
        errors::lost_behind(&self.node)
    }
}
