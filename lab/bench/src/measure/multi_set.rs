//! Requests that store many keys: one time for all keys of a request, and an outcome for each key.

use std::ops::Range;

use larder_report::Operation;
use larder_store::{Error, Put, Result, SetDone, SetOptions, SetOutcome};

use super::block::{Block, Op};
use super::clock::now_ns;
use super::key_state::KeyState;
use super::outcomes::{Judge, Orders, is_lost, is_unanswered, stored};
use super::pace::{Begun, Pace};
use super::tally::Tally;
use super::worker::Worker;
use larder_workload::Composer;

/// The bytes of the values that are made together, unless one request has more.
const MADE_BYTES: usize = 4 << 20;

impl<P: Pace> Worker<'_, P> {
    /// Runs a block as sets of many keys; the latency is the request's, the counts are keys.
    ///
    /// The values are made when the block is drawn, because those of a request are needed at once. So a set of one key
    /// has the time of making its value, and a set of many keys has not.
    pub(super) fn stores(&mut self, block: &mut Block, left: Option<u64>) -> u64 {
        let values = std::mem::take(&mut self.made);
        let places = 0..block.ops.len();
        let puts: Vec<Put<'_>> =
            puts(block, places, &values, self.judge.orders.set_options).collect();
        let mut failed = Vec::new();
        let start = self.start();
        let end = left.map_or(u64::MAX, |left| start + left);
        let mut then = start;
        let batch = self.judge.orders.keys_a_request;
        let engine = self.session.engine();
        for (puts, first) in puts.chunks(batch).zip((0..).step_by(batch)) {
            let free = if first == 0 { self.free } else { then };
            let (place, ops) = (block.place(first), puts.len() as u64);
            let Some(begun) = self.pace.begin(free, then, ops, place) else { break };
            self.found.fill(false);
            let asked = &block.ops[first..first + puts.len()];
            note_renewals(&self.judge.orders, self.judge.state, asked, begun.at());
            let has_outcome = &mut self.found[..puts.len()];
            let mut outcomes = Outcomes::new(&mut self.judge, asked, has_outcome, Done::default());
            let mut done: &mut SetDone<'_> = &mut |i, outcome| {
                if let Some(lost) = outcomes.record(i, outcome, engine) {
                    failed.push((first + i, lost));
                }
            };
            let answer = self.session.set_many(puts, &mut done);
            let now = now_ns();
            let fail = &mut |i, lost| failed.push((first + i, lost));
            let done = outcomes.end(begun, now, engine, answer, fail);
            // A store that stores some keys of each request is at work.
            if done.stored > 0 {
                self.failures.end();
            } else {
                self.failures.count(begun.at(), now, done.unanswered);
            }
            then = now;
            if then >= end || self.failures.gave_up() {
                break;
            }
        }
        drop(puts);
        for (i, lost) in failed {
            self.judge.draw.write_failed(block, i, !lost);
        }
        self.made = values;
        self.free = then;
        then - start
    }

    /// The most operations of a block whose values are made together.
    pub(super) fn most_made(&self) -> usize {
        (MADE_BYTES / self.judge.composer.values().longest().max(1)).max(1)
    }
}

/// What a request has stored so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Done {
    /// Keys that were stored.
    pub(super) stored: u64,
    /// Whether some key got no answer in time.
    pub(super) unanswered: bool,
}

/// A request that stores many keys, and the outcomes.
pub(super) struct Outcomes<'a> {
    ops: &'a [Op],
    orders: Orders<'a>,
    state: &'a KeyState,
    tally: &'a mut Tally,
    /// Whether each of the keys has its outcome.
    has_outcome: &'a mut [bool],
    origin: u64,
    /// What is stored so far.
    pub(super) done: Done,
}

impl<'a> Outcomes<'a> {
    /// The outcomes of a request. `has_outcome` and `done` say what has come so far.
    pub(super) fn new(
        judge: &'a mut Judge<'_>,
        ops: &'a [Op],
        has_outcome: &'a mut [bool],
        done: Done,
    ) -> Self {
        let tally = judge.tallies.of(Operation::SetMany);
        let (orders, state, origin) = (judge.orders, judge.state, judge.origin);
        Self { ops, orders, state, tally, has_outcome, origin, done }
    }

    /// The outcome of one key. Where the set has failed, whether it may still be carried out.
    pub(super) fn record(
        &mut self,
        i: usize,
        outcome: Result<SetOutcome>,
        engine: &'static str,
    ) -> Option<bool> {
        self.has_outcome[i] = true;
        match stored(outcome, || engine) {
            Ok(()) => {
                self.done.stored += 1;
                self.state.acknowledge(self.ops[i].key, self.ops[i].version);
                self.tally.bytes += u64::from(self.ops[i].len);
                None
            }
            Err(error) => {
                self.tally.note_error(&error);
                self.done.unanswered |= is_unanswered(&error);
                Some(is_lost(&error))
            }
        }
    }

    /// Counts the request, which has ended. `fail` is called for every key without an outcome: it is not known whether such a
    /// key is stored.
    pub(super) fn end<B: Begun>(
        self,
        begun: B,
        now: u64,
        engine: &'static str,
        answer: Result<()>,
        fail: &mut dyn FnMut(usize, bool),
    ) -> Done {
        let Self { ops, orders, state, tally, has_outcome, origin, mut done } = self;
        note_renewals(&orders, state, ops, now);
        let n = ops.len() as u64;
        tally.attempted(n, now - origin, begun.took(now));
        if let Some(late) = begun.late() {
            tally.late(late, n);
        }
        tally.succeeded += done.stored;
        tally.counts.errors += n - done.stored;
        let silence = answer.and_then(|()| {
            if has_outcome.iter().all(|has| *has) {
                return Ok(());
            }
            let message = "no outcome for some keys of a batch".to_owned();
            Err(Error::Protocol { engine, peer: "the store".into(), message })
        });
        if let Err(error) = &silence {
            tally.note_error(error);
            done.unanswered |= is_unanswered(error);
            (0..ops.len()).filter(|i| !has_outcome[*i]).for_each(|i| fail(i, true));
        }
        if done.stored == n {
            tally.record(begun.took(now));
        }
        done
    }
}

/// A set of these keys begins, or was answered.
pub(super) fn note_renewals(orders: &Orders<'_>, state: &KeyState, ops: &[Op], now_ns: u64) {
    for op in ops {
        state.note_renewal(op.key, orders.gone_at_ns(*op, now_ns));
    }
}

/// Makes the values of these operations, one behind the other.
pub(super) fn make(composer: &mut Composer, ops: &[Op], made: &mut Vec<u8>) {
    made.clear();
    for op in ops {
        made.extend_from_slice(composer.compose(op.key, op.version, op.len));
    }
}

/// The entries of these operations of a block, with their values as they were made.
pub(super) fn puts<'b>(
    block: &'b Block,
    places: Range<usize>,
    values: &'b [u8],
    options: SetOptions,
) -> impl Iterator<Item = Put<'b>> {
    let mut rest = values;
    places.map(move |i| {
        let (value, behind) = rest.split_at(block.ops[i].len as usize);
        rest = behind;
        Put { key: block.key(i), value, options }
    })
}
