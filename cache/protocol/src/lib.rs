//! The memcached protocols and Redis' replies without I/O: bytes in, bytes out.
//!
//! [`text`] is memcached's classic protocol (`get`, `set` …), [`meta`] its successor (`mg`, `ms` …), one file a
//! command. [`binary`] is memcached's older protocol with headers of fixed length, for servers only. [`resp`] has the
//! replies of Redis. A client encodes a request into its own buffer and parses the bytes that have arrived so far; the
//! client decides when to read more. A server takes the [line](request::line) of a request, parses it and encodes the
//! answer. Parsers read from the beginning every time, hold no state, never allocate and never panic, whatever a peer
//! sends. The bytes of a value are not part of what is parsed: the header has their number, so that a peer can read
//! them straight into their place.
//!
//! Besides the bytes on the wire, this crate has the rules that every client must share. They are valid keys ([`key`]),
//! the form of a TTL ([`ttl`]), and the placement of keys on the servers of a pool ([`ketama`]).

pub mod binary;
pub mod ketama;
pub mod key;
pub mod meta;
pub mod request;
pub mod resp;
pub mod storage;
pub mod text;
pub mod ttl;

mod line;
mod number;

pub use line::shown;

/// The largest value that a parser accepts, in bytes: memcached's item limit cannot be set above 1 GiB.
pub const MAX_VALUE_LEN: usize = 1 << 30;

/// The longest value that a request may announce, in bytes: as memcached, a server throws away a value that is too large
/// for it, up to this length.
pub const MAX_ANNOUNCED: usize = i32::MAX as usize - 2;

/// The longest line that a parser waits for, in bytes.
pub const MAX_LINE_LEN: usize = 8192;

/// The result of a parser for the bytes that have arrived so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parsed<T> {
    /// The answer is not complete: read more, then parse from its beginning again.
    Incomplete,
    /// An answer, and the number of bytes that it takes.
    Complete(T, usize),
}

impl<'a, T> Parsed<Result<T, Refusal<'a>>> {
    /// Turns an answer into another, or into an error where it cannot be one.
    #[inline]
    pub fn and_then<U>(self, turn: impl FnOnce(T) -> Result<U, Malformed>) -> Parse<'a, U> {
        Ok(match self {
            Self::Complete(Ok(answer), len) => Parsed::Complete(Ok(turn(answer)?), len),
            Self::Complete(Err(refusal), len) => Parsed::Complete(Err(refusal), len),
            Self::Incomplete => Parsed::Incomplete,
        })
    }
}

/// The return value of a parser: an answer or a refusal by the server, when it is complete.
pub type Parse<'a, T> = Result<Parsed<Result<T, Refusal<'a>>>, Malformed>;

/// A server's answer that it did not do the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal<'a> {
    /// `ERROR`: the server does not know the command.
    Unknown,
    /// `CLIENT_ERROR <reason>`: the request was wrong.
    Client(&'a [u8]),
    /// `SERVER_ERROR <reason>`: the server could not do the request.
    Server(&'a [u8]),
}

/// The peer sent bytes that do not answer the command; the bytes after them have no meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed {
    /// The command without an answer.
    pub command: &'static str,
}
