//! The measured loop.
//!
//! The loop allocates nothing, formats nothing and draws no random numbers: operations come in blocks that were drawn
//! before the clock started. The clock is read once for each operation: the end of one is the start of the next.
//! Verification lies between the two, so it is part of the next operation's time, the same for every target, and of
//! the floor.
//!
//! A single thread stops its clock while it draws. Several threads keep theirs running: while one thread draws, the
//! others have the store for themselves. No wall clock has seen a rate without that time. All clocks start when the
//! first thread starts, for the same reason.

use std::sync::atomic::Ordering;

use larder_report::Operation;
use larder_store::{Error, Session};

use super::block::{Block, Op};
use super::clock::{ThreadCpu, nanoseconds, now_ns};
use super::failures::Failures;
use super::loads::Load;
use super::multi_set::make;
use super::outcomes::{Fill, Finished, Judge, carried_out, stored};
use super::pace::{Begun, Pace};
use super::requests::groups;
use super::tally::Tallies;
use larder_workload::{Access, Values};

/// Operations in a block at most: enough to make its overhead vanish, few enough to stop soon.
const BLOCK: usize = 1024;
/// The intended time of a block: slow stores get smaller blocks, so that time limits and Ctrl-C are seen.
const BLOCK_NS: u64 = 20_000_000;
/// The most operations in a block of an open loop: drawing a block may make the next operation late, and must not take
/// long.
const OPEN_BLOCK: usize = 32;

/// One thread at work.
pub(super) struct Worker<'a, P> {
    pub(super) session: &'a mut dyn Session,
    pub(super) judge: Judge<'a>,
    /// When operations begin.
    pub(super) pace: P,
    /// The instant since which the thread has been waiting for an operation to begin.
    pub(super) free: u64,
    pub(super) buffer: Vec<u8>,
    /// Memory of the keys of a request, kept to use it again, and whether each was found.
    pub(super) keys: Vec<&'static [u8]>,
    pub(super) found: Vec<bool>,
    /// The values of a block of sets of many keys, kept to reuse their memory.
    pub(super) made: Vec<u8>,
    /// The kind of a request of many keys; `None` where operations come one by one.
    request: Option<Operation>,
    /// Time in the measured segments so far.
    timed_ns: u64,
    pub(super) failures: Failures,
}

/// The results of one thread.
#[derive(Debug, Default)]
pub(super) struct Share {
    pub(super) tallies: Tallies,
    /// Time in the measured segments; of several threads, all the time from the first segment to the last.
    pub(super) wall_ns: u64,
    /// The part of `wall_ns` until all requests that were sent had been answered.
    pub(super) barrier_ns: u64,
    /// CPU time in the measured segments.
    pub(super) timed_cpu_ns: u64,
    /// Of that, the time in the system's kernel.
    pub(super) timed_system_ns: u64,
    /// CPU time in all.
    pub(super) cpu_ns: u64,
    /// Whether the thread stopped because the store kept failing.
    pub(super) gave_up: bool,
    /// The requests that each connection got answered, where the thread drives several.
    pub(super) answered: Vec<u64>,
    /// The most requests that were outstanding at once.
    pub(super) most_outstanding: u64,
}

impl<'a, P: Pace> Worker<'a, P> {
    pub(super) fn new(
        session: &'a mut dyn Session,
        values: &Values,
        judge: Judge<'a>,
        operations: &[Operation],
        pace: P,
    ) -> Self {
        let orders = judge.orders;
        let buffer = Vec::with_capacity(values.longest());
        Self {
            session,
            judge,
            pace,
            free: 0,
            buffer,
            keys: Vec::with_capacity(orders.most_keys),
            found: vec![false; orders.most_keys],
            made: Vec::new(),
            request: orders.request_of(operations),
            timed_ns: 0,
            failures: Failures::of(1),
        }
    }

    /// Works through the thread's share.
    pub(super) fn run(mut self) -> Share {
        let orders = self.judge.orders;
        let mut block = Block::default();
        let mut draws = ThreadCpu::default();
        let (began, cpu_began) = (*orders.began.get_or_init(now_ns), ThreadCpu::now());
        self.judge.origin = began;
        self.free = began;
        let mut size: usize = 16;
        let limit = orders.time_limit.map(nanoseconds);
        self.pace.start(began, limit.map_or(u64::MAX, |limit| began.saturating_add(limit)));
        while !self.judge.draw.is_over() && !self.failures.gave_up() && !self.pace.is_over() {
            // An open loop ends by itself.
            let left = limit.filter(|_| !P::IS_OPEN);
            let left = left.map(|limit| limit.saturating_sub(self.timed_ns));
            if orders.stop.load(Ordering::Relaxed) || left == Some(0) {
                break;
            }
            let before = ThreadCpu::now();
            let stores = self.request == Some(Operation::SetMany);
            let most = if stores { self.most_made() } else { usize::MAX };
            let whole = size.min(most).next_multiple_of(orders.keys_a_request);
            self.judge.draw.fill(&mut block, whole);
            if stores {
                make(&mut self.judge.composer, &block.ops, &mut self.made);
            }
            draws.add_since(before);
            let took = match self.request {
                Some(Operation::SetMany) => self.stores(&mut block, left),
                Some(request) => self.requests(request, &block, left),
                None => self.operations(&mut block, left),
            };
            self.timed_ns += took;
            size = next_size(size, took).min(if P::IS_OPEN { OPEN_BLOCK } else { BLOCK });
        }
        if !self.failures.gave_up() && !orders.stop.load(Ordering::Relaxed) {
            self.pace.finish();
        }
        let (barrier_ns, settled) = self.settle();
        if let (Err(error), Some(tally)) = (&settled, self.judge.tallies.first()) {
            tally.note_error(error);
        }
        let ran = ThreadCpu::now().since(cpu_began);
        let timed = ran.since(draws);
        Share {
            wall_ns: if self.stops_clock() { self.timed_ns } else { now_ns() - began },
            barrier_ns,
            timed_cpu_ns: timed.cpu_ns,
            timed_system_ns: timed.system_ns,
            cpu_ns: ran.cpu_ns,
            gave_up: self.failures.gave_up() || settled.is_err(),
            tallies: self.judge.tallies,
            ..Share::default()
        }
    }

    /// Waits until all requests that were sent have been answered: an unanswered request is not done, and the wait is
    /// part of its time.
    fn settle(&mut self) -> (u64, Result<(), Error>) {
        let start = self.start();
        let settled = self.session.settle();
        let took = now_ns() - start;
        self.timed_ns += took;
        (took, settled)
    }

    /// Whether the clock stands still while the thread draws: for a single thread in a closed loop. Callers that come
    /// when they are due wait for no drawing.
    fn stops_clock(&self) -> bool {
        self.judge.orders.alone && !P::IS_OPEN
    }

    /// Begins a measured segment.
    pub(super) fn start(&mut self) -> u64 {
        let now = now_ns();
        if self.stops_clock() {
            self.judge.origin = now - self.timed_ns;
        }
        now
    }

    /// Runs a block one operation at a time, for as long as is `left`; returns how long it took.
    fn operations(&mut self, block: &mut Block, left: Option<u64>) -> u64 {
        let start = self.start();
        let end = left.map_or(u64::MAX, |left| start + left);
        let mut then = start;
        let mut next = 0;
        while next < block.ops.len() {
            let i = next;
            let n_ops = block.together(i);
            next += n_ops;
            let free = if i == 0 { self.free } else { then };
            let place = block.place(i);
            let Some(begun) = self.pace.begin(free, then, n_ops as u64, place) else { break };
            if n_ops > 1 {
                then = match block.ops[i].operation() {
                    Operation::GetOrSet => self.filled_request(block, i..next, begun),
                    _ => self.request(Operation::GetMany, block, i..next, begun),
                };
                if then >= end || self.failures.gave_up() {
                    break;
                }
                continue;
            }
            let op = block.ops[i];
            let key = block.key(i);
            let done = match op.kind {
                Access::Get => self.get(key, op, begun),
                Access::Set => self.set(key, block.tag(i), op, begun),
                Access::GetOrSet => self.get_or_set(block, i, op, begun),
                Access::Delete => self.delete(key, op, begun),
                Access::Touch => self.touch(key, op, begun),
                Access::Incr | Access::Decr => self.incr(key, op, begun),
            };
            if done.failed {
                self.failures.count(begun.at(), done.at, done.unanswered);
                if op.kind.changes() {
                    self.judge.draw.write_failed(block, i, !done.lost);
                }
            } else {
                self.failures.end();
            }
            then = done.at;
            if then >= end || self.failures.gave_up() {
                break;
            }
        }
        self.free = then;
        then - start
    }

    #[inline]
    fn get(&mut self, key: &[u8], op: Op, begun: P::Begun) -> Finished {
        let answer = self.session.get(key, &mut self.buffer);
        let now = now_ns();
        let answer = answer.map(|found| found.map(|_| &self.buffer[..]));
        self.judge.got(op, begun, now, answer)
    }

    #[inline]
    fn set(&mut self, key: &[u8], tag: Option<&[u8]>, op: Op, begun: P::Begun) -> Finished {
        let Judge { state, composer, orders, .. } = &mut self.judge;
        state.note_renewal(op.key, orders.gone_at_ns(op, begun.at()));
        let value = composer.compose(op.key, op.version, op.len);
        let options = &orders.set_options_of(op);
        let outcome = match tag {
            None => self.session.set(key, value, options),
            Some(tag) => {
                groups(self.session).and_then(|groups| groups.set_tagged(key, value, options, tag))
            }
        };
        let now = now_ns();
        let outcome = carried_out(op, outcome, || self.session.engine());
        self.judge.set(op, begun, now, outcome)
    }

    /// The look-aside pattern.
    #[inline]
    fn get_or_set(&mut self, block: &Block, i: usize, op: Op, begun: P::Begun) -> Finished {
        let answer = self.session.get(block.key(i), &mut self.buffer);
        let filled = matches!(answer, Ok(None)).then(|| self.fill(block, i, op, begun.at()));
        let now = now_ns();
        let answer = answer.map(|found| found.map(|_| &self.buffer[..]));
        self.judge.get_or_set(op, begun, now, answer, filled)
    }

    /// Makes and stores the value of a get-or-set that has missed, and that began at this time.
    #[inline]
    pub(super) fn fill(&mut self, block: &Block, i: usize, op: Op, began_ns: u64) -> Fill {
        let version = self.judge.fill_version(op);
        let Judge { state, composer, orders, .. } = &mut self.judge;
        let load = orders.loads.map(|loads| loads.make(op.fill, began_ns));
        // Making the value may take longer than its TTL.
        let begins = if load.is_some() { now_ns() } else { began_ns };
        state.note_renewal(op.fill, orders.gone_at_ns(op, begins));
        let value = composer.compose(op.fill, version, op.len);
        let options = &orders.set_options_of(op);
        let outcome = self.session.set(block.fill_key(i), value, options);
        let outcome = stored(outcome, || self.session.engine());
        if let (Some(load), Ok(())) = (&load, &outcome) {
            load.stored();
        }
        Fill { version, is_repeated: load.as_ref().is_some_and(Load::is_repeated), outcome }
    }

    fn delete(&mut self, key: &[u8], op: Op, begun: P::Begun) -> Finished {
        let answer = self.session.delete(key);
        self.judge.deleted(op, begun, now_ns(), &answer)
    }

    fn touch(&mut self, key: &[u8], op: Op, begun: P::Begun) -> Finished {
        let Judge { state, orders, .. } = &self.judge;
        state.note_renewal(op.key, orders.gone_at_ns(op, begun.at()));
        let answer = self.session.touch(key, orders.touch_ttl_of(op));
        self.judge.touched(op, begun, now_ns(), &answer)
    }

    fn incr(&mut self, key: &[u8], op: Op, begun: P::Begun) -> Finished {
        let absent = self.judge.initial(op);
        if absent.is_some() {
            let Judge { state, orders, .. } = &self.judge;
            state.note_renewal(op.key, orders.gone_at_ns(op, begun.at()));
        }
        let answer = self.session.incr(key, op.delta(), absent);
        let now = now_ns();
        let answer = answer.map(|counted| counted.map(|counted| counted.number));
        self.judge.counted(op, begun, now, answer)
    }
}

/// Doubles or halves the block towards the time it should take.
fn next_size(size: usize, took_ns: u64) -> usize {
    if took_ns > BLOCK_NS {
        (size / 2).max(1)
    } else if took_ns < BLOCK_NS / 2 {
        size * 2
    } else {
        size
    }
}
