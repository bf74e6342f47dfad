//! The text and meta protocols: the requests that wait for their answers.

use larder_protocol::key::MAX_KEY_LEN;
use larder_workload::trace::Outcome;

use super::super::StopReason;
use super::super::queue::{PendingRequest, Queue};
use super::request::{Expected, MAX_QUIET, RowFields, Silence};
use crate::batch::NONE;
use crate::recorder::Recorder;

/// The state that both directions of a connection change.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) queue: Queue<Expected>,
    pub(super) connection: u32,
    /// Bytes of a value, and of the end behind it, that are still to come.
    pub(super) value_left: u64,
    /// The last request is not whole yet.
    pub(super) is_arriving: bool,
    /// The line of a get for many keys is taken word by word.
    pub(super) is_within_keys: bool,
}

impl Exchange {
    pub(super) fn new(connection: u32) -> Self {
        Self {
            queue: Queue::default(),
            connection,
            value_left: 0,
            is_arriving: false,
            is_within_keys: false,
        }
    }

    /// Adds a request without its keys.
    #[inline]
    pub(super) fn ask(
        &mut self,
        expected: Expected,
        fields: RowFields,
        at: u64,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        if self.queue.len() >= MAX_QUIET
            && let Some(Silence::Means(result)) = self.queue.first().map(|it| it.expected.silence)
        {
            self.finish(result, None, recorder);
        }
        let facts = fields.facts(self.connection, at, recorder);
        self.queue
            .push(PendingRequest { expected, verb: fields.verb, facts, n_keys: 0 }, recorder)?;
        if expected.silence == Silence::Never {
            self.queue.must_answer_last(recorder)?;
        }
        Ok(())
    }

    /// Adds a key to the request. A key that is too long is answered by an error, and gets no row.
    #[inline]
    pub(super) fn push_key(
        &mut self,
        key: &[u8],
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        if key.len() > MAX_KEY_LEN { Ok(()) } else { self.queue.push_key(key, recorder) }
    }

    /// Skips a value of this length, and the end of its line.
    pub(super) fn expect_value(&mut self, len: usize) {
        self.value_left = len as u64 + 2;
        self.is_arriving = true;
        if let Some(key) = self.queue.last_key() {
            key.value_size = u32::try_from(len).unwrap_or(NONE);
        }
    }

    #[inline]
    pub(super) fn skip(&mut self, input: &mut &[u8], at: u64, recorder: &mut Recorder) {
        let n = usize::try_from(self.value_left).map_or(input.len(), |left| left.min(input.len()));
        *input = &input[n..];
        self.value_left -= n as u64;
        if self.value_left == 0 {
            self.complete(at, recorder);
        }
    }

    /// The last byte of a request with a value has come.
    #[inline]
    pub(super) fn complete(&mut self, at: u64, recorder: &mut Recorder) {
        // An error may have answered it before it had arrived in full.
        if std::mem::take(&mut self.is_arriving)
            && let Some(last) = self.queue.last()
        {
            last.facts.came_ns = at;
        }
        self.settle(recorder);
    }

    /// Ends the requests in front that want no answer.
    #[inline]
    pub(super) fn settle(&mut self, recorder: &mut Recorder) {
        while let Some(first) = self.queue.first()
            && first.expected.silence == Silence::Wanted
            && !(self.is_arriving && self.queue.len() == 1)
        {
            self.queue.finish_alike(None, None, recorder);
        }
    }

    /// Ends the first request with this result.
    #[inline]
    pub(super) fn finish(
        &mut self,
        result: Option<Outcome>,
        at: Option<u64>,
        recorder: &mut Recorder,
    ) {
        if self.queue.len() == 1 {
            self.is_arriving = false;
        }
        self.queue.finish_alike(result, at, recorder);
    }

    /// Ends the first `n` requests, which have left out their answers.
    #[inline]
    pub(super) fn leave_out(
        &mut self,
        n: usize,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        let until = self.queue.len().saturating_sub(n);
        while self.queue.len() > until {
            match self.queue.first().map(|first| first.expected.silence) {
                Some(Silence::Means(result)) => self.finish(result, None, recorder),
                Some(Silence::Wanted) => self.finish(None, None, recorder),
                Some(Silence::Never) | None => {
                    return Err(StopReason::Answer("no answer to what was asked"));
                }
            }
        }
        Ok(())
    }
}
