//! The outcomes of operations: each answer is held against the knowledge of its key, and counted.
//!
//! The loop of threads that wait for each answer and the loop of threads that drive many connections share this part,
//! so that a figure means the same in both.

use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use larder_report::Operation;
use larder_store::{Delta, Error, Initial, SetOptions, SetOutcome};

use super::block::Op;
use super::draw::Draw;
use super::key_state::KeyState;
use super::loads::Loads;
use super::pace::{Begun, Took};
use super::tally::{Known, Tallies, Tally};
use larder_workload::{
    Composer, Condition, Correctness, HEADER_LEN, ReadExpectation, Values, parse_number,
};

/// The part of the work that is the same for every thread of a phase.
#[derive(Debug, Clone, Copy)]
pub(super) struct Orders<'a> {
    pub(super) set_options: SetOptions,
    pub(super) touch_ttl: Option<Duration>,
    /// The time after its last renewal when a key is gone for certain, in nanoseconds; [`u64::MAX`] where entries have no
    /// TTL, or each its own.
    pub(super) gone_after_ns: u64,
    /// The time after its TTL when a key with a TTL of its own is gone for certain, in nanoseconds.
    pub(super) ttl_slack_ns: u64,
    /// The time that it takes to make a value; `None` where it takes no time.
    pub(super) loads: Option<&'a Loads>,
    /// Keys a request; 1 reads one by one.
    pub(super) keys_a_request: usize,
    /// The most keys of a request, those of a recording included.
    pub(super) most_keys: usize,
    /// Whether one request at a time is under way, in the whole phase.
    pub(super) alone: bool,
    /// Whether the store keeps nothing and replays the last set: any whole value is right.
    pub(super) replays: bool,
    /// The time that ends the phase; `None` when operations end it.
    pub(super) time_limit: Option<Duration>,
    /// When the first thread began.
    pub(super) began: &'a OnceLock<u64>,
    pub(super) stop: &'a AtomicBool,
}

impl Orders<'_> {
    /// The kind of every request of a phase, where all of them have many keys. A recording tells it for each request.
    pub(super) fn request_of(&self, operations: &[Operation]) -> Option<Operation> {
        let of_many = operations.iter().copied().find(|operation| operation.is_of_many_keys());
        of_many.filter(|_| self.most_keys == self.keys_a_request)
    }

    /// The options of a set or a fill.
    #[inline]
    pub(super) fn set_options_of(&self, op: Op) -> SetOptions {
        let mode = op.condition.map_or(self.set_options.mode, Condition::mode);
        SetOptions { ttl: op.ttl().or(self.set_options.ttl), mode, ..self.set_options }
    }

    /// The TTL that a touch gives.
    #[inline]
    pub(super) fn touch_ttl_of(&self, op: Op) -> Option<Duration> {
        op.ttl().or(self.touch_ttl)
    }

    /// When an entry that an operation renews now is gone for certain.
    #[inline]
    pub(super) fn gone_at_ns(&self, op: Op, now: u64) -> u64 {
        let lasts = match op.ttl_ms {
            0 => self.gone_after_ns,
            ttl_ms => (u64::from(ttl_ms) * 1_000_000).saturating_add(self.ttl_slack_ns),
        };
        now.saturating_add(lasts)
    }
}

/// One thread's counts, and the knowledge by which it judges answers.
pub(super) struct Judge<'a> {
    pub(super) tallies: Tallies,
    pub(super) draw: Draw<'a>,
    pub(super) composer: Composer,
    pub(super) state: &'a KeyState,
    pub(super) orders: Orders<'a>,
    /// When the phase began; where the clock is stopped while a thread draws, so much later.
    pub(super) origin: u64,
}

/// The store that follows a miss.
#[derive(Debug)]
pub(super) struct Fill {
    /// The version of the value.
    pub(super) version: u32,
    /// Whether another caller made the same value meanwhile.
    pub(super) is_repeated: bool,
    /// What became of it.
    pub(super) outcome: Result<(), Error>,
}

impl<'a> Judge<'a> {
    pub(super) fn new(
        tallies: Tallies,
        values: &Values,
        draw: Draw<'a>,
        state: &'a KeyState,
        orders: Orders<'a>,
    ) -> Self {
        Self { tallies, draw, composer: Composer::new(values), state, orders, origin: 0 }
    }

    /// A get was answered.
    #[inline]
    pub(super) fn got<B: Begun>(
        &mut self,
        op: Op,
        begun: B,
        now: u64,
        answer: Result<Option<&[u8]>, Error>,
    ) -> Finished {
        let outlived = matches!(answer, Ok(Some(_))) && self.has_outlived(op, begun);
        let tally = self.tallies.of(op.operation());
        attempted(tally, self.origin, now, begun);
        match answer {
            Ok(Some(value)) => {
                tally.counts.outlived += u64::from(outlived);
                self.found(op.operation(), op, begun.took(now), value);
            }
            Ok(None) => tally.missed(self.draw.known(op), begun.took(now)),
            Err(error) => return Finished::failed(now, tally, &error),
        }
        Finished::well(now)
    }

    /// A set was answered: whether it was carried out.
    #[inline]
    pub(super) fn set<B: Begun>(
        &mut self,
        op: Op,
        begun: B,
        now: u64,
        outcome: Result<bool, Error>,
    ) -> Finished {
        self.state.note_renewal(op.key, self.orders.gone_at_ns(op, now));
        let tally = self.tallies.of(op.operation());
        attempted(tally, self.origin, now, begun);
        match outcome {
            Ok(true) => self.state.acknowledge(op.key, op.version),
            Ok(false) => {
                tally.counts.misses += 1;
                return Finished::well(now);
            }
            Err(error) => return Finished::failed(now, tally, &error),
        }
        tally.bytes += u64::from(op.len);
        tally.success(begun.took(now));
        Finished::well(now)
    }

    /// The version of the value that a miss is filled with.
    pub(super) fn fill_version(&self, op: Op) -> u32 {
        op.version.max(self.state.base() + 1)
    }

    /// The look-aside pattern has ended: with the value, or with the fill of a miss. A miss whose fill is refused did not
    /// succeed.
    #[inline]
    pub(super) fn get_or_set<B: Begun>(
        &mut self,
        op: Op,
        begun: B,
        now: u64,
        answer: Result<Option<&[u8]>, Error>,
        fill: Option<Fill>,
    ) -> Finished {
        let outlived = matches!(answer, Ok(Some(_))) && self.has_outlived(op, begun);
        let tally = self.tallies.of(Operation::GetOrSet);
        attempted(tally, self.origin, now, begun);
        let fill = match (answer, fill) {
            (Ok(Some(value)), _) => {
                tally.counts.outlived += u64::from(outlived);
                self.found(Operation::GetOrSet, op, begun.took(now), value);
                return Finished::well(now);
            }
            (Err(error), _) => return Finished::failed(now, tally, &error),
            (Ok(None), fill) => fill,
        };
        note_miss(&self.draw, op, tally);
        let Some(fill) = fill else { return Finished::well(now) };
        let done = self.filled(op, now, fill);
        if !done.failed {
            self.tallies.of(Operation::GetOrSet).record(begun.took(now));
        }
        done
    }

    /// A miss was followed by a store.
    #[inline]
    pub(super) fn filled(&mut self, op: Op, now: u64, fill: Fill) -> Finished {
        let tally = self.tallies.of(Operation::GetOrSet);
        tally.counts.repeated_loads += u64::from(fill.is_repeated);
        self.state.note_renewal(op.fill, self.orders.gone_at_ns(op, now));
        if let Err(error) = fill.outcome {
            tally.counts.failed_fills += 1;
            return Finished::not_filled(now, tally, &error);
        }
        tally.bytes += u64::from(op.len);
        tally.succeeded += 1;
        // This may be an older version than the last one, which was evicted or has expired.
        self.state.acknowledge(op.fill, fill.version);
        Finished::well(now)
    }

    /// The entry that a count makes of an absent key; `None` where the key stays absent.
    pub(super) fn initial(&self, op: Op) -> Option<Initial> {
        if op.condition.is_some() {
            return None;
        }
        let number = self.composer.values().number(op.key, self.fill_version(op));
        Some(Initial { number, ttl: self.orders.set_options_of(op).ttl })
    }

    /// A count was answered: with the number, or that the key is absent.
    pub(super) fn counted<B: Begun>(
        &mut self,
        op: Op,
        begun: B,
        now: u64,
        answer: Result<Option<u64>, Error>,
    ) -> Finished {
        let tally = self.tallies.of(Operation::Incr);
        attempted(tally, self.origin, now, begun);
        match answer {
            Ok(Some(number)) => self.counted_to(op, begun.took(now), number),
            Ok(None) => note_miss(&self.draw, op, tally),
            Err(error) => return Finished::failed(now, tally, &error),
        }
        if op.condition.is_none() {
            self.state.note_renewal(op.key, self.orders.gone_at_ns(op, now));
        }
        Finished::well(now)
    }

    /// Judges the number of a count.
    fn counted_to(&mut self, op: Op, took: impl Took, number: u64) {
        let (values, state) = (self.composer.values(), self.state);
        let initial = self.initial(op).map(|initial| initial.number);
        let more = if op.delta() == Delta::Down(1) { -1 } else { 1 };
        let finding = if self.orders.replays || initial == Some(number) {
            Correctness::Right
        } else {
            let (oldest, newest) = (op.version, state.newest(op.key));
            let steps = |version| state.steps(op.key, version, more);
            values.verify_number(op.key, oldest, newest, steps, Some(number))
        };
        if let Some(found) = values.apart(op.key, number) {
            // Of an entry that the count has made, this may be an older version than that of one that was evicted.
            if finding == Correctness::Right && initial.is_some() {
                state.acknowledge(op.key, found.version);
            }
            // The next count goes on from here, whether this one was right or not.
            state.numbers.note(op.key, found.steps);
        }
        let tally = self.tallies.of(Operation::Incr);
        if finding == Correctness::Right {
            tally.success(took);
            return;
        }
        tally.wrong(finding);
        let (asked, keys) = (asked(state, op), self.draw.keys());
        tally.note_wrong(finding, || {
            values.describe(keys, asked, finding, number.to_string().as_bytes())
        });
    }

    /// A delete was answered: whether its key was there.
    pub(super) fn deleted<B: Begun>(
        &mut self,
        op: Op,
        begun: B,
        now: u64,
        answer: &Result<bool, Error>,
    ) -> Finished {
        let done = self.presence(Operation::Delete, op, begun, now, answer);
        if answer.is_ok() {
            self.state.acknowledge_delete(op.key, self.draw.removed(op));
        }
        done
    }

    /// A touch was answered: whether its key was there.
    pub(super) fn touched<B: Begun>(
        &mut self,
        op: Op,
        begun: B,
        now: u64,
        answer: &Result<bool, Error>,
    ) -> Finished {
        self.state.note_renewal(op.key, self.orders.gone_at_ns(op, now));
        self.presence(Operation::Touch, op, begun, now, answer)
    }

    /// The end of an operation that tells whether its key was there.
    fn presence<B: Begun>(
        &mut self,
        operation: Operation,
        op: Op,
        begun: B,
        now: u64,
        answer: &Result<bool, Error>,
    ) -> Finished {
        let tally = self.tallies.of(operation);
        attempted(tally, self.origin, now, begun);
        match answer {
            Ok(true) => tally.success(begun.took(now)),
            Ok(false) => note_miss(&self.draw, op, tally),
            Err(error) => return Finished::failed(now, tally, error),
        }
        Finished::well(now)
    }

    /// Whether a key that was found should have been gone when the operation began.
    #[inline]
    fn has_outlived<B: Begun>(&self, op: Op, begun: B) -> bool {
        self.state.has_outlived(op.key, begun.at())
    }

    /// Judges the value of a key.
    #[inline]
    fn found(&mut self, operation: Operation, op: Op, took: impl Took, value: &[u8]) {
        let values = self.composer.values();
        let finding = verify(values, self.state, self.orders.replays, op.key, op.version, value);
        let tally = self.tallies.of(operation);
        tally.found(finding, value.len(), took);
        if finding != Correctness::Right {
            let asked = asked(self.state, op);
            let words = || values.describe(self.draw.keys(), asked, finding, value);
            tally.note_wrong(finding, words);
        }
    }
}

/// Counts a miss of an operation that does more than read.
fn note_miss(draw: &Draw<'_>, op: Op, tally: &mut Tally) {
    tally.counts.misses += 1;
    tally.counts.stored_misses += u64::from(draw.known(op) == Known::There);
}

/// Counts an operation that is over, failed or not.
#[inline]
fn attempted<B: Begun>(tally: &mut Tally, origin: u64, now: u64, begun: B) {
    tally.attempted(1, now - origin, begun.took(now));
    if let Some(late) = begun.late() {
        tally.late(late, 1);
    }
}

/// The end of an operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Finished {
    /// When the operation ended.
    pub(super) at: u64,
    /// Whether the store failed the operation.
    pub(super) failed: bool,
    /// Whether the operation got no answer in time.
    pub(super) unanswered: bool,
    /// Whether the connection ended or was given up before the answer: the operation may still be carried out.
    pub(super) lost: bool,
}

impl Finished {
    pub(super) fn well(at: u64) -> Self {
        Self { at, failed: false, unanswered: false, lost: false }
    }

    #[cold]
    fn failed(at: u64, tally: &mut Tally, error: &Error) -> Self {
        tally.counts.errors += 1;
        Self::not_filled(at, tally, error)
    }

    /// The end of an operation whose value was not stored.
    fn not_filled(at: u64, tally: &mut Tally, error: &Error) -> Self {
        tally.note_error(error);
        Self { at, failed: true, unanswered: is_unanswered(error), lost: is_lost(error) }
    }
}

/// Whether an operation got no answer in time.
pub(super) fn is_unanswered(error: &Error) -> bool {
    matches!(error, Error::Timeout { .. })
}

/// Whether an operation that failed may still be carried out.
pub(super) fn is_lost(error: &Error) -> bool {
    is_unanswered(error) || matches!(error, Error::Unavailable { .. })
}

/// A plain set that was not stored is a failure, whatever the store calls it.
#[inline]
pub(super) fn stored(
    outcome: Result<SetOutcome, Error>,
    engine: impl FnOnce() -> &'static str,
) -> Result<(), Error> {
    match outcome? {
        SetOutcome::Stored(_) => Ok(()),
        refused => Err(Error::Protocol {
            engine: engine(),
            peer: "the store".into(),
            message: format!("{refused:?} to a plain set"),
        }),
    }
}

/// Whether a set was carried out. Only one with a condition may rightly not be.
#[inline]
pub(super) fn carried_out(
    op: Op,
    outcome: Result<SetOutcome, Error>,
    engine: impl FnOnce() -> &'static str,
) -> Result<bool, Error> {
    match outcome {
        Ok(SetOutcome::NotStored | SetOutcome::NotFound) if op.condition.is_some() => Ok(false),
        outcome => stored(outcome, engine).map(|()| true),
    }
}

/// The expectation of an operation, for the explanation of a wrong value.
pub(super) fn asked(state: &KeyState, op: Op) -> ReadExpectation {
    ReadExpectation { key: op.key, oldest: op.version, base: state.base() }
}

/// Judges the value of a key, whose versions from `oldest` on are right. A store that `replays` the last set may give back
/// any whole value.
#[inline]
pub(super) fn verify(
    values: &Values,
    state: &KeyState,
    replays: bool,
    key: u32,
    oldest: u32,
    value: &[u8],
) -> Correctness {
    if replays {
        values.verify_any(value)
    } else if value.len() < HEADER_LEN && values.is_counter(key) {
        let steps = |version| state.steps(key, version, 0);
        values.verify_number(key, oldest, state.newest(key), steps, parse_number(value))
    } else {
        values.verify(key, oldest, || state.newest(key), value)
    }
}
