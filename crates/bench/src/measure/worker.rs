//! The measured loop.
//!
//! It allocates nothing, formats nothing and draws no random numbers: operations come in blocks that were drawn before
//! the clock started. One reading of the clock an operation: the end of one is the start of the next. Verification lies
//! between the two, so it is part of the next operation's time, the same for every target, and of the floor.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use larder_report::Operation;
use larder_store::{Error, Session, SetOptions, SetOutcome};

use super::clock::{now_ns, thread_cpu_ns};
use super::draw::{Block, Draw, KeyState, Kind, Op};
use super::tally::Tallies;
use crate::workload::{Composer, Finding, Values};

/// Operations in a block at most: enough to make its overhead vanish, few enough to stop soon.
const BLOCK: usize = 1024;
/// How long a block should take: slow stores get smaller blocks, so that time limits and Ctrl-C are seen.
const BLOCK_NS: u64 = 20_000_000;
/// After so many failures in a row the rest would only repeat them.
const FAILURES_IN_A_ROW: u32 = 100;
/// And after so much time lost in failures in a row (time-outs).
const FAILING_NS: u64 = 5_000_000_000;

/// What every thread of a phase does alike.
#[derive(Debug, Clone, Copy)]
pub(super) struct Orders<'a> {
    pub(super) set_options: SetOptions,
    pub(super) touch_ttl: Option<Duration>,
    /// Keys a request; 1 reads one by one.
    pub(super) multiget: usize,
    /// The store keeps nothing and replays the last set: any whole value is right.
    pub(super) replays: bool,
    /// When time ends the phase, on the monotonic clock.
    pub(super) time_limit: Option<Duration>,
    pub(super) stop: &'a AtomicBool,
}

/// One thread at work.
pub(super) struct Worker<'a> {
    session: &'a mut dyn Session,
    composer: Composer,
    draw: Draw<'a>,
    state: &'a KeyState,
    orders: Orders<'a>,
    buffer: Vec<u8>,
    failures: u32,
    failing_since: u64,
}

/// What one thread brings home.
#[derive(Debug)]
pub(super) struct Share {
    pub(super) tallies: Tallies,
    /// Time in the measured segments.
    pub(super) timed_ns: u64,
    /// CPU time in the measured segments.
    pub(super) timed_cpu_ns: u64,
    /// CPU time in all.
    pub(super) cpu_ns: u64,
    /// It stopped because the store kept failing.
    pub(super) gave_up: bool,
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        session: &'a mut dyn Session,
        values: &Values,
        draw: Draw<'a>,
        state: &'a KeyState,
        orders: Orders<'a>,
    ) -> Self {
        let composer = Composer::new(values);
        let buffer = Vec::with_capacity(values.longest());
        Self { session, composer, draw, state, orders, buffer, failures: 0, failing_since: 0 }
    }

    /// Works through the thread's share.
    pub(super) fn run(mut self, operations: &[Operation]) -> Share {
        let mut tallies = Tallies::new(operations);
        let mut block = Block::default();
        let (mut timed_ns, mut draw_cpu_ns) = (0, 0);
        let began = thread_cpu_ns();
        let mut size: usize = 16;
        let limit = self.orders.time_limit;
        let limit = limit.map(|limit| u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX));
        while !self.draw.is_over() && !self.gave_up() {
            if self.orders.stop.load(Ordering::Relaxed) || limit.is_some_and(|end| timed_ns >= end)
            {
                break;
            }
            let cpu = thread_cpu_ns();
            self.draw.fill(&mut block, size.next_multiple_of(self.orders.multiget));
            draw_cpu_ns += thread_cpu_ns() - cpu;
            let start = now_ns();
            let end = limit.map_or(u64::MAX, |limit| start + (limit - timed_ns));
            let stopped = if self.orders.multiget > 1 {
                self.requests(&block, &mut tallies, start, end)
            } else {
                self.operations(&mut block, &mut tallies, start, end)
            };
            let took = stopped - start;
            timed_ns += took;
            size = next_size(size, took);
        }
        let cpu_ns = thread_cpu_ns() - began;
        let timed_cpu_ns = cpu_ns - draw_cpu_ns;
        Share { tallies, timed_ns, timed_cpu_ns, cpu_ns, gave_up: self.gave_up() }
    }

    /// Runs a block one operation at a time; returns when the last one ended.
    fn operations(
        &mut self,
        block: &mut Block,
        tallies: &mut Tallies,
        start: u64,
        end: u64,
    ) -> u64 {
        let mut then = start;
        for i in 0..block.ops.len() {
            let op = block.ops[i];
            let key = block.key(i);
            let outcome = match op.kind {
                Kind::Get => self.get(key, op, then, tallies),
                Kind::Set => self.set(key, op, then, tallies),
                Kind::GetOrSet => self.get_or_set(key, op, then, tallies),
                Kind::Delete => self.delete(key, op, then, tallies),
                Kind::Touch => self.touch(key, then, tallies),
            };
            match outcome {
                Ok(now) => {
                    self.failures = 0;
                    then = now;
                }
                Err(error) => {
                    let now = now_ns();
                    self.note_failure(&error, op, then, now, tallies);
                    if op.kind == Kind::Set {
                        self.draw.set_failed(block, i);
                    }
                    then = now;
                    if self.gave_up() {
                        break;
                    }
                }
            }
            if then >= end {
                break;
            }
        }
        then
    }

    #[inline]
    fn get(&mut self, key: &[u8], op: Op, then: u64, tallies: &mut Tallies) -> Result<u64, Error> {
        let answer = self.session.get(key, &mut self.buffer)?;
        let now = now_ns();
        let tally = tallies.of(Operation::Get);
        tally.counts.ops += 1;
        if answer.is_none() {
            tally.counts.misses += 1;
            return Ok(now);
        }
        let finding = verify(self.composer.values(), self.orders.replays, op, &self.buffer);
        tally.found(finding, self.buffer.len());
        if finding == Finding::Right {
            tally.success(now - then);
        }
        Ok(now)
    }

    #[inline]
    fn set(&mut self, key: &[u8], op: Op, then: u64, tallies: &mut Tallies) -> Result<u64, Error> {
        let value = self.composer.compose(op.key, op.version);
        let bytes = value.len();
        let outcome = self.session.set(key, value, &self.orders.set_options)?;
        stored(self.session, outcome)?;
        let now = now_ns();
        self.state.acknowledge(op.key, op.version);
        let tally = tallies.of(Operation::Set);
        tally.counts.ops += 1;
        tally.bytes += bytes as u64;
        tally.success(now - then);
        Ok(now)
    }

    /// The look-aside pattern. A fill that is refused leaves the operation a miss that did not succeed.
    fn get_or_set(
        &mut self,
        key: &[u8],
        op: Op,
        then: u64,
        tallies: &mut Tallies,
    ) -> Result<u64, Error> {
        let answer = self.session.get(key, &mut self.buffer)?;
        let filled = answer.is_none().then(|| {
            let version = op.version.max(self.state.base() + 1);
            let value = self.composer.compose(op.key, version);
            let outcome = self.session.set(key, value, &self.orders.set_options)?;
            stored(self.session, outcome).map(|()| value.len())
        });
        let now = now_ns();
        let tally = tallies.of(Operation::GetOrSet);
        tally.counts.ops += 1;
        match filled {
            None => {
                let finding = verify(self.composer.values(), self.orders.replays, op, &self.buffer);
                tally.found(finding, self.buffer.len());
                if finding == Finding::Right {
                    tally.success(now - then);
                }
            }
            Some(Ok(bytes)) => {
                tally.counts.misses += 1;
                tally.bytes += bytes as u64;
                tally.success(now - then);
                if self.state.acked(op.key).is_none() {
                    self.state.acknowledge(op.key, self.state.base() + 1);
                }
            }
            Some(Err(error)) => {
                tally.counts.misses += 1;
                tally.counts.failed_fills += 1;
                tally.note_error(&error);
                self.state.forget(op.key);
                self.count_failure(then, now);
                return Ok(now);
            }
        }
        Ok(now)
    }

    fn delete(
        &mut self,
        key: &[u8],
        op: Op,
        then: u64,
        tallies: &mut Tallies,
    ) -> Result<u64, Error> {
        let was_there = self.session.delete(key)?;
        let now = now_ns();
        self.state.forget(op.key);
        count_found(tallies, Operation::Delete, was_there, now - then);
        Ok(now)
    }

    fn touch(&mut self, key: &[u8], then: u64, tallies: &mut Tallies) -> Result<u64, Error> {
        let was_there = self.session.touch(key, self.orders.touch_ttl)?;
        let now = now_ns();
        count_found(tallies, Operation::Touch, was_there, now - then);
        Ok(now)
    }

    /// Runs a block as requests of many keys; the latency is the request's, the counts are keys.
    fn requests(&mut self, block: &Block, tallies: &mut Tallies, start: u64, end: u64) -> u64 {
        let keys: Vec<&[u8]> = (0..block.ops.len()).map(|i| block.key(i)).collect();
        let mut then = start;
        let tally = tallies.of(Operation::GetMany);
        let (values, replays) = (self.composer.values(), self.orders.replays);
        for (keys, ops) in
            keys.chunks(self.orders.multiget).zip(block.ops.chunks(self.orders.multiget))
        {
            let mut found = 0;
            let mut right = 0;
            let answer = self.session.get_many(keys, &mut |i, value, _| {
                let finding = verify(values, replays, ops[i], value);
                found += 1;
                right += u64::from(finding == Finding::Right);
                tally.found(finding, value.len());
            });
            let now = now_ns();
            tally.counts.ops += keys.len() as u64;
            if let Err(error) = answer {
                // What was found before the error is counted; the rest of the request failed.
                let failed = keys.len() as u64 - found;
                tally.failed(&error);
                tally.counts.errors += failed.saturating_sub(1);
                self.failures += 1;
                if self.failures == 1 {
                    self.failing_since = then;
                }
            } else {
                self.failures = 0;
                tally.counts.misses += keys.len() as u64 - found;
                tally.succeeded += right;
                if right > 0 {
                    tally.latency.saturating_record((now - then).max(1));
                }
            }
            then = now;
            if then >= end || self.failures >= FAILURES_IN_A_ROW {
                break;
            }
        }
        then
    }

    #[cold]
    fn note_failure(&mut self, error: &Error, op: Op, then: u64, now: u64, tallies: &mut Tallies) {
        let tally = tallies.of(match op.kind {
            Kind::Get => Operation::Get,
            Kind::Set => Operation::Set,
            Kind::GetOrSet => Operation::GetOrSet,
            Kind::Delete => Operation::Delete,
            Kind::Touch => Operation::Touch,
        });
        tally.counts.ops += 1;
        tally.failed(error);
        self.count_failure(then, now);
    }

    fn count_failure(&mut self, then: u64, now: u64) {
        self.failures += 1;
        if self.failures == 1 {
            self.failing_since = then;
        } else if now - self.failing_since > FAILING_NS {
            self.failures = FAILURES_IN_A_ROW;
        }
    }

    fn gave_up(&self) -> bool {
        self.failures >= FAILURES_IN_A_ROW
    }
}

/// A plain set that was not stored is a failure, whatever the store calls it.
#[inline]
fn stored(session: &dyn Session, outcome: SetOutcome) -> Result<(), Error> {
    match outcome {
        SetOutcome::Stored => Ok(()),
        refused => Err(Error::Protocol {
            engine: session.engine(),
            peer: "the store".into(),
            message: format!("{refused:?} to a plain set"),
        }),
    }
}

#[inline]
fn verify(values: &Values, replays: bool, op: Op, value: &[u8]) -> Finding {
    if replays { values.verify_any(value) } else { values.verify(op.key, op.version, value) }
}

fn count_found(tallies: &mut Tallies, operation: Operation, was_there: bool, ns: u64) {
    let tally = tallies.of(operation);
    tally.counts.ops += 1;
    if was_there {
        tally.success(ns);
    } else {
        tally.counts.misses += 1;
    }
}

/// Doubles or halves the block towards the time it should take.
fn next_size(size: usize, took_ns: u64) -> usize {
    if took_ns > BLOCK_NS {
        (size / 2).max(1)
    } else if took_ns < BLOCK_NS / 2 {
        (size * 2).min(BLOCK)
    } else {
        size
    }
}
