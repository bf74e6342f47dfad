//! What is recorded of connections.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod ambiguous;
mod exchange;
mod memcached;
mod noise;
mod redis;
