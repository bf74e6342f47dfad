//! Requests that are sent without waiting for the answers to those before.
//!
//! One thread drives any number of sessions this way: it watches their sockets, takes the answers that have arrived, and
//! sends what comes next. The session waits for nothing but a new connection.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use crate::{Counted, Delta, Initial, Meta, Put, Result, SetOptions, SetOutcome};

/// An answer to a request, by the number that the caller gave the request.
#[derive(Debug)]
#[non_exhaustive]
pub enum Answer<'a> {
    /// The value of a `get`. It ends the request.
    Hit {
        /// The value, in memory that the next answer uses again.
        value: &'a [u8],
        /// Its metadata.
        meta: Meta,
    },
    /// A `get` found nothing. It ends the request.
    Miss,
    /// The outcome of a `set`. It ends the request.
    Stored(SetOutcome),
    /// Whether a `delete` or a `touch` found its key. It ends the request.
    Found(bool),
    /// The number after an `incr`; `None` where the key is absent, and stays so. It ends the request.
    Counted(Option<Counted>),
    /// A `get_many` found the key at this place. More answers follow.
    Entry {
        /// The place of its key in the request.
        place: usize,
        /// The value, in memory that the next answer uses again.
        value: &'a [u8],
        /// Its metadata.
        meta: Meta,
    },
    /// The outcome of one entry of a `set_many`. More answers follow.
    Outcome {
        /// The place of the entry in the request.
        place: usize,
        /// What became of it.
        outcome: Result<SetOutcome>,
    },
    /// The end of a `get_many` or a `set_many`: every key has its answer.
    End,
    /// The request failed. It ends the request. Of a `get_many` or a `set_many`, answers to some of the keys may have
    /// come before.
    ///
    /// [`Error::Unavailable`](crate::Error::Unavailable) and [`Error::Timeout`](crate::Error::Timeout) say that the answer
    /// is lost: it is not known whether the request was carried out.
    Failed(crate::Error),
}

impl Answer<'_> {
    /// Whether no further answer to this request follows.
    #[inline]
    pub fn is_last(&self) -> bool {
        !matches!(self, Self::Entry { .. } | Self::Outcome { .. })
    }
}

/// The callback for each answer: the number of its request, and the answer.
pub type Answered<'a> = dyn FnMut(usize, Answer<'_>) + 'a;

/// A caller that watches the sockets of a session, as an epoll instance does.
pub trait Watch: Send {
    /// Watches a socket from now on, or changes how. It is always watched for bytes to read, and for room to write while
    /// `wants_room`. `link` is what [`Pipeline::receive`] and [`Pipeline::flush`] are called with. A socket that is
    /// closed need not be watched any longer.
    fn watch(&mut self, link: usize, socket: BorrowedFd<'_>, wants_room: bool) -> io::Result<()>;
}

/// A session that sends requests without waiting: [`Session::pipeline`] returns it.
///
/// The caller gives each request a number of its own, and every request gets exactly one last answer under this number
/// ([`Answer::is_last`]), unless its call returned an error. Such a request was not sent. A session may have several
/// links, one to each node of a pool. Requests on one link are carried out and answered in order, and requests for one
/// key take the same link. Between links there is no order.
///
/// While requests are outstanding, other calls of the session may fail or may end them as lost.
///
/// [`Session::pipeline`]: crate::Session::pipeline
pub trait Pipeline {
    /// Has the session's sockets watched, those that are open and those that will be.
    fn watch_with(&mut self, watch: Box<dyn Watch>) -> Result<()>;

    /// Opens every link that is not open. It waits for each connection, and for the server's greeting where it has one.
    /// Without this call, a link is opened by its first request.
    fn connect(&mut self) -> Result<()>;

    /// Asks for a value, as [`Session::get`](crate::Session::get).
    fn get(&mut self, id: usize, key: &[u8]) -> Result<()>;

    /// Asks for many values, as [`Session::get_many`](crate::Session::get_many).
    fn get_many(&mut self, id: usize, keys: &[&[u8]]) -> Result<()>;

    /// Stores a value, as [`Session::set`](crate::Session::set). The value is copied, or sent, before the call returns.
    fn set(&mut self, id: usize, key: &[u8], value: &[u8], options: &SetOptions) -> Result<()>;

    /// Stores many entries, as [`Session::set_many`](crate::Session::set_many).
    fn set_many(&mut self, id: usize, entries: &[Put<'_>]) -> Result<()>;

    /// Removes a key, as [`Session::delete`](crate::Session::delete).
    fn delete(&mut self, id: usize, key: &[u8]) -> Result<()>;

    /// Gives a key a new TTL, as [`Session::touch`](crate::Session::touch).
    fn touch(&mut self, id: usize, key: &[u8], ttl: Option<Duration>) -> Result<()>;

    /// Counts up or down, as [`Session::incr`](crate::Session::incr). A request that another session comes in between may
    /// fail as [`Error::Busy`](crate::Error::Busy), and has counted nothing then. It needs
    /// [`Capabilities::incr`](crate::Capabilities::incr).
    fn incr(&mut self, id: usize, key: &[u8], delta: Delta, absent: Option<Initial>) -> Result<()>;

    /// Sends as much of the requests as the sockets take without waiting. Until then a request only stands in memory, so
    /// that several leave in one packet. The rest is counted by [`Pipeline::unsent_bytes`], and the link wants room.
    ///
    /// A link that fails here gives its answers, which are all lost, with the next [`Pipeline::receive`].
    fn flush(&mut self);

    /// The bytes of requests that have not been sent. A caller that bounds its memory adds no request while there are
    /// many.
    fn unsent_bytes(&mut self) -> usize;

    /// The requests that have no last answer yet.
    fn n_outstanding(&mut self) -> usize;

    /// Whether answers can be received now although no socket will say so: those of an engine without sockets. Their link
    /// is 0.
    fn is_ready(&mut self) -> bool {
        false
    }

    /// Reads what has arrived on a link, without waiting, and passes on the answers. `room` is for received bytes. Any
    /// number of sessions may share it, because nothing stays in it.
    ///
    /// If the link has failed, all its requests are answered as failed. The next request opens the link again.
    fn receive(&mut self, link: usize, room: &mut [u8], answered: &mut Answered<'_>);

    /// Sends everything, waits until something has arrived on some link, and receives it. It returns at once if no
    /// request is outstanding. A silence beyond the session's timeout fails the requests of that link.
    fn wait(&mut self, room: &mut [u8], answered: &mut Answered<'_>);

    /// Fails the requests of every link that has been silent for longer than the session's timeout. A caller that watches
    /// sockets calls it a few times in that time.
    fn expire(&mut self, answered: &mut Answered<'_>);
}
