//! What both directions of a connection to Redis share: the requests that wait, and the state of the answers.

use super::super::queue::Queue;
use super::command::Expected;
use super::pubsub::Subscriptions;
use crate::recorder::Recorder;

/// The state that both directions of a connection change.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    pub(super) queue: Queue<Expected>,
    /// The last request is not whole yet.
    pub(super) is_arriving: bool,
    /// The number of the database, as of the last `SELECT`.
    pub(super) database: u32,
    pub(super) answers: Answers,
}

/// The state of the answers of a connection.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not one state")]
pub(super) struct Answers {
    /// The time at which the first byte of the present answer went to the application.
    pub(super) began: u64,
    /// The class of the present answer.
    pub(super) class: Class,
    /// The requests of the transaction that is open, without their answers.
    pub(super) transaction: Queue<Expected>,
    pub(super) is_transaction: bool,
    /// The present answer contains those of a transaction.
    pub(super) is_executing: bool,
    /// The place of the next part of an answer with many.
    pub(super) place: usize,
    /// Answers are left out until the application asks for them again.
    pub(super) is_off: bool,
    /// The next answer is left out.
    pub(super) skips_next: bool,
    pub(super) subscriptions: Subscriptions,
}

/// The class of the bytes that the server sends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Class {
    #[default]
    None,
    /// The answer to a request.
    Answer,
    /// No answer: a push, or a message of a channel.
    Message,
    /// Either: the first part decides.
    Undecided,
}

impl Answers {
    /// The first byte of an answer has come.
    #[inline]
    pub(super) fn begin(&mut self, at: u64) {
        if self.class == Class::None {
            self.began = at;
        }
    }

    pub(super) fn forget_transaction(&mut self, recorder: &mut Recorder) {
        self.transaction.forget(recorder);
        self.is_transaction = false;
    }
}
