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

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use larder_report::Operation;
use larder_store::{Error, Session, SetOptions, SetOutcome};

use super::block::{Block, Op};
use super::clock::{now_ns, thread_cpu_ns, thread_system_ns};
use super::draw::Draw;
use super::failures::Failures;
use super::key_state::KeyState;
use super::loads::{Load, Loads};
use super::pace::{Begun, Pace, Took};
use super::requests::{asked, groups, verify};
use super::tally::{Known, Tallies, Tally};
use larder_workload::{Access, Composer, Finding, Values};

/// Operations in a block at most: enough to make its overhead vanish, few enough to stop soon.
const BLOCK: usize = 1024;
/// The intended time of a block: slow stores get smaller blocks, so that time limits and Ctrl-C are seen.
const BLOCK_NS: u64 = 20_000_000;
/// The most operations in a block of an open loop: drawing a block may make the next operation late, and must not take
/// long.
const OPEN_BLOCK: usize = 32;

/// The part of the work that is the same for every thread of a phase.
#[derive(Debug, Clone, Copy)]
pub(super) struct Orders<'a> {
    pub(super) set_options: SetOptions,
    pub(super) touch_ttl: Option<Duration>,
    /// The time after its last renewal when a key is gone for certain, in nanoseconds; [`u64::MAX`] where no entry has
    /// a TTL.
    pub(super) gone_after_ns: u64,
    /// The time that it takes to make a value; `None` where it takes no time.
    pub(super) loads: Option<&'a Loads>,
    /// Keys a request; 1 reads one by one.
    pub(super) keys_a_request: usize,
    /// Whether there is no other thread.
    pub(super) alone: bool,
    /// Whether the store keeps nothing and replays the last set: any whole value is right.
    pub(super) replays: bool,
    /// The time that ends the phase; `None` when operations end it.
    pub(super) time_limit: Option<Duration>,
    /// When the first thread began.
    pub(super) began: &'a OnceLock<u64>,
    pub(super) stop: &'a AtomicBool,
}

/// One thread at work.
pub(super) struct Worker<'a, P> {
    pub(super) session: &'a mut dyn Session,
    tallies: Tallies,
    pub(super) composer: Composer,
    pub(super) draw: Draw<'a>,
    pub(super) state: &'a KeyState,
    pub(super) orders: Orders<'a>,
    /// When operations begin.
    pub(super) pace: P,
    /// The instant since which the thread has been waiting for an operation to begin.
    pub(super) free: u64,
    pub(super) buffer: Vec<u8>,
    /// Whether each key of a request was found.
    pub(super) found: Vec<bool>,
    /// The values of a block of sets of many keys, kept to reuse their memory.
    pub(super) made: Vec<u8>,
    /// The kind of a request of many keys; `None` where operations come one by one.
    request: Option<Operation>,
    /// Time in the measured segments so far.
    timed_ns: u64,
    /// When the phase began; for a single thread, the start of the current segment minus the time measured before.
    pub(super) origin: u64,
    pub(super) failures: Failures,
}

/// The results of one thread.
#[derive(Debug)]
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
}

impl<'a, P: Pace> Worker<'a, P> {
    pub(super) fn new(
        session: &'a mut dyn Session,
        values: &Values,
        draw: Draw<'a>,
        state: &'a KeyState,
        orders: Orders<'a>,
        (operations, pace): (&[Operation], P),
    ) -> Self {
        let tallies =
            if P::IS_OPEN { Tallies::paced(operations) } else { Tallies::new(operations) };
        let composer = Composer::new(values);
        let buffer = Vec::with_capacity(values.longest());
        Self {
            session,
            tallies,
            composer,
            draw,
            state,
            orders,
            pace,
            free: 0,
            buffer,
            found: vec![false; orders.keys_a_request],
            made: Vec::new(),
            request: operations.iter().copied().find(|operation| operation.is_of_many_keys()),
            timed_ns: 0,
            origin: 0,
            failures: Failures::default(),
        }
    }

    /// Works through the thread's share.
    pub(super) fn run(mut self) -> Share {
        let mut tallies = std::mem::take(&mut self.tallies);
        let mut block = Block::default();
        let (mut draw_cpu_ns, mut draw_system_ns) = (0, 0);
        let (began, cpu_began) = (*self.orders.began.get_or_init(now_ns), thread_cpu_ns());
        let system_began = thread_system_ns();
        self.origin = began;
        self.free = began;
        let mut size: usize = 16;
        let limit = self.orders.time_limit;
        let limit = limit.map(|limit| u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX));
        self.pace.start(began, limit.map_or(u64::MAX, |limit| began.saturating_add(limit)));
        while !self.draw.is_over() && !self.failures.gave_up() && !self.pace.is_over() {
            // An open loop ends by itself.
            let left = limit.filter(|_| !P::IS_OPEN);
            let left = left.map(|limit| limit.saturating_sub(self.timed_ns));
            if self.orders.stop.load(Ordering::Relaxed) || left == Some(0) {
                break;
            }
            let (cpu, system) = (thread_cpu_ns(), thread_system_ns());
            let stores = self.request == Some(Operation::SetMany);
            let most = if stores { self.most_made() } else { usize::MAX };
            let whole = size.min(most).next_multiple_of(self.orders.keys_a_request);
            self.draw.fill(&mut block, whole);
            if stores {
                self.make(&block);
            }
            draw_cpu_ns += thread_cpu_ns() - cpu;
            draw_system_ns += thread_system_ns().saturating_sub(system);
            let took = match self.request {
                Some(Operation::SetMany) => {
                    self.stores(&mut block, tallies.of(Operation::SetMany), left)
                }
                Some(request) => self.requests(request, &block, tallies.of(request), left),
                None => self.operations(&mut block, &mut tallies, left),
            };
            self.timed_ns += took;
            size = next_size(size, took).min(if P::IS_OPEN { OPEN_BLOCK } else { BLOCK });
        }
        if !self.failures.gave_up() && !self.orders.stop.load(Ordering::Relaxed) {
            self.pace.finish();
        }
        let (barrier_ns, settled) = self.settle();
        if let (Err(error), Some(tally)) = (&settled, tallies.first()) {
            tally.note_error(error);
        }
        let cpu_ns = thread_cpu_ns() - cpu_began;
        let system_ns = thread_system_ns().saturating_sub(system_began);
        let wall_ns = if self.stops_clock() { self.timed_ns } else { now_ns() - began };
        let timed_cpu_ns = cpu_ns - draw_cpu_ns;
        let timed_system_ns = system_ns.saturating_sub(draw_system_ns);
        let gave_up = self.failures.gave_up() || settled.is_err();
        Share { tallies, wall_ns, barrier_ns, timed_cpu_ns, timed_system_ns, cpu_ns, gave_up }
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
        self.orders.alone && !P::IS_OPEN
    }

    /// Begins a measured segment.
    pub(super) fn start(&mut self) -> u64 {
        let now = now_ns();
        if self.stops_clock() {
            self.origin = now - self.timed_ns;
        }
        now
    }

    /// Runs a block one operation at a time, for as long as is `left`; returns how long it took.
    fn operations(&mut self, block: &mut Block, tallies: &mut Tallies, left: Option<u64>) -> u64 {
        let start = self.start();
        let end = left.map_or(u64::MAX, |left| start + left);
        let mut then = start;
        for i in 0..block.ops.len() {
            let free = if i == 0 { self.free } else { then };
            let Some(begun) = self.pace.begin(free, then, 1, block.place(i)) else { break };
            let op = block.ops[i];
            let key = block.key(i);
            let done = match op.kind {
                Access::Get => self.get(key, op, begun, tallies),
                Access::Set => self.set((key, block.tag(i)), op, begun, tallies),
                Access::GetOrSet => self.get_or_set((block, i), op, begun, tallies),
                Access::Delete => self.delete(key, op, begun, tallies),
                Access::Touch => self.touch(key, op, begun, tallies),
            };
            if done.failed {
                self.failures.count(begun.at(), done.at, done.unanswered);
                if matches!(op.kind, Access::Set | Access::GetOrSet | Access::Delete) {
                    self.draw.write_failed(block, i, !done.lost);
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
    fn get(&mut self, key: &[u8], op: Op, begun: P::Begun, tallies: &mut Tallies) -> Finished {
        let answer = self.session.get(key, &mut self.buffer);
        let now = now_ns();
        let tally = tallies.of(Operation::Get);
        self.attempted(tally, now, begun);
        match answer {
            Ok(Some(_)) => {
                tally.counts.outlived += u64::from(self.has_outlived(op, begun));
                self.found(op, begun.took(now), tally);
            }
            Ok(None) => tally.missed(self.draw.known(op), begun.took(now)),
            Err(error) => return Finished::failed(now, tally, &error),
        }
        Finished::well(now)
    }

    #[inline]
    fn set(
        &mut self,
        (key, tag): (&[u8], Option<&[u8]>),
        op: Op,
        begun: P::Begun,
        tallies: &mut Tallies,
    ) -> Finished {
        self.state.note_renewal(op.key, begun.at());
        let value = self.composer.compose(op.key, op.version, op.len);
        let outcome = match tag {
            None => self.session.set(key, value, &self.orders.set_options),
            Some(tag) => groups(self.session)
                .and_then(|groups| groups.set_tagged(key, value, &self.orders.set_options, tag)),
        };
        let now = now_ns();
        self.state.note_renewal(op.key, now);
        let tally = tallies.of(Operation::Set);
        self.attempted(tally, now, begun);
        if let Err(error) = stored(outcome, || self.session.engine()) {
            return Finished::failed(now, tally, &error);
        }
        self.state.acknowledge(op.key, op.version);
        tally.bytes += u64::from(op.len);
        tally.success(begun.took(now));
        Finished::well(now)
    }

    /// The look-aside pattern. A miss whose fill is refused did not succeed.
    #[inline]
    fn get_or_set(
        &mut self,
        (block, i): (&Block, usize),
        op: Op,
        begun: P::Begun,
        tallies: &mut Tallies,
    ) -> Finished {
        let answer = self.session.get(block.key(i), &mut self.buffer);
        let version = op.version.max(self.state.base() + 1);
        let mut is_repeated = false;
        let filled = matches!(answer, Ok(None)).then(|| {
            let load = self.orders.loads.map(|loads| loads.make(op.fill, begun.at()));
            is_repeated = load.as_ref().is_some_and(Load::is_repeated);
            // Making the value may take longer than its TTL.
            let begins = if load.is_some() { now_ns() } else { begun.at() };
            self.state.note_renewal(op.fill, begins);
            let value = self.composer.compose(op.fill, version, op.len);
            let outcome = self.session.set(block.fill_key(i), value, &self.orders.set_options);
            let filled = stored(outcome, || self.session.engine());
            if let (Some(load), Ok(())) = (&load, &filled) {
                load.stored();
            }
            filled
        });
        let now = now_ns();
        let tally = tallies.of(Operation::GetOrSet);
        tally.counts.repeated_loads += u64::from(is_repeated);
        self.attempted(tally, now, begun);
        match (answer, filled) {
            (Ok(_), None) => {
                tally.counts.outlived += u64::from(self.has_outlived(op, begun));
                self.found(op, begun.took(now), tally);
            }
            (Ok(_), Some(Ok(()))) => {
                self.state.note_renewal(op.fill, now);
                self.note_miss(op, tally);
                tally.bytes += u64::from(op.len);
                tally.success(begun.took(now));
                if self.state.acked(op.fill).is_none_or(|acked| acked < version) {
                    self.state.acknowledge(op.fill, version);
                }
            }
            (Ok(_), Some(Err(error))) => {
                self.state.note_renewal(op.fill, now);
                self.note_miss(op, tally);
                tally.counts.failed_fills += 1;
                return Finished::not_filled(now, tally, &error);
            }
            (Err(error), _) => return Finished::failed(now, tally, &error),
        }
        Finished::well(now)
    }

    fn delete(&mut self, key: &[u8], op: Op, begun: P::Begun, tallies: &mut Tallies) -> Finished {
        let answer = self.session.delete(key);
        let done = self.presence((Operation::Delete, op), &answer, begun, tallies);
        if answer.is_ok() {
            self.state.acknowledge_delete(op.key, self.draw.removed(op));
        }
        done
    }

    fn touch(&mut self, key: &[u8], op: Op, begun: P::Begun, tallies: &mut Tallies) -> Finished {
        self.state.note_renewal(op.key, begun.at());
        let answer = self.session.touch(key, self.orders.touch_ttl);
        let done = self.presence((Operation::Touch, op), &answer, begun, tallies);
        self.state.note_renewal(op.key, done.at);
        done
    }

    /// Whether a key that was found should have been gone when the operation began.
    #[inline]
    fn has_outlived(&self, op: Op, begun: P::Begun) -> bool {
        self.state.has_outlived(op.key, begun.at(), self.orders.gone_after_ns)
    }

    /// The end of an operation that tells whether its key was there.
    fn presence(
        &self,
        (operation, op): (Operation, Op),
        answer: &Result<bool, Error>,
        begun: P::Begun,
        tallies: &mut Tallies,
    ) -> Finished {
        let now = now_ns();
        let tally = tallies.of(operation);
        self.attempted(tally, now, begun);
        match answer {
            Ok(true) => tally.success(begun.took(now)),
            Ok(false) => self.note_miss(op, tally),
            Err(error) => return Finished::failed(now, tally, error),
        }
        Finished::well(now)
    }

    /// Counts a miss of an operation that does more than read.
    fn note_miss(&self, op: Op, tally: &mut Tally) {
        tally.counts.misses += 1;
        tally.counts.stored_misses += u64::from(self.draw.known(op) == Known::There);
    }

    /// Counts an operation that is over, failed or not.
    #[inline]
    fn attempted(&self, tally: &mut Tally, now: u64, begun: P::Begun) {
        tally.attempted(1, now - self.origin, begun.took(now));
        if let Some(late) = begun.late() {
            tally.late(late, 1);
        }
    }

    /// Judges the value of a key that came back in the buffer.
    #[inline]
    fn found(&self, op: Op, took: impl Took, tally: &mut Tally) {
        let values = self.composer.values();
        let finding = verify(values, self.state, self.orders, op, &self.buffer);
        tally.found(finding, self.buffer.len(), took);
        if finding != Finding::Right {
            let asked = asked(self.state, op);
            let words = || values.describe(self.draw.keys(), asked, finding, &self.buffer);
            tally.note_wrong(finding, words);
        }
    }
}

/// The end of an operation.
#[derive(Debug, Clone, Copy)]
struct Finished {
    /// When the operation ended.
    at: u64,
    /// Whether the store failed the operation.
    failed: bool,
    /// Whether the operation got no answer in time.
    unanswered: bool,
    /// Whether the connection ended or was given up before the answer: the operation may still be carried out.
    lost: bool,
}

impl Finished {
    fn well(at: u64) -> Self {
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
