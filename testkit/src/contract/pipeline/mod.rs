//! Requests that are sent without waiting for the answers to those before.
//!
//! Cases send by a client (`client.rs`), which checks every answer against its request. Most cases run twice: the client
//! waits with the session's own call, and watches the sockets.

use larder_store::{Error, Pipeline, Session};

mod answer_checker;
pub(super) mod batches;
mod client;
pub(super) mod counts;
pub(super) mod ends;
pub(super) mod fork;
pub(super) mod numbers;
pub(super) mod order;
pub(super) mod refusals;
pub(super) mod sending;
pub(super) mod sessions;
pub(super) mod times;
pub(super) mod values;

pub(super) use client::in_each_way;
use client::in_own_store;

/// The interface of a session for requests without waiting, which its capabilities promise.
pub(super) fn pipeline(session: &mut dyn Session) -> larder_store::Result<&mut dyn Pipeline> {
    let engine = session.engine();
    session.pipeline().ok_or(Error::Unsupported { engine, operation: "pipeline" })
}
