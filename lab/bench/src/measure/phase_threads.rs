//! The threads of a phase: they start together, work, and stop together.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Barrier;
use std::thread::{Scope, ScopedJoinHandle};

use larder_store::Session;

use super::clock::{Scheduled, now_ns, process_cpu_ns, thread_cpu_ns, thread_wait_ns};
use super::comers::{Comers, Comings, OPENERS};
use super::draw::{Dataset, Draw, DrawPlan};
use super::lanes::{Driver, Poll, Sends};
use super::outcomes::{Judge, Orders};
use super::pace::{Closed, Open, Pace, Schedule};
use super::phase::PhasePlan;
use super::tally::Tallies;
use super::worker::{Share, Worker};

/// The threads of a phase, and their work.
pub(super) struct PhaseThreads<'p> {
    pub(super) plan: &'p PhasePlan<'p>,
    pub(super) draws: DrawPlan<'p>,
    pub(super) orders: Orders<'p>,
    /// The operations that are due in an open loop.
    pub(super) schedule: Option<Schedule<'p>>,
}

/// What the threads have done.
pub(super) struct Worked {
    pub(super) shares: Vec<Share>,
    /// The time for which they could have run and waited for a processor; `None` where the kernel does not tell.
    pub(super) waited_ns: Option<u64>,
    /// CPU time of this process meanwhile that belongs to no thread of the workload: threads of a client library.
    pub(super) others_cpu_ns: u64,
    /// The connections that came and went meanwhile.
    pub(super) comers: Option<Comers>,
}

impl PhaseThreads<'_> {
    /// Shares the sessions out among the threads, and lets them work.
    pub(super) fn work(&self, sessions: &mut [Box<dyn Session>]) -> Worked {
        let DrawPlan { dataset, threads, .. } = self.draws;
        let gate = Barrier::new(threads as usize + 1);
        let comings =
            self.plan.coming.map(|coming| Comings::new(coming, dataset, self.orders.replays));
        std::thread::scope(|scope| {
            let (mut rest, mut first) = (sessions, 0);
            let mut workers = Vec::with_capacity(threads as usize);
            for thread in 0..threads {
                let n_sessions = rest.len().div_ceil((threads - thread) as usize);
                let own;
                (own, rest) = rest.split_at_mut(n_sessions);
                let part = Part { threads: self, thread, sessions: own, first, gate: &gate };
                first += u32::try_from(n_sessions).expect("a plan bounds its sessions");
                workers.push(scope.spawn(move || part.work()));
            }
            gate.wait();
            let before = (process_cpu_ns(), thread_cpu_ns());
            let openers = comings.as_ref().map(|comings| open(scope, comings));
            gate.wait();
            let (process, own) = (process_cpu_ns() - before.0, thread_cpu_ns() - before.1);
            comings.iter().for_each(Comings::end);
            let comers = openers.and_then(|openers| {
                openers.into_iter().map(joined).reduce(|sum, came| sum.merge(&came))
            });
            let (shares, waited): (Vec<Share>, Vec<_>) = workers.into_iter().map(joined).unzip();
            let known: u64 = shares.iter().map(|share| share.cpu_ns).sum();
            let opening = comers.as_ref().map_or(0, |comers| comers.cpu_ns);
            let waited = shares
                .iter()
                .zip(waited)
                .map(|(share, waited)| waited.map(|whole| self.waited_in_time(share, whole)));
            Worked {
                waited_ns: waited.sum(),
                others_cpu_ns: process.saturating_sub(own + opening + known),
                shares,
                comers,
            }
        })
    }

    /// A single thread stops its clock while it draws, and may wait for a processor then, too.
    fn waited_in_time(&self, share: &Share, whole_ns: u64) -> u64 {
        let thread = Scheduled { ran_ns: share.cpu_ns, waited_ns: whole_ns };
        let stops_clock = self.orders.alone && self.schedule.is_none();
        if stops_clock { thread.waited_in(share.timed_cpu_ns) } else { whole_ns }
    }
}

/// Starts the threads that open the connections that come and go.
fn open<'scope>(
    scope: &'scope Scope<'scope, '_>,
    comings: &'scope Comings<'scope>,
) -> Vec<ScopedJoinHandle<'scope, Comers>> {
    let began = now_ns();
    (0..OPENERS).map(|_| scope.spawn(move || comings.open(began))).collect()
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// One thread's part of a phase.
struct Part<'p> {
    threads: &'p PhaseThreads<'p>,
    thread: u32,
    sessions: &'p mut [Box<dyn Session>],
    /// The number of its first session among those of all threads.
    first: u32,
    gate: &'p Barrier,
}

impl Part<'_> {
    /// Works through the part, between the gates; returns also how long the thread waited for a processor meanwhile.
    fn work(self) -> (Share, Option<u64>) {
        if self.threads.plan.pin {
            pin_to(self.thread);
        }
        let threads = self.threads;
        match &threads.schedule {
            Some(schedule) => self.work_at(Open::new(schedule, threads.orders.stop)),
            None => self.work_at(Closed),
        }
    }

    fn work_at<P: Pace>(self, pace: P) -> (Share, Option<u64>) {
        let Self { threads, thread, sessions, first, gate } = self;
        let PhaseThreads { plan, draws, orders, .. } = threads;
        let operations = plan.operations;
        let mut tallies =
            if P::IS_OPEN { Tallies::paced(operations) } else { Tallies::new(operations) };
        let poll = plan.pipeline.map(|_| Poll::new(sessions[0].engine())).transpose();
        let poll = match poll {
            Ok(poll) => poll,
            Err(error) => {
                tallies.first().into_iter().for_each(|tally| tally.note_error(&error));
                let share = Share { tallies, gave_up: true, ..Share::default() };
                return between(gate, || share);
            }
        };
        let Dataset { values, state, .. } = draws.dataset;
        let judge = Judge::new(tallies, values, Draw::new(*draws, thread), state, *orders);
        let (Some(pipeline), Some(poll)) = (plan.pipeline, poll) else {
            let worker = Worker::new(sessions[0].as_mut(), values, judge, operations, pace);
            return between(gate, || worker.run());
        };
        let sends = Sends { operations, pipeline: pipeline as usize, longest: values.longest() };
        let driver = Driver::new(sessions, first, poll, judge, sends, pace);
        between(gate, || driver.run())
    }
}

/// Carries out a thread's work between the gates.
fn between(gate: &Barrier, work: impl FnOnce() -> Share) -> (Share, Option<u64>) {
    let waited = thread_wait_ns();
    gate.wait();
    // A panic is kept until the other threads, which wait at the gate, have been let through.
    let share = catch_unwind(AssertUnwindSafe(work));
    // No thread frees memory before the CPU time is read.
    gate.wait();
    let waited = thread_wait_ns().zip(waited).map(|(now, then)| now - then);
    (share.unwrap_or_else(|panic| resume_unwind(panic)), waited)
}

/// Keeps the calling thread on one of the processors that it may use now, the `n`th, counted round.
fn pin_to(n: u32) {
    // SAFETY: a zeroed cpu_set_t is an empty set; both calls read or write exactly the set they are given.
    unsafe {
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        let size = size_of::<libc::cpu_set_t>();
        if libc::sched_getaffinity(0, size, &raw mut allowed) != 0 {
            return;
        }
        let cpus: Vec<usize> =
            (0..libc::CPU_SETSIZE as usize).filter(|cpu| libc::CPU_ISSET(*cpu, &allowed)).collect();
        let Some(cpu) = cpus.get(n as usize % cpus.len().max(1)) else { return };
        let mut chosen: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(*cpu, &mut chosen);
        libc::sched_setaffinity(0, size, &raw const chosen);
    }
}
