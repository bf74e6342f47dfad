//! Redis' and Valkey's protocol: RESP2, and RESP3 with its pushes.
//!
//! Answers come in the order of the requests, one for each. The exceptions are followed: pushes and messages of channels
//! without a request, confirmations of subscriptions, requests whose answers `CLIENT REPLY` leaves out, and those of
//! a transaction, whose answers `EXEC` has.

mod answer;
mod command;
mod exchange;
mod pubsub;
mod reply;
mod request;

use super::StopReason;
use crate::recorder::Recorder;
use exchange::Exchange;
use reply::Replies;
use request::Requests;

/// A connection to Redis.
#[derive(Debug)]
pub(super) struct Redis {
    requests: Requests,
    replies: Replies,
    exchange: Exchange,
}

impl Redis {
    pub(super) fn new(connection: u32) -> Self {
        let exchange = Exchange::default();
        Self { requests: Requests::new(connection), replies: Replies::default(), exchange }
    }

    #[inline]
    pub(super) fn requests(
        &mut self,
        bytes: &[u8],
        at: u64,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        self.requests.take(bytes, at, &mut self.exchange, recorder)
    }

    #[inline]
    pub(super) fn answers(
        &mut self,
        bytes: &[u8],
        at: u64,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        self.replies.take(bytes, at, &mut self.exchange, recorder)
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.exchange.queue.is_empty() && self.requests.is_between()
    }

    pub(super) fn end(mut self, is_lost: bool, recorder: &mut Recorder) {
        let Exchange { queue, answers, .. } = &mut self.exchange;
        // What a transaction would have done, it has not.
        answers.forget_transaction(recorder);
        while !is_lost && !queue.is_empty() {
            queue.finish_unanswered(recorder);
        }
        queue.forget(recorder);
    }
}
