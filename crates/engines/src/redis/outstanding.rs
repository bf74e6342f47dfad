//! Answers to requests that were sent without waiting.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use larder_protocol::Parsed;
use larder_protocol::resp::{Reply, parse_reply};
use larder_store::{Answer, Error, Meta, Result, SetOutcome};
use redis::ServerErrorKind;

use super::address::Node;
use super::store::Shared;
use super::{SCHEME, refusal};
use crate::pipelined::{Peer, Read};
use crate::socket::Socket;

/// The end of a value.
const END: &[u8; 2] = b"\r\n";

/// A node at the other end of a link.
#[derive(Debug)]
pub(super) struct NodePeer {
    shared: Arc<Shared>,
    pub(super) node: Arc<Node>,
    doubts: Arc<Doubts>,
    /// The number of its link.
    link: usize,
}

/// A request that has no answer yet.
#[derive(Debug)]
pub(super) enum Asked {
    Get,
    /// Reads several keys, of which `next` is the first without an answer. Before that, the head of the answer is due.
    GetMany {
        n_keys: u32,
        next: Option<u32>,
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

    fn note(&self, link: usize, is_lost: bool) {
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
    ) -> Self {
        let (shared, node, doubts) = (Arc::clone(shared), Arc::clone(node), Arc::clone(doubts));
        Self { shared, node, doubts, link }
    }

    /// What a reply tells that is not the expected one.
    #[cold]
    fn other<'i>(&self, command: &'static str, reply: Reply<'_>, len: usize) -> Read<'i> {
        let Reply::Error(line) = reply else {
            return Read::Broken(refusal::unexpected(&self.node, command, &reply));
        };
        let Some(error) = refusal::server_error(line) else {
            return Read::Broken(refusal::malformed(&self.node, line));
        };
        match error.kind() {
            Some(ServerErrorKind::Moved) => self.doubts.note(self.link, false),
            Some(ServerErrorKind::ClusterDown) => self.doubts.note(self.link, true),
            _ => {}
        }
        let is_cluster = self.shared.layout().is_cluster();
        let error = refusal::refused_at_once(&self.node, &error, is_cluster);
        Read::Told(Answer::Failed(error), len)
    }

    /// What the next reply tells, by `tell`, which leaves an unexpected one.
    #[inline]
    fn reply<'i>(
        &self,
        input: &'i [u8],
        command: &'static str,
        tell: impl FnOnce(Reply<'i>) -> Option<Answer<'i>>,
    ) -> Read<'i> {
        match parse_reply(input, command) {
            Ok(Parsed::Complete(reply, len)) => match tell(reply) {
                Some(answer) => Read::Told(answer, len),
                None => self.other(command, reply, len),
            },
            Ok(Parsed::Incomplete) => Read::Incomplete(0),
            Err(_) => Read::Broken(refusal::malformed(&self.node, input)),
        }
    }

    /// What the next reply tells where it may be a value.
    #[inline]
    fn value<'i>(
        &self,
        input: &'i [u8],
        command: &'static str,
        hit: impl FnOnce(&'i [u8]) -> Answer<'i>,
        miss: Option<Answer<'i>>,
    ) -> Read<'i> {
        match parse_reply(input, command) {
            Ok(Parsed::Complete(Reply::Bulk(len), head)) => {
                let end = head + len;
                match input.get(end..end + END.len()) {
                    None => Read::Incomplete(end + END.len()),
                    Some(behind) if behind == END => {
                        Read::Told(hit(&input[head..end]), end + END.len())
                    }
                    Some(behind) => Read::Broken(refusal::malformed(&self.node, behind)),
                }
            }
            Ok(Parsed::Complete(Reply::Nil, len)) => match miss {
                Some(answer) => Read::Told(answer, len),
                None => Read::Skipped(len),
            },
            Ok(Parsed::Complete(reply, len)) => self.other(command, reply, len),
            Ok(Parsed::Incomplete) => Read::Incomplete(0),
            Err(_) => Read::Broken(refusal::malformed(&self.node, input)),
        }
    }

    /// Reads the head of the answer to several keys.
    fn head_of_many<'i>(&self, input: &'i [u8], n_keys: u32, next: &mut Option<u32>) -> Read<'i> {
        match parse_reply(input, "MGET") {
            Ok(Parsed::Complete(Reply::Array(n), len)) if n == n_keys as usize => {
                *next = Some(0);
                Read::Skipped(len)
            }
            _ => self.reply(input, "MGET", |_| None),
        }
    }

    /// Reads the answer to the `place`th of several keys.
    #[inline]
    fn element<'i>(&self, input: &'i [u8], place: u32) -> Read<'i> {
        let place = place as usize;
        let entry = |value| Answer::Entry { place, value, meta: Meta::default() };
        match self.value(input, "MGET", entry, None) {
            // An error in place of a value is none of this protocol's.
            Read::Told(Answer::Failed(error), _) => Read::Broken(error),
            read => read,
        }
    }
}

impl Peer for NodePeer {
    type Asked = Asked;

    fn open(&mut self) -> Result<Socket> {
        let socket = self.node.connect(self.shared.terms().timeout);
        let socket = socket.inspect_err(|_| self.doubts.note(self.link, true))?;
        self.shared.count_connection();
        Ok(socket)
    }

    #[inline]
    fn read<'i>(&mut self, asked: &mut Asked, input: &'i [u8]) -> Read<'i> {
        match asked {
            Asked::Get => {
                let hit = |value| Answer::Hit { value, meta: Meta::default() };
                self.value(input, "GET", hit, Some(Answer::Miss))
            }
            Asked::GetMany { n_keys, next: Some(next) } if next == n_keys => {
                Read::Told(Answer::End, 0)
            }
            Asked::GetMany { next: Some(next), .. } => {
                let read = self.element(input, *next);
                if let Read::Told(..) | Read::Skipped(_) = &read {
                    *next += 1;
                }
                read
            }
            Asked::GetMany { n_keys, next } => self.head_of_many(input, *n_keys, next),
            Asked::Set => self.reply(input, "SET", |reply| match reply {
                Reply::Simple(b"OK") => Some(Answer::Stored(SetOutcome::Stored(None))),
                Reply::Nil => Some(Answer::Stored(SetOutcome::NotStored)),
                _ => None,
            }),
            Asked::Join => self.reply(input, "EVAL", |reply| match reply {
                Reply::Integer(0) => Some(Answer::Stored(SetOutcome::NotStored)),
                Reply::Integer(_) => Some(Answer::Stored(SetOutcome::Stored(None))),
                _ => None,
            }),
            Asked::Found(command) => self.reply(input, command, |reply| match reply {
                Reply::Integer(n) => Some(Answer::Found(n > 0)),
                _ => None,
            }),
            Asked::Oversized { value_len } => self.reply(input, "DEL", |reply| match reply {
                Reply::Integer(_) => Some(Answer::Failed(self.shared.too_large(*value_len))),
                _ => None,
            }),
        }
    }

    fn forget(&mut self) {}

    fn failed(&self, source: io::Error) -> Error {
        self.doubts.note(self.link, true);
        refusal::failed(&self.node, self.shared.terms().timeout, &source.into())
    }

    fn unasked(&self, received: &[u8]) -> Error {
        refusal::unasked(&self.node, received)
    }

    fn lost_behind(&self) -> Error {
        let what = format!("{}: the answer is lost behind a malformed one", self.node);
        Error::Unavailable { engine: SCHEME, what, source: None }
    }
}
