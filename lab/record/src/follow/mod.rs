//! Follows the two directions of a connection, and notes each operation on a key with its answer.
//!
//! A follower is given the bytes that have passed, in the order in which they passed, in pieces of any size. It holds no
//! values, only their lengths; its memory for unanswered requests is bounded. It changes nothing and
//! answers nothing: bytes that it does not understand end the following of the connection and nothing else.

#![expect(
    clippy::match_same_arms,
    reason = "tables of a protocol have a line for each case, as its documentation has"
)]

mod line;
mod memcached;
mod queue;
mod redis;
mod stop_reason;

use crate::recorder::Recorder;
use memcached::Memcached;
use redis::Redis;
pub use stop_reason::StopReason;

/// The protocols of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// memcached's: text and meta, or binary, by the first byte of a connection.
    Memcached,
    /// Redis' and Valkey's, RESP2 and RESP3.
    Redis,
}

impl Kind {
    /// The name of the kind, as recordings have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memcached => "memcached",
            Self::Redis => "redis",
        }
    }
}

/// Follows one connection.
#[derive(Debug)]
pub struct Follower(Protocol);

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "each connection has one, in its own allocation")]
enum Protocol {
    Memcached(Memcached),
    Redis(Redis),
}

impl Follower {
    /// Follows a connection from its beginning. Its rows have this number of a connection.
    pub fn new(kind: Kind, connection: u32) -> Self {
        Self(match kind {
            Kind::Memcached => Protocol::Memcached(Memcached::new(connection)),
            Kind::Redis => Protocol::Redis(Redis::new(connection)),
        })
    }

    /// Takes bytes that the application has sent, which came at this time, in nanoseconds since 1970.
    ///
    /// # Errors
    ///
    /// The connection cannot be followed any more.
    #[inline]
    pub fn requests(
        &mut self,
        bytes: &[u8],
        at_ns: u64,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        match &mut self.0 {
            Protocol::Memcached(memcached) => memcached.requests(bytes, at_ns, recorder),
            Protocol::Redis(redis) => redis.requests(bytes, at_ns, recorder),
        }
    }

    /// Takes bytes that the server has sent, which went to the application at this time.
    ///
    /// # Errors
    ///
    /// As for [`Follower::requests`].
    #[inline]
    pub fn answers(
        &mut self,
        bytes: &[u8],
        at_ns: u64,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        match &mut self.0 {
            Protocol::Memcached(memcached) => memcached.answers(bytes, at_ns, recorder),
            Protocol::Redis(redis) => redis.answers(bytes, at_ns, recorder),
        }
    }

    /// Whether no request waits for its answer.
    pub fn is_quiet(&self) -> bool {
        match &self.0 {
            Protocol::Memcached(memcached) => memcached.is_quiet(),
            Protocol::Redis(redis) => redis.is_quiet(),
        }
    }

    /// Ends the following: requests that wait are noted as never answered, unless nothing is known of them any more.
    pub fn end(self, is_lost: bool, recorder: &mut Recorder) {
        match self.0 {
            Protocol::Memcached(memcached) => memcached.end(is_lost, recorder),
            Protocol::Redis(redis) => redis.end(is_lost, recorder),
        }
    }
}
