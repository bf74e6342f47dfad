//! The conversation of a session with its nodes, shared by engines that speak to servers themselves.
//!
//! [`Links`] has a session's links to its nodes, and everything that is not in the bytes on the wire. A [`Link`] has one
//! socket, the requests that are not sent, and those that are not answered. The engine is the [`Peer`] of each link: it
//! opens the socket and reads answers.
//!
//! A caller of a [`Pipeline`](larder_store::Pipeline) sends requests without waiting. A call that waits is a request on links
//! of the same kind, and a wait until it is answered ([`waiting`]).
//!
//! Nothing here asks for the time, or allocates, for each request. Received bytes stay in the caller's memory. Only the
//! beginning of an answer that is not whole is kept in the link, so that thousands of sessions are cheap.

mod batches;
mod link;
mod links;
mod output;
mod outstanding;
mod patience;
mod receive;
mod receive_buffer;
#[cfg(test)]
mod tests;
mod waiting;

use std::io;
use std::time::Duration;

use larder_store::{Answer, Error, Meta, Result};

use crate::socket::Socket;

pub(crate) use link::Link;
pub(crate) use links::Links;
pub(crate) use waiting::{Batch, in_time, report_all};

/// The engine's part of one link.
pub(crate) trait Peer {
    /// A request, as far as its answer cannot be read without it.
    type SentRequest;

    /// An answer that only the engine's own calls ask for. Where it stands, [`Answer::End`] is passed on.
    type Reply;

    /// Opens a connection, up to the point where it takes requests, within this time.
    fn open(&mut self, within: Duration) -> Result<Socket>;

    /// The most bytes of several requests that the node takes at once, where that matters. A longer request stands alone.
    fn packet_len(&self) -> Option<usize> {
        None
    }

    /// Reads the next answer to the foremost request, from the beginning of the received bytes, and passes it on.
    fn read<'i>(
        &mut self,
        asked: &mut Self::SentRequest,
        input: &'i [u8],
        report: impl FnOnce(Answer<'i>),
    ) -> Read;

    /// Such answers that nobody has taken, each with the number of its request.
    fn replies(&mut self) -> &mut Vec<(usize, Self::Reply)>;

    /// Notes that a value was read to its end of which [`Read::Value`] was the beginning.
    fn end_value(&mut self) {}

    /// Forgets the requests that have no answer, because the connection is lost.
    fn forget(&mut self);

    /// The error of a connection that the system ended so. `waited` is the longest wait for an answer.
    fn failed(&self, source: io::Error, waited: Duration) -> Error;

    /// The error of bytes that no request asked for.
    fn unasked(&self, received: &[u8]) -> Error;

    /// The error of a value with these bytes behind it, where its end should be.
    fn no_end(&self, behind: &[u8]) -> Error;

    /// The error of a request behind an answer after which nothing can be read.
    fn lost_behind(&self) -> Error;
}

/// What the received bytes begin with. An answer is passed on and not returned: so it is not copied.
#[derive(Debug)]
pub(crate) enum Read {
    /// The last answer to a command, and the bytes that it takes. It was passed on.
    Last(usize),
    /// An answer that was passed on, or bytes without an answer in them. Others follow.
    More(usize),
    /// The beginning of an answer, and the number of bytes that it takes as a whole; 0 where that is not known yet.
    Incomplete(usize),
    /// The beginning of an answer that is one value. Nothing was passed on.
    Value(Arriving),
    /// An answer after which nothing can be read.
    Broken(Error),
}

/// A value that has not arrived as a whole.
#[derive(Debug)]
pub(crate) struct Arriving {
    /// The bytes before the value.
    pub(crate) head_len: usize,
    pub(crate) value_len: usize,
    /// The bytes that must stand behind the value, and end the answer.
    pub(crate) tail: &'static [u8],
    pub(crate) meta: Meta,
}

impl Arriving {
    /// The bytes of the whole answer.
    fn len(&self) -> usize {
        self.head_len + self.value_len + self.tail.len()
    }
}
