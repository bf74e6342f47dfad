//! One phase of one target: its plan, and the sum of what its threads have done.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use larder_report::{Collector, Operation};
use larder_store::{Session, SetOptions};

use super::clock::nanoseconds;
use super::comers::{Comers, Coming};
use super::draw::{Dataset, DrawPlan};
use super::loads::Loads;
use super::outcomes::Orders;
use super::pace::{Arrivals, Schedule};
use super::phase_threads::{PhaseThreads, Worked};
use super::tally::Tallies;
use super::work::{KeySource, Work};
use super::worker::Share;

/// The most steps into which the waits of operations that never began are divided.
const WAITS: u64 = 1 << 16;
/// The largest part of the CPU time that a client library's own threads may take. With more, the division of the whole is
/// unknown, because only the threads of the workload report theirs.
const LIBRARY_SHARE: u64 = 20;

/// The work of a phase, and its length.
#[derive(Debug, Clone, Copy)]
pub struct PhasePlan<'a> {
    /// The operations.
    pub work: &'a Work,
    /// The source of their keys.
    pub source: KeySource<'a>,
    /// The cells that the phase fills: every kind of operation that `work` draws.
    pub operations: &'a [Operation],
    /// Operations of all threads together; `None` when time ends the phase.
    pub requests: Option<u64>,
    /// Time in the measured loop; `None` when operations end the phase.
    pub time_limit: Option<Duration>,
    /// When operations are due; `None` in a closed loop, where each operation begins when the one before is over.
    pub(crate) arrivals: Option<&'a Arrivals>,
    /// The options of every set.
    pub set_options: SetOptions,
    /// The TTL that a touch gives.
    pub touch_ttl: Option<Duration>,
    /// The time after its last renewal when a key is gone for certain, in nanoseconds; `u64::MAX` where entries have no
    /// TTL, or each its own.
    pub gone_after_ns: u64,
    /// The time after its TTL when a key with a recorded TTL is gone for certain, in nanoseconds.
    pub ttl_slack_ns: u64,
    /// Whether writes have no acknowledgement: another connection may read the value from before.
    pub sent_only: bool,
    /// The time that it takes to make a value that a get-or-set missed.
    pub load_time: Option<Duration>,
    /// Keys a request; 1 reads one by one.
    pub keys_a_request: usize,
    /// The threads, among which the sessions are shared out.
    pub threads: u32,
    /// Requests that each session has outstanding at most, where threads drive sessions by readiness; `None` where each
    /// thread has one session and waits for its answers.
    pub pipeline: Option<u32>,
    /// Connections that come and go meanwhile.
    pub coming: Option<Coming<'a>>,
    /// Keys of a group, where entries have the tag of their group.
    pub tagged: Option<u32>,
    /// Whether thread i stays on processor i.
    pub pin: bool,
    /// The seed from which every draw follows.
    pub seed: u64,
    /// For `Work::Each`: every key once, in the order of the phase; `None` is by index.
    pub order: Option<&'a [u32]>,
}

impl<'a> PhasePlan<'a> {
    /// The part of the drawing that this many threads share.
    pub(crate) fn draws<'b>(&self, dataset: Dataset<'b>, threads: u32) -> DrawPlan<'b>
    where
        'a: 'b,
    {
        DrawPlan {
            work: self.work,
            source: self.source,
            dataset,
            order: self.order,
            tagged: self.tagged,
            threads,
            writers: threads,
            at_once: threads,
            seed: self.seed,
            requests: self.requests,
            sent_only: self.sent_only,
        }
    }
}

/// The result of a phase.
#[derive(Debug)]
pub struct PhaseResult {
    /// Counts and latencies.
    pub tallies: Tallies,
    /// Time in the measured loop: for a single thread its segments, for several threads from the first start to the
    /// last end.
    pub wall: Duration,
    /// The part of `wall` until all requests that were sent had been answered, the longest of all threads. `None` where
    /// no thread waited for that.
    pub barrier: Option<Duration>,
    /// CPU time of this process in the measured loops, in seconds.
    pub client_cpu_s: f64,
    /// Of that, the time in the system's kernel, in seconds; `None` where the threads of a client library have a part in it.
    pub client_system_s: Option<f64>,
    /// For which part of its time, 0 to 1, the busiest thread had a processor; `None` of a guest, whose threads are its own.
    pub client_busy: Option<f64>,
    /// Time that the threads could have run and waited for a processor, in seconds; `None` where the kernel does not
    /// tell.
    pub client_wait_s: Option<f64>,
    /// The work of the garbage collector of a guest's language; `None` where there is no collector, or it is not told.
    pub collector: Option<Collector>,
    /// Different keys drawn.
    pub distinct_keys: u64,
    /// The number of draws of the most frequent key.
    pub top_key_ops: u64,
    /// Whether a thread stopped because the store kept failing.
    pub gave_up: bool,
    /// Operations that were due in an open loop, of all kinds together.
    pub offered: Option<Offered>,
    /// What the connections did, where each thread drives several.
    pub driven: Option<Driven>,
    /// The connections that came and went meanwhile.
    pub comers: Option<Comers>,
}

/// The connections of a phase in which threads drive several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Driven {
    /// The requests that each connection got answered.
    pub answered: Vec<u64>,
    /// The most requests that were outstanding at once, of all connections together.
    pub most_outstanding: u64,
}

/// The operations that were due in an open loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offered {
    /// Operations a second that were due.
    pub per_s: f64,
    /// Operations that were due before time ended the phase and had not begun by then.
    pub not_started: u64,
}

/// Runs a phase: with one thread for each session, or with threads that drive their share of the sessions.
pub(crate) fn run_phase(
    plan: &PhasePlan<'_>,
    dataset: Dataset<'_>,
    sessions: &mut [Box<dyn Session>],
    replays: bool,
    stop: &AtomicBool,
) -> PhaseResult {
    let writers = u32::try_from(sessions.len()).expect("a plan bounds its sessions");
    let threads = plan.pipeline.map_or(writers, |_| plan.threads.clamp(1, writers));
    let at_once = writers.saturating_mul(plan.pipeline.unwrap_or(1));
    let began = OnceLock::new();
    let loads = plan.load_time.map(|time| Loads::new(time, dataset.keys.count()));
    let orders = Orders {
        set_options: plan.set_options,
        touch_ttl: plan.touch_ttl,
        gone_after_ns: plan.gone_after_ns,
        ttl_slack_ns: plan.ttl_slack_ns,
        loads: loads.as_ref(),
        keys_a_request: plan.keys_a_request.max(1),
        most_keys: plan.keys_a_request.max(plan.source.most_keys()),
        alone: at_once == 1,
        replays,
        time_limit: plan.time_limit,
        began: &began,
        stop,
    };
    let threads = PhaseThreads {
        plan,
        draws: DrawPlan { writers, at_once, ..plan.draws(dataset, threads) },
        orders,
        schedule: plan.arrivals.map(|arrivals| Schedule::new(arrivals, plan.requests)),
    };
    let Worked { shares, waited_ns, others_cpu_ns, comers } = threads.work(sessions);
    let paced = plan.arrivals.is_some();
    let mut tallies =
        if paced { Tallies::paced(plan.operations) } else { Tallies::new(plan.operations) };
    for share in &shares {
        tallies.merge(&share.tallies);
    }
    let (distinct_keys, top_key_ops) = dataset.state.take_drawn();
    let timed_cpu_ns: u64 = shares.iter().map(|share| share.timed_cpu_ns).sum();
    let gave_up = shares.iter().any(|share| share.gave_up);
    let offered = plan.arrivals.map(|arrivals| offered(plan, arrivals, tallies.failures().0));
    if let (Some(arrivals), Some(offered)) = (plan.arrivals, offered)
        && !gave_up
        && !stop.load(Ordering::Relaxed)
    {
        await_not_started(plan, arrivals, offered.not_started, &mut tallies);
    }
    PhaseResult {
        offered,
        driven: plan.pipeline.map(|_| driven(&shares)),
        comers,
        tallies,
        wall: Duration::from_nanos(shares.iter().map(|share| share.wall_ns).max().unwrap_or(0)),
        barrier: shares.iter().map(|share| Duration::from_nanos(share.barrier_ns)).max(),
        client_cpu_s: seconds(timed_cpu_ns + others_cpu_ns),
        client_system_s: in_kernel(&shares, timed_cpu_ns, others_cpu_ns),
        client_busy: shares.iter().filter_map(busy).max_by(f64::total_cmp),
        client_wait_s: waited_ns.map(seconds),
        collector: None,
        distinct_keys,
        top_key_ops,
        gave_up,
    }
}

/// The seconds of the measured loops' CPU time in the system's kernel, where it is the threads' own.
fn in_kernel(shares: &[Share], timed_cpu_ns: u64, others_cpu_ns: u64) -> Option<f64> {
    let system_ns: u64 = shares.iter().map(|share| share.timed_system_ns).sum();
    let is_own = others_cpu_ns.saturating_mul(LIBRARY_SHARE) <= timed_cpu_ns;
    is_own.then(|| seconds(system_ns.min(timed_cpu_ns)))
}

/// For which part of its measured time a thread had a processor; `None` where it did nothing. A thread that drives
/// connections keeps them waiting while it draws, so that the draws are part of its work.
fn busy(share: &Share) -> Option<f64> {
    let wall_s = seconds(share.wall_ns);
    let cpu_ns = if share.answered.len() > 1 { share.cpu_ns } else { share.timed_cpu_ns };
    (wall_s > 0.0).then(|| (seconds(cpu_ns) / wall_s).min(1.0))
}

/// The connections of all threads.
fn driven(shares: &[Share]) -> Driven {
    Driven {
        answered: shares.iter().flat_map(|share| share.answered.iter().copied()).collect(),
        most_outstanding: shares.iter().map(|share| share.most_outstanding).sum(),
    }
}

/// The operations that were due in a phase in which this many operations began.
#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
fn offered(plan: &PhasePlan<'_>, arrivals: &Arrivals, begun: u64) -> Offered {
    let by_number = plan.requests.map(|requests| (requests, arrivals.due(requests)));
    let by_time = plan.time_limit.map(nanoseconds).map(|ns| (arrivals.due_before(ns), ns));
    // The limit that ends the phase first counts.
    let (due, ns) = match (by_number, by_time) {
        (Some(number), Some(time)) if number.1 < time.1 => number,
        (_, Some(time)) => time,
        (Some(number), None) => number,
        (None, None) => (begun, 0),
    };
    let per_s = if ns > 0 { due as f64 / seconds(ns) } else { 0.0 };
    Offered { per_s, not_started: due.saturating_sub(begun) }
}

/// Counts operations that were due and had not begun when time ended the phase. Each counts with the time that it had
/// waited, and would have taken longer. Without them, the slowest operations of a target that falls behind would be in
/// no latency. The operations that were due last, which have waited least, stand for those that had not begun.
fn await_not_started(
    plan: &PhasePlan<'_>,
    arrivals: &Arrivals,
    not_started: u64,
    tallies: &mut Tallies,
) {
    let Some(end) = plan.time_limit.map(nanoseconds) else { return };
    let due = plan.requests.unwrap_or(u64::MAX).min(arrivals.due_before(end));
    // A request of many keys has one time.
    let (first, keys) = (due.saturating_sub(not_started), plan.keys_a_request.max(1) as u64);
    let all = tallies.failures().0;
    for tally in tallies.iter_mut() {
        let own = share_of(not_started, tally.counts.ops, all) / keys;
        // Where there are very many, neighbouring operations count with the wait of the last.
        let step = own.div_ceil(WAITS).max(1);
        for done in (0..own).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
            let times = step.min(own - done);
            let place = first + share_of(due - first, done + times, own);
            tally.waited(end.saturating_sub(arrivals.due(place - 1)), times);
        }
    }
}

/// `count` times `some` over `all`.
fn share_of(count: u64, some: u64, all: u64) -> u64 {
    let part = u128::from(count) * u128::from(some) / u128::from(all.max(1));
    u64::try_from(part).unwrap_or(u64::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of hours fit a double")]
pub(crate) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
