//! When an operation begins: as soon as the one before is over, or when it is due.
//!
//! In a closed loop the next operation begins with the answer to the last, so a target that stalls is asked less. Its
//! callers are kept from coming, and the stall counts once. In an open loop operations are due at instants that no
//! answer can move. A free thread takes the next operation, and latency counts from the instant at which it was due.
//!
//! The measured loop has the kind of loop as a type, so that a closed loop carries nothing of an open one.

mod arrivals;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub(crate) use arrivals::Arrivals;

use super::clock::{now_ns, sleep_until, wake_in_time};

/// The time before an operation is due at which its thread stops sleeping and watches the clock, in
/// nanoseconds.
const WATCH_NS: u64 = 5_000;
/// The longest sleep before the next check for a stop, in nanoseconds.
const NAP_NS: u64 = 50_000_000;

/// When operations begin.
pub(super) trait Pace {
    /// An operation that has begun.
    type Begun: Begun;
    /// Whether operations are due at instants of their own.
    const IS_OPEN: bool;

    /// Begins the next operation, or request of `ops` keys, at the time `now`, on a thread that is free since `free`.
    /// `None` when no further operation begins.
    fn begin(&mut self, free: u64, now: u64, ops: u64, place: Option<u64>) -> Option<Self::Begun>;

    /// As [`begin`](Self::begin), without waiting. An operation that is not due yet is asked for again, with the same
    /// arguments but the time.
    fn poll(&mut self, free: u64, now: u64, ops: u64, place: Option<u64>) -> Start<Self::Begun>;

    /// The phase began at this instant, and ends at that one.
    fn start(&mut self, began: u64, end: u64);

    /// Waits until the planned end of the phase, where no operation is left before it.
    fn finish(&self);

    /// Whether no further operation begins.
    fn is_over(&self) -> bool;
}

/// Whether the next operation begins.
#[derive(Debug, Clone, Copy)]
pub(super) enum Start<B> {
    /// It has begun.
    Now(B),
    /// It is due at this instant.
    At(u64),
    /// No further operation begins.
    Never,
}

/// An operation that has begun.
pub(super) trait Begun: Copy {
    /// The time of the operation.
    type Took: Took;
    /// When the operation really began.
    fn at(self) -> u64;
    /// The time of the operation until now.
    fn took(self, now: u64) -> Self::Took;
    /// The delay of the operation's start, in nanoseconds; `None` in a closed loop.
    fn late(self) -> Option<Late>;
}

/// The time of an operation.
pub(crate) trait Took: Copy {
    /// The time for a caller: from the instant at which the operation was due.
    fn latency_ns(self) -> u64;
    /// The service time: from the instant at which the operation began.
    fn service_ns(self) -> u64;
    /// Whether the two times may differ.
    const IS_PACED: bool;
}

/// The delay of an operation's start, divided by cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Late {
    /// The schedule's own part: the thread woke late or drew operations, before this operation or an earlier one for
    /// which it waited.
    pub(super) lag_ns: u64,
    /// The rest: the thread was busy with operations before, and would have been so had all of them begun in time.
    pub(super) queue_ns: u64,
}

impl Late {
    /// The lateness of an operation that was `due`, on a thread that was `free` and began it `at`. The operation
    /// before began `debt_ns` late by the schedule's fault.
    ///
    /// Had the schedule never been late, the thread would have been free so much earlier. The operation would have
    /// begun so much earlier, too, but never before it was due. The rest of its lateness is the target's.
    #[inline]
    fn new(due: u64, free: u64, at: u64, debt_ns: u64) -> Self {
        let late_ns = at - due;
        let lag_ns = if free > due { late_ns.min(debt_ns + (at - free)) } else { late_ns };
        Self { lag_ns, queue_ns: late_ns - lag_ns }
    }
}

/// Each operation begins when the one before is over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Closed;

impl Pace for Closed {
    type Begun = u64;
    const IS_OPEN: bool = false;

    #[inline]
    fn begin(&mut self, _: u64, now: u64, _: u64, _: Option<u64>) -> Option<u64> {
        Some(now)
    }

    #[inline]
    fn poll(&mut self, _: u64, now: u64, _: u64, _: Option<u64>) -> Start<u64> {
        Start::Now(now)
    }

    fn start(&mut self, _: u64, _: u64) {}

    fn finish(&self) {}

    fn is_over(&self) -> bool {
        false
    }
}

impl Begun for u64 {
    type Took = Self;

    #[inline]
    fn at(self) -> Self {
        self
    }

    #[inline]
    fn took(self, now: Self) -> Self {
        now - self
    }

    #[inline]
    fn late(self) -> Option<Late> {
        None
    }
}

impl Took for u64 {
    const IS_PACED: bool = false;

    #[inline]
    fn latency_ns(self) -> Self {
        self
    }

    #[inline]
    fn service_ns(self) -> Self {
        self
    }
}

/// The state that the threads of an open loop share.
#[derive(Debug)]
pub(super) struct Schedule<'a> {
    arrivals: &'a Arrivals,
    /// Operations of the phase; `None` when time ends it.
    requests: Option<u64>,
    /// The number of operations that have been taken.
    taken: AtomicU64,
}

impl<'a> Schedule<'a> {
    pub(super) fn new(arrivals: &'a Arrivals, requests: Option<u64>) -> Self {
        Self { arrivals, requests, taken: AtomicU64::new(0) }
    }
}

/// One thread of an open loop.
#[derive(Debug)]
pub(super) struct Open<'a> {
    schedule: &'a Schedule<'a>,
    stop: &'a AtomicBool,
    began: u64,
    end: u64,
    /// The delay of the last operation's start by the schedule's own fault, in nanoseconds.
    debt_ns: u64,
    /// When the next operation is due, where this thread has taken it.
    next: Option<u64>,
    is_over: bool,
}

impl<'a> Open<'a> {
    pub(super) fn new(schedule: &'a Schedule<'a>, stop: &'a AtomicBool) -> Self {
        Self { schedule, stop, began: 0, end: u64::MAX, debt_ns: 0, next: None, is_over: false }
    }

    /// Takes the next operation, and returns when it is due.
    #[inline]
    fn take(&self, ops: u64, place: Option<u64>) -> u64 {
        let place = match place {
            Some(place) if self.schedule.arrivals.are_recorded() => place,
            _ => self.schedule.taken.fetch_add(ops, Ordering::Relaxed),
        };
        self.began.saturating_add(self.schedule.arrivals.due(place))
    }

    /// Begins the operation that was `due`, at this time.
    #[inline]
    fn begun(&mut self, due: u64, free: u64, at: u64) -> Due {
        let late = Late::new(due, free, at, self.debt_ns);
        self.debt_ns = late.lag_ns;
        Due { planned: due, at, late }
    }
}

impl Pace for Open<'_> {
    type Begun = Due;
    const IS_OPEN: bool = true;

    #[inline]
    fn begin(&mut self, free: u64, now: u64, ops: u64, place: Option<u64>) -> Option<Due> {
        let due = self.take(ops, place);
        let at = if due <= now { Some(now) } else { wait(due.min(self.end), self.stop) };
        match at {
            Some(at) if due < self.end && at < self.end => Some(self.begun(due, free, at)),
            _ => {
                self.is_over = true;
                None
            }
        }
    }

    fn poll(&mut self, free: u64, now: u64, ops: u64, place: Option<u64>) -> Start<Due> {
        let due = self.next.unwrap_or_else(|| self.take(ops, place));
        if due >= self.end || now >= self.end {
            self.is_over = true;
            return Start::Never;
        }
        self.next = Some(due).filter(|due| *due > now);
        match self.next {
            Some(due) => Start::At(due),
            None => Start::Now(self.begun(due, free, now)),
        }
    }

    fn start(&mut self, began: u64, end: u64) {
        (self.began, self.end) = (began, end);
        wake_in_time();
    }

    fn finish(&self) {
        let lasts = self.schedule.requests.map_or(u64::MAX, |n| self.schedule.arrivals.due(n));
        let end = self.end.min(self.began.saturating_add(lasts));
        if end < u64::MAX {
            wait(end, self.stop);
        }
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}

/// An operation of an open loop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Due {
    planned: u64,
    at: u64,
    late: Late,
}

/// The time of an operation, from either instant.
#[derive(Debug, Clone, Copy)]
pub(super) struct FromPlan {
    latency_ns: u64,
    service_ns: u64,
}

impl Begun for Due {
    type Took = FromPlan;

    #[inline]
    fn at(self) -> u64 {
        self.at
    }

    #[inline]
    fn took(self, now: u64) -> FromPlan {
        FromPlan { latency_ns: now - self.planned, service_ns: now - self.at }
    }

    #[inline]
    fn late(self) -> Option<Late> {
        Some(self.late)
    }
}

impl Took for FromPlan {
    const IS_PACED: bool = true;

    #[inline]
    fn latency_ns(self) -> u64 {
        self.latency_ns
    }

    #[inline]
    fn service_ns(self) -> u64 {
        self.service_ns
    }
}

/// Waits until an instant, and returns the time afterwards; `None` when the run was stopped meanwhile.
fn wait(until: u64, stop: &AtomicBool) -> Option<u64> {
    loop {
        let now = now_ns();
        let left = until.saturating_sub(now);
        if left == 0 {
            return Some(now);
        }
        if left <= WATCH_NS {
            std::hint::spin_loop();
            continue;
        }
        sleep_until(until - WATCH_NS.max(left.saturating_sub(NAP_NS)));
        if left > NAP_NS && stop.load(Ordering::Relaxed) {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The delays of these operations, given as due time and length, on one thread. `wakes_late` has the delay of each
    /// wake-up for which the thread waits.
    fn late(operations: &[(u64, u64)], wakes_late: &[u64]) -> Vec<(u64, u64)> {
        let (mut free, mut debt) = (0, 0);
        let each = operations.iter().zip(wakes_late).map(|((due, lasts), late)| {
            let at = if *due > free { due + late } else { free };
            let found = Late::new(*due, free, at, debt);
            (free, debt) = (at + lasts, found.lag_ns);
            (found.lag_ns, found.queue_ns)
        });
        each.collect()
    }

    #[test]
    fn operations_behind_a_late_wake_up_are_late_by_the_schedule() {
        // The thread wakes 250 late, and is in time again at the fourth operation.
        let operations = [(100, 1), (200, 1), (300, 1), (400, 1)];
        assert_eq!(late(&operations, &[250, 0, 0, 0]), [(250, 0), (151, 0), (52, 0), (0, 0)]);
    }

    #[test]
    fn of_a_queue_only_that_is_the_schedules_by_which_all_of_it_came_later() {
        // In time: the second would wait 900, the third 800.
        let operations = [(100, 1000), (200, 1), (300, 1)];
        assert_eq!(late(&operations, &[0; 3]), [(0, 0), (0, 900), (0, 801)]);
        assert_eq!(late(&operations, &[30, 0, 0]), [(30, 0), (30, 900), (30, 801)]);
    }

    #[test]
    fn a_thread_that_draws_operations_is_late_by_itself() {
        // Due at 100 on a thread that was free at 150, the operation began at 170: it waited 50 for the one before.
        assert_eq!(Late::new(100, 150, 170, 0), Late { lag_ns: 20, queue_ns: 50 });
        assert_eq!(Late::new(100, 150, 170, 10), Late { lag_ns: 30, queue_ns: 40 });
    }
}
