//! One connection with its outstanding requests, and the judgement of their answers.

use larder_report::Operation;
use larder_store::{Answer, Error, Pipeline, Session};

use crate::measure::block::{Block, Op};
use crate::measure::failures::Failures;
use crate::measure::multi_set::{Done, Outcomes};
use crate::measure::outcomes::{Fill, Finished, Judge, carried_out, is_lost, is_unanswered};
use crate::measure::pace::Begun;
use crate::measure::requests::{Answers, Counted};
use larder_workload::Access;

/// A connection that a thread drives.
pub(super) struct Lane<'a, B> {
    pub(super) session: &'a mut dyn Session,
    /// The number of the connection among those of all threads.
    pub(super) number: u32,
    /// Operations that were drawn for this connection; those before `next` have been sent.
    pub(super) block: Block,
    pub(super) next: usize,
    pub(super) outstanding: Outstanding<B>,
    /// Requests that may be sent once the connection has taken its unsent bytes.
    pub(super) held_back: u32,
    /// Requests that were answered.
    pub(super) answered: u64,
}

impl<'a, B: Begun> Lane<'a, B> {
    /// A connection with room for this many requests of this many keys.
    pub(super) fn new(
        session: &'a mut dyn Session,
        number: u32,
        pipeline: usize,
        keys_a_request: usize,
    ) -> Self {
        Self {
            session,
            number,
            block: Block::default(),
            next: 0,
            outstanding: Outstanding::new(pipeline, keys_a_request),
            held_back: 0,
            answered: 0,
        }
    }

    /// The session's part that sends without waiting.
    #[inline]
    pub(super) fn pipeline(&mut self) -> &mut dyn Pipeline {
        pipeline_of(self.session)
    }

    /// The session, and the judgement of what arrives on it.
    #[inline]
    pub(super) fn open_inbox<'i, 'j>(
        &'i mut self,
        judge: &'i mut Judge<'j>,
        failures: &'i mut Failures,
        request: Option<Operation>,
    ) -> (&'i mut dyn Session, Inbox<'i, 'j, B>) {
        judge.draw.act_for(self.number);
        let inbox = Inbox {
            judge,
            failures,
            outstanding: &mut self.outstanding,
            drawn: &mut self.block.ops[self.next..],
            answered: &mut self.answered,
            engine: self.session.engine(),
            request,
        };
        (&mut *self.session, inbox)
    }

    /// The operations that are drawn and not sent.
    pub(super) fn n_drawn(&self) -> usize {
        self.block.ops.len() - self.next
    }

    /// The operations of the next request; 0 where none is drawn.
    pub(super) fn n_next(&self, keys_a_request: usize) -> usize {
        self.n_drawn().min(keys_a_request.max(self.block.together(self.next)))
    }
}

/// The kind of a recorded request of this many keys.
pub(super) fn many(n_ops: usize) -> Option<Operation> {
    (n_ops > 1).then_some(Operation::GetMany)
}

/// A session's part that sends without waiting. A plan gives lanes only to targets that have it.
#[inline]
pub(super) fn pipeline_of(session: &mut dyn Session) -> &mut dyn Pipeline {
    session.pipeline().expect("the plan has asked for this capability")
}

/// The requests of a lane that have no answer yet. A slot's place is the number of its request.
pub(super) struct Outstanding<B> {
    slots: Vec<Slot<B>>,
    free: Vec<usize>,
    /// The operations of all slots, this many for each.
    ops: Vec<Op>,
    /// Whether each of them has been answered, in a request of many keys.
    found: Vec<bool>,
    keys_a_request: usize,
}

/// A request.
struct Slot<B> {
    /// When it began; `None` where the slot is free.
    begun: Option<B>,
    /// The operations of the request.
    n_ops: usize,
    /// The keys that were answered so far, of a request that reads many.
    counted: Counted,
    /// The keys that were stored so far, of a request that stores many.
    done: Done,
    /// Of a get-or-set that has missed: the version of the value that fills it.
    filling: Option<u32>,
}

impl<B: Begun> Outstanding<B> {
    fn new(pipeline: usize, keys_a_request: usize) -> Self {
        let nothing = Op {
            key: 0,
            fill: 0,
            version: 0,
            len: 0,
            ttl_ms: 0,
            condition: None,
            is_count: false,
            is_unfilled: false,
            kind: Access::Get,
        };
        let slot = |_| Slot {
            begun: None,
            n_ops: 0,
            counted: Counted::default(),
            done: Done::default(),
            filling: None,
        };
        Self {
            slots: (0..pipeline).map(slot).collect(),
            free: (0..pipeline).rev().collect(),
            ops: vec![nothing; pipeline * keys_a_request],
            found: vec![false; pipeline * keys_a_request],
            keys_a_request,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// Takes a free slot for a request of these operations.
    #[inline]
    pub(super) fn take(&mut self, ops: &[Op], begun: B) -> usize {
        let id = self.free.pop().expect("a lane has a slot for every request that it may send");
        let first = id * self.keys_a_request;
        self.ops[first..first + ops.len()].copy_from_slice(ops);
        if ops.len() > 1 || self.keys_a_request > 1 {
            self.found[first..first + ops.len()].fill(false);
        }
        let slot = &mut self.slots[id];
        (slot.begun, slot.n_ops) = (Some(begun), ops.len());
        (slot.counted, slot.done) = (Counted::default(), Done::default());
        id
    }

    /// The numbers of the requests that have no answer.
    pub(super) fn ids(&self) -> impl Iterator<Item = usize> {
        let open = self.slots.iter().enumerate().filter(|(_, slot)| slot.begun.is_some());
        open.map(|(id, _)| id)
    }

    /// The operation of a request of one key, and when it began.
    pub(super) fn single(&self, id: usize) -> Option<(Op, B)> {
        Some((self.ops[id * self.keys_a_request], self.slots[id].begun?))
    }

    /// The fill of a request is under way, with a value of this version.
    pub(super) fn begin_fill(&mut self, id: usize, version: u32) {
        self.slots[id].filling = Some(version);
    }
}

/// What has become of a request by an answer.
pub(super) enum Next {
    /// More answers follow.
    More,
    /// The request has its last answer.
    Over,
    /// A get-or-set has missed: its fill comes next.
    Fill,
}

/// The answers that arrive on a lane at one time.
pub(super) struct Inbox<'i, 'a, B> {
    pub(super) judge: &'i mut Judge<'a>,
    pub(super) failures: &'i mut Failures,
    pub(super) outstanding: &'i mut Outstanding<B>,
    /// The operations that are drawn for the lane and not sent.
    pub(super) drawn: &'i mut [Op],
    /// Requests of the lane that were answered.
    pub(super) answered: &'i mut u64,
    pub(super) engine: &'static str,
    /// The operation that a request of many keys is.
    pub(super) request: Option<Operation>,
}

impl<B: Begun> Inbox<'_, '_, B> {
    /// Judges an answer, at this time. `was_sent` is false for a request that could not be sent.
    #[inline]
    pub(super) fn take(&mut self, id: usize, answer: Answer<'_>, now: u64, was_sent: bool) -> Next {
        let Some((op, begun)) = self.outstanding.single(id) else {
            debug_assert!(false, "an answer to request {id}, which has none outstanding");
            return Next::More;
        };
        let n_ops = self.outstanding.slots[id].n_ops;
        if let Some(request) = self.request.or(many(n_ops)) {
            return self.many(request, id, answer, begun, now, was_sent);
        }
        let done = match (op.kind, answer) {
            (Access::Get, Answer::Hit { value, .. }) => {
                self.judge.got(op, begun, now, Ok(Some(value)))
            }
            (Access::Get, answer) => self.judge.got(op, begun, now, self.nothing(answer)),
            (Access::GetOrSet, Answer::Hit { value, .. }) => {
                self.judge.get_or_set(op, begun, now, Ok(Some(value)), None)
            }
            (Access::GetOrSet, answer) => {
                let Some(version) = self.outstanding.slots[id].filling.take() else {
                    let missed = self.nothing(answer);
                    if missed.is_ok() {
                        return Next::Fill;
                    }
                    let done = self.judge.get_or_set(op, begun, now, missed, None);
                    return self.over(id, op, begun, done, was_sent);
                };
                let fill = Fill {
                    version,
                    is_repeated: false,
                    outcome: self.outcome(op, answer).map(drop),
                };
                self.judge.get_or_set(op, begun, now, Ok(None), Some(fill))
            }
            (Access::Set, answer) => self.judge.set(op, begun, now, self.outcome(op, answer)),
            (Access::Delete, answer) => self.judge.deleted(op, begun, now, &self.presence(answer)),
            (Access::Touch, answer) => self.judge.touched(op, begun, now, &self.presence(answer)),
            (Access::Incr | Access::Decr, answer) => {
                self.judge.counted(op, begun, now, self.number(answer))
            }
        };
        self.over(id, op, begun, done, was_sent)
    }

    /// A request of one key has its last answer.
    #[inline]
    fn over(&mut self, id: usize, op: Op, begun: B, done: Finished, was_sent: bool) -> Next {
        if done.failed {
            self.failed(op, begun, done, was_sent);
        } else {
            self.failures.end_at(done.at);
        }
        self.release(id);
        Next::Over
    }

    #[cold]
    fn failed(&mut self, op: Op, begun: B, done: Finished, was_sent: bool) {
        self.failures.count(begun.at(), done.at, done.unanswered);
        let is_lost = done.lost && was_sent;
        if is_lost {
            self.judge.tallies.of(op.operation()).counts.lost += 1;
        }
        if op.kind.changes() {
            self.write_failed(op, is_lost);
        }
    }

    /// Later operations on the key, sent or not, may rightly see the value from before.
    fn write_failed(&mut self, op: Op, is_lost: bool) {
        let Self { judge, outstanding, drawn, .. } = self;
        let later = outstanding.ops.iter_mut().chain(drawn.iter_mut());
        judge.draw.write_of_failed(op, later, !is_lost);
    }

    fn release(&mut self, id: usize) {
        let slot = &mut self.outstanding.slots[id];
        (slot.begun, slot.filling) = (None, None);
        self.outstanding.free.push(id);
    }

    /// Judges an answer to a request of many keys.
    fn many(
        &mut self,
        request: Operation,
        id: usize,
        answer: Answer<'_>,
        begun: B,
        now: u64,
        was_sent: bool,
    ) -> Next {
        let first = id * self.outstanding.keys_a_request;
        let slot = &mut self.outstanding.slots[id];
        let range = first..first + slot.n_ops;
        let ops = &self.outstanding.ops[range.clone()];
        let found = &mut self.outstanding.found[range];
        let ended = match (request, answer) {
            (Operation::SetMany, Answer::Outcome { place, outcome }) => {
                let mut outcomes = Outcomes::new(self.judge, ops, found, slot.done);
                let failed = outcomes.record(place, outcome, self.engine);
                slot.done = outcomes.done;
                if let Some(is_lost) = failed {
                    let op = ops[place];
                    self.write_failed(op, is_lost);
                }
                return Next::More;
            }
            (Operation::GetMany, Answer::Entry { place, value, .. }) => {
                let at = begun.at();
                let mut answers = Answers::new(self.judge, request, ops, at, found, slot.counted);
                answers.at(place, value);
                slot.counted = answers.n;
                return Next::More;
            }
            (_, Answer::End) => Ok(()),
            (_, Answer::Failed(error)) => Err(error),
            (_, other) => Err(unexpected(self.engine, &other)),
        };
        let lost = ended.as_ref().is_err_and(is_lost) && was_sent;
        let unanswered = ended.as_ref().is_err_and(is_unanswered);
        let has_failed = if request == Operation::SetMany {
            let open = found.iter().filter(|told| !**told).count() as u64;
            let outcomes = Outcomes::new(self.judge, ops, found, slot.done);
            let done = outcomes.end(begun, now, self.engine, ended, &mut |_, _| {});
            if lost {
                self.judge.tallies.of(request).counts.lost += open;
            }
            for place in first..first + slot.n_ops {
                if !self.outstanding.found[place] {
                    let op = self.outstanding.ops[place];
                    self.write_failed(op, true);
                }
            }
            done.stored == 0
        } else {
            let has_failed = ended.is_err();
            let mut answers =
                Answers::new(self.judge, request, ops, begun.at(), found, slot.counted);
            if !has_failed {
                answers.note_misses();
            }
            let open = ops.len() as u64 - answers.n.found;
            answers.end(begun, now, ended);
            if lost {
                self.judge.tallies.of(request).counts.lost += open;
            }
            has_failed
        };
        if has_failed {
            self.failures.count(begun.at(), now, unanswered);
        } else {
            self.failures.end_at(now);
        }
        self.release(id);
        Next::Over
    }

    /// An answer without a value, to a get.
    fn nothing<'v>(&self, answer: Answer<'_>) -> Result<Option<&'v [u8]>, Error> {
        match answer {
            Answer::Miss => Ok(None),
            Answer::Failed(error) => Err(error),
            other => Err(unexpected(self.engine, &other)),
        }
    }

    fn outcome(&self, op: Op, answer: Answer<'_>) -> Result<bool, Error> {
        match answer {
            Answer::Stored(outcome) => carried_out(op, Ok(outcome), || self.engine),
            Answer::Failed(error) => Err(error),
            other => Err(unexpected(self.engine, &other)),
        }
    }

    fn number(&self, answer: Answer<'_>) -> Result<Option<u64>, Error> {
        match answer {
            Answer::Counted(counted) => Ok(counted.map(|counted| counted.number)),
            Answer::Failed(error) => Err(error),
            other => Err(unexpected(self.engine, &other)),
        }
    }

    fn presence(&self, answer: Answer<'_>) -> Result<bool, Error> {
        match answer {
            Answer::Found(found) => Ok(found),
            Answer::Failed(error) => Err(error),
            other => Err(unexpected(self.engine, &other)),
        }
    }
}

/// The error of an answer that does not fit its request.
#[cold]
fn unexpected(engine: &'static str, answer: &Answer<'_>) -> Error {
    let message = format!("an answer that does not fit the request: {answer:?}");
    Error::Protocol { engine, peer: "the store".into(), message }
}
