//! Redis' and Valkey's protocol: RESP2, and RESP3 with its pushes.
//!
//! Answers come in the order of the requests, one for each. The exceptions are followed: pushes and messages of channels
//! that nobody asked for, confirmations of subscriptions, requests whose answers `CLIENT REPLY` leaves out, and those of
//! a transaction, whose answers `EXEC` has.

mod answer;
mod command;
mod pubsub;
mod reply;
mod request;

use super::Lost;
use super::queue::Queue;
use crate::desk::Desk;
use answer::Answers;
use command::What;
use reply::Replies;
use request::Requests;

/// A connection to Redis.
#[derive(Debug)]
pub(super) struct Redis {
    requests: Requests,
    replies: Replies,
    talk: Talk,
}

/// What both directions of a connection change.
#[derive(Debug)]
struct Talk {
    queue: Queue<What>,
    /// The last request is not whole yet.
    is_arriving: bool,
    /// The number of the database, as of the last `SELECT`.
    database: u32,
    answers: Answers,
}

impl Redis {
    pub(super) fn new(connection: u32) -> Self {
        let talk = Talk {
            queue: Queue::default(),
            is_arriving: false,
            database: 0,
            answers: Answers::default(),
        };
        Self { requests: Requests::new(connection), replies: Replies::default(), talk }
    }

    #[inline]
    pub(super) fn requests(&mut self, bytes: &[u8], at: u64, desk: &mut Desk) -> Result<(), Lost> {
        self.requests.take(bytes, at, &mut self.talk, desk)
    }

    #[inline]
    pub(super) fn answers(&mut self, bytes: &[u8], at: u64, desk: &mut Desk) -> Result<(), Lost> {
        self.replies.take(bytes, at, &mut self.talk, desk)
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.talk.queue.is_empty() && self.requests.is_between()
    }

    pub(super) fn end(mut self, is_lost: bool, desk: &mut Desk) {
        let Talk { queue, answers, .. } = &mut self.talk;
        // What a transaction would have done, it has not.
        answers.forget_transaction(desk);
        while !is_lost && !queue.is_empty() {
            queue.finish_unanswered(desk);
        }
        queue.forget(desk);
    }
}
