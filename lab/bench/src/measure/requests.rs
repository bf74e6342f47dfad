//! Requests of many keys: one time for all keys of a request, and a count for each key.
//!
//! The keys of a group are read by a request for each key, by one request for all, or by one request for their tag. The
//! checks of each entry are the same.

use std::ops::Range;

use larder_report::Operation;
use larder_store::{Error, Groups, Result, Session};

use super::block::{Block, Op, recycled};
use super::clock::now_ns;
use super::draw::Draw;
use super::failures::Failures;
use super::key_state::KeyState;
use super::outcomes::{Judge, Orders, asked, is_unanswered, verify};
use super::pace::{Begun, Pace};
use super::tally::{Known, Tally};
use super::worker::Worker;
use larder_workload::{Correctness, Values};

impl<P: Pace> Worker<'_, P> {
    /// Runs a block as requests of many keys; the latency is the request's, the counts are keys.
    pub(super) fn requests(&mut self, request: Operation, block: &Block, left: Option<u64>) -> u64 {
        let start = self.start();
        let end = left.map_or(u64::MAX, |left| start + left);
        let mut then = start;
        let batch = self.judge.orders.keys_a_request;
        for first in (0..block.ops.len()).step_by(batch) {
            let range = first..block.ops.len().min(first + batch);
            let free = if first == 0 { self.free } else { then };
            let (place, n_ops) = (block.place(first), range.len() as u64);
            let Some(begun) = self.pace.begin(free, then, n_ops, place) else { break };
            then = self.request(request, block, range, begun);
            if then >= end || self.failures.gave_up() {
                break;
            }
        }
        self.free = then;
        then - start
    }

    /// Carries out one request for these operations of a block, and returns when it was over.
    pub(super) fn request(
        &mut self,
        request: Operation,
        block: &Block,
        range: Range<usize>,
        begun: P::Begun,
    ) -> u64 {
        let mut keys: Vec<&[u8]> = recycled(std::mem::take(&mut self.keys));
        keys.extend(range.clone().map(|i| block.key(i)));
        let (first, ops) = (range.start, &block.ops[range]);
        let mut found = std::mem::take(&mut self.found);
        found.fill(false);
        let counted = Counted::default();
        let mut answers =
            Answers::new(&mut self.judge, request, ops, begun.at(), &mut found, counted);
        let answer = match (request, block.tag(first)) {
            (Operation::GetEach, _) => {
                let (buffer, failures) = (&mut self.buffer, &mut self.failures);
                answers.each(&keys, self.session, buffer, failures, begun.at());
                Ok(())
            }
            (Operation::GetTag, Some(tag)) => answers.tagged(&keys, self.session, tag),
            (Operation::GetTag, None) => answers.untagged(&keys, self.session),
            _ => self.session.get_many(&keys, &mut |i, value, _| answers.at(i, value)),
        };
        let now = now_ns();
        if request != Operation::GetEach && answer.is_ok() {
            answers.note_misses();
        }
        let (has_failed, n) = (answer.is_err(), answers.n);
        let unanswered = answer.as_ref().is_err_and(is_unanswered);
        answers.end(begun, now, answer);
        if has_failed {
            self.failures.count(begun.at(), now, unanswered);
        } else if n.failed == 0 {
            self.failures.end();
        }
        self.keys = recycled(keys);
        self.found = found;
        now
    }
}

/// A request, the knowledge of its keys, and the answers.
pub(super) struct Answers<'a> {
    ops: &'a [Op],
    draw: &'a Draw<'a>,
    values: &'a Values,
    state: &'a KeyState,
    orders: Orders<'a>,
    tally: &'a mut Tally,
    /// Whether each of the keys was found.
    found: &'a mut [bool],
    /// When the request began, on the monotonic clock.
    began_ns: u64,
    /// When the phase began.
    origin: u64,
    /// The outcomes so far.
    pub(super) n: Counted,
}

/// The outcomes of the keys of a request, and further entries that came back.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counted {
    /// Keys for which an entry came back.
    pub(super) found: u64,
    /// Found keys with the right value.
    pub(super) right: u64,
    /// Found keys whose TTL had passed when the request began.
    outlived: u64,
    /// Keys that the store reported as absent.
    missed: u64,
    /// Keys that were not found, and that were deleted.
    planned: u64,
    /// Keys that were not found, and that were set and not deleted since.
    stored: u64,
    /// Keys whose own request failed.
    failed: u64,
    /// Keys that were not asked for, because the store kept failing.
    unasked: u64,
    /// Entries that the request did not ask for. They are counted apart, so that no such entry hides a missing key.
    strays: u64,
}

impl<'a> Answers<'a> {
    /// The answers to a request that began at this time. `found` and `n` say what has come so far.
    pub(super) fn new(
        judge: &'a mut Judge<'_>,
        request: Operation,
        ops: &'a [Op],
        began_ns: u64,
        found: &'a mut [bool],
        n: Counted,
    ) -> Self {
        Self {
            ops,
            draw: &judge.draw,
            values: judge.composer.values(),
            state: judge.state,
            orders: judge.orders,
            tally: judge.tallies.of(request),
            found,
            began_ns,
            origin: judge.origin,
            n,
        }
    }

    /// Counts the request, which has ended.
    pub(super) fn end<B: Begun>(self, begun: B, now: u64, answer: Result<()>) {
        let Self { ops, tally, origin, n, .. } = self;
        let right = n.right + n.planned;
        let asked = ops.len() as u64 - n.unasked;
        // Entries that were not asked for are wrong, and count, too.
        tally.attempted(asked + n.strays, now - origin, begun.took(now));
        if let Some(late) = begun.late() {
            tally.late(late, ops.len() as u64);
        }
        let open = asked - (n.found + n.missed + n.failed);
        tally.counts.planned_misses += n.planned;
        tally.counts.stored_misses += n.stored;
        tally.counts.outlived += n.outlived;
        tally.counts.misses += n.missed;
        tally.counts.errors += n.failed;
        tally.succeeded += right;
        if let Err(error) = answer {
            // Keys that were found before the error count; the rest of the request failed.
            tally.counts.errors += open;
            tally.note_error(&error);
            return;
        }
        tally.counts.misses += open;
        if n.failed == 0 && right > 0 {
            tally.record(begun.took(now));
        }
    }

    /// Notes the keys that a request for all of them did not find.
    pub(super) fn note_misses(&mut self) {
        if self.n.found == self.ops.len() as u64 {
            return;
        }
        for i in 0..self.ops.len() {
            if !self.found[i] {
                self.note_miss(i);
            }
        }
    }

    /// The key at this place was not found.
    fn note_miss(&mut self, i: usize) {
        match self.draw.known(self.ops[i]) {
            Known::Gone => self.n.planned += 1,
            Known::There => self.n.stored += 1,
            Known::Unsure => {}
        }
    }

    /// Asks for one key after the other, and goes on after an error, unless too many errors follow each other.
    fn each(
        &mut self,
        keys: &[&[u8]],
        session: &mut dyn Session,
        buffer: &mut Vec<u8>,
        failures: &mut Failures,
        then: u64,
    ) {
        // When the next request begins; not known after a request that did not fail, because that reads no clock.
        let mut begins = Some(then);
        for (i, key) in keys.iter().enumerate() {
            match session.get(key, buffer) {
                Ok(Some(_)) => self.at(i, buffer),
                Ok(None) => {
                    self.n.missed += 1;
                    self.note_miss(i);
                }
                Err(error) => {
                    self.n.failed += 1;
                    self.tally.note_error(&error);
                    let now = now_ns();
                    failures.count(begins.unwrap_or(now), now, is_unanswered(&error));
                    begins = Some(now);
                    if failures.gave_up() {
                        self.n.unasked = (keys.len() - i - 1) as u64;
                        break;
                    }
                    continue;
                }
            }
            failures.end();
            begins = None;
        }
    }

    /// Asks for the tag.
    fn tagged(&mut self, keys: &[&[u8]], session: &mut dyn Session, tag: &[u8]) -> Result<()> {
        groups(session)?.get_tag(tag, &mut |key, value, _| self.under(keys, key, value))
    }

    /// The request for a tag on a store that keeps nothing, not even tags: all keys are asked for, and judged as by
    /// their tag.
    fn untagged(&mut self, keys: &[&[u8]], session: &mut dyn Session) -> Result<()> {
        session.get_many(keys, &mut |i, value, _| self.under(keys, keys[i], value))
    }

    /// An entry came back under this key, which must be a key of the group.
    #[inline]
    fn under(&mut self, keys: &[&[u8]], key: &[u8], value: &[u8]) {
        let first = self.ops.first().map_or(0, |op| op.key);
        let at = self.draw.keys().index_of(key).and_then(|index| index.checked_sub(first));
        match at.map(|at| at as usize).filter(|at| keys.get(*at) == Some(&key)) {
            Some(at) => self.at(at, value),
            None => self.stray(value),
        }
    }

    /// The value of the key at this place came back; each value may come back once only.
    #[inline]
    pub(super) fn at(&mut self, i: usize, value: &[u8]) {
        if std::mem::replace(&mut self.found[i], true) {
            return self.stray(value);
        }
        let Op { key, version, .. } = self.ops[i];
        let replays = self.orders.replays;
        let finding = verify(self.values, self.state, replays, key, version, value);
        self.n.found += 1;
        let outlived = self.state.has_outlived(self.ops[i].key, self.began_ns);
        self.n.outlived += u64::from(outlived);
        self.n.right += u64::from(finding == Correctness::Right);
        self.tally.seen(finding, value.len());
        if finding != Correctness::Right {
            let asked = asked(self.state, self.ops[i]);
            self.tally.note_wrong(finding, || {
                self.values.describe(self.draw.keys(), asked, finding, value)
            });
        }
    }

    /// An entry that the request did not ask for: a value of the run counts as the value of another key.
    #[cold]
    fn stray(&mut self, value: &[u8]) {
        let is_ours = self.values.verify_any(value) == Correctness::Right;
        let finding = if is_ours { Correctness::OtherKey } else { Correctness::Damaged };
        self.n.strays += 1;
        self.tally.seen(finding, value.len());
        self.tally
            .note_wrong(finding, || "an entry came back that no request had asked for".to_owned());
    }
}

/// The interface of a session for tags.
pub(super) fn groups(session: &mut dyn Session) -> Result<&mut dyn Groups> {
    let engine = session.engine();
    session.groups().ok_or(Error::Unsupported { engine, operation: "get_tag" })
}
