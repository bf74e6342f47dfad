//! The counts of a thread while it works.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use larder_report::{Counts, Latency, Operation, Stalls, Timeline};

use super::pace::{Late, Took};
use super::timeline::Bins;
use larder_workload::Correctness;

/// The longest latency that a histogram can hold, in nanoseconds: an hour. Longer latencies count as an hour.
const LONGEST_NS: u64 = 3_600_000_000_000;
/// An operation that takes longer is a stall, in nanoseconds.
const STALL_NS: u64 = 100_000_000;

/// Counts and latencies of one operation in one phase.
#[derive(Debug, Clone)]
pub struct Tally {
    /// The counts.
    pub counts: Counts,
    /// Operations that succeeded: rates and latencies are made of these.
    pub succeeded: u64,
    /// Bytes of values moved.
    pub bytes: u64,
    /// Time that all operations took, failed or not, in nanoseconds.
    pub busy_ns: u64,
    /// When the operations ended, failed or not.
    bins: Bins,
    /// Latency of operations that succeeded, in nanoseconds; in an open loop from the instant at which they were due.
    /// Operations that had not begun when time ended the phase count with the time that they had waited.
    pub latency: Histogram<u64>,
    /// The further counts of an open loop.
    pub paced: Option<Box<PacedTally>>,
    /// Operations that took very long, failed or not.
    pub stalls: Stalls,
    /// Errors by kind.
    pub errors_by_kind: BTreeMap<String, u64>,
    /// The first error, in its own words.
    pub first_error: Option<String>,
    /// The first wrong value of each kind, in words.
    pub wrong_examples: BTreeMap<String, String>,
}

/// The knowledge of a key that an operation did not find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// The key was deleted, and not set since.
    Gone,
    /// The key was set, and not deleted since.
    There,
    /// Neither is certain.
    Unsure,
}

/// The further counts of an open loop.
#[derive(Debug, Clone)]
pub struct PacedTally {
    /// Latency of operations that succeeded, from the instant at which they really began.
    pub service: Histogram<u64>,
    /// The delays of operations by the schedule's own fault.
    pub lag: Histogram<u64>,
    /// Operations that would have begun late even with the schedule in time: their thread was busy with operations
    /// before.
    pub queued: u64,
}

fn histogram() -> Histogram<u64> {
    let histogram = Histogram::new_with_bounds(1, LONGEST_NS, 3);
    histogram.expect("the bounds are constants that the library takes")
}

impl Tally {
    /// A tally without counts.
    pub fn new() -> Self {
        Self {
            counts: Counts::default(),
            succeeded: 0,
            bytes: 0,
            busy_ns: 0,
            bins: Bins::new(),
            latency: histogram(),
            paced: None,
            stalls: Stalls::default(),
            errors_by_kind: BTreeMap::new(),
            first_error: None,
            wrong_examples: BTreeMap::new(),
        }
    }

    /// A tally without counts, for an open loop.
    pub(super) fn paced() -> Self {
        let paced = PacedTally { service: histogram(), lag: histogram(), queued: 0 };
        Self { paced: Some(Box::new(paced)), ..Self::new() }
    }

    /// Counts operations that took so long together and ended at `at`, in nanoseconds from the start of the phase,
    /// failed or not.
    #[inline]
    pub(crate) fn attempted(&mut self, ops: u64, at: u64, took: impl Took) {
        self.counts.ops += ops;
        self.busy_ns += took.service_ns();
        self.bins.record(at, ops, took.latency_ns());
        if took.service_ns() > STALL_NS {
            self.stalled(took.service_ns());
        }
    }

    #[cold]
    fn stalled(&mut self, ns: u64) {
        self.stalls.count += 1;
        self.stalls.ns += ns;
        self.counts.clipped += u64::from(ns > LONGEST_NS);
    }

    /// Records how late an operation of an open loop began.
    #[inline]
    pub(super) fn late(&mut self, late: Late, ops: u64) {
        let Some(paced) = &mut self.paced else { return };
        paced.lag.saturating_record(late.lag_ns.max(1));
        paced.queued += if late.queue_ns > 0 { ops } else { 0 };
    }

    /// Counts an operation that succeeded.
    #[inline]
    pub(super) fn success(&mut self, took: impl Took) {
        self.succeeded += 1;
        self.record(took);
    }

    /// Counts operations that were due and had not begun when the phase was over: each would have taken longer than
    /// this.
    pub(super) fn waited(&mut self, ns: u64, times: u64) {
        self.latency.saturating_record_n(ns.max(1), times);
    }

    /// Records a latency, of an operation or of a request of many keys.
    #[inline]
    pub(crate) fn record<T: Took>(&mut self, took: T) {
        self.latency.saturating_record(took.latency_ns().max(1));
        if T::IS_PACED
            && let Some(paced) = &mut self.paced
        {
            paced.service.saturating_record(took.service_ns().max(1));
        }
    }

    /// Counts a read that found a value.
    #[inline]
    pub(super) fn found(&mut self, finding: Correctness, bytes: usize, took: impl Took) {
        self.seen(finding, bytes);
        if finding == Correctness::Right {
            self.success(took);
        }
    }

    /// Counts a value that came back.
    #[inline]
    pub(super) fn seen(&mut self, finding: Correctness, bytes: usize) {
        self.bytes += bytes as u64;
        if finding == Correctness::Right {
            self.counts.hits += 1;
        } else {
            self.wrong(finding);
        }
    }

    /// Counts a wrong value.
    #[cold]
    pub(crate) fn wrong(&mut self, finding: Correctness) {
        self.counts.wrong += 1;
        count_wrong(&mut self.counts, finding);
    }

    /// Keeps the words about a wrong value where it is the first of its kind.
    #[cold]
    pub(crate) fn note_wrong(&mut self, finding: Correctness, describe: impl FnOnce() -> String) {
        if let Some(name) = finding.name() {
            self.wrong_examples.entry(name.to_owned()).or_insert_with(describe);
        }
    }

    /// Counts a read that found nothing; for a key that was deleted, that is the right answer.
    #[inline]
    pub(super) fn missed(&mut self, known: Known, took: impl Took) {
        self.counts.misses += 1;
        match known {
            Known::Gone => {
                self.counts.planned_misses += 1;
                self.success(took);
            }
            Known::There => self.counts.stored_misses += 1,
            Known::Unsure => {}
        }
    }

    /// The course of a phase of this length.
    pub(crate) fn timeline(&self, wall: Duration) -> Timeline {
        self.bins.clone().timeline(u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Keeps the error; the caller counts whether an operation failed by it.
    #[cold]
    pub(super) fn note_error(&mut self, error: &larder_store::Error) {
        *self.errors_by_kind.entry(error.kind().to_owned()).or_default() += 1;
        self.first_error.get_or_insert_with(|| error.to_string());
    }

    /// Adds the counts of another thread, or of other operations that count as these.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.succeeded += other.succeeded;
        self.bytes += other.bytes;
        self.busy_ns += other.busy_ns;
        self.bins.merge(&other.bins);
        self.latency.add(&other.latency).expect("both have the same bounds");
        if let (Some(paced), Some(other)) = (&mut self.paced, &other.paced) {
            paced.service.add(&other.service).expect("both have the same bounds");
            paced.lag.add(&other.lag).expect("both have the same bounds");
            paced.queued += other.queued;
        }
        self.stalls.count += other.stalls.count;
        self.stalls.ns += other.stalls.ns;
        for (kind, count) in &other.errors_by_kind {
            *self.errors_by_kind.entry(kind.clone()).or_default() += count;
        }
        if self.first_error.is_none() {
            self.first_error.clone_from(&other.first_error);
        }
        add_examples(&mut self.wrong_examples, &other.wrong_examples);
    }
}

/// Counts a wrong value by its fault.
pub(super) fn count_wrong(counts: &mut Counts, finding: Correctness) {
    match finding {
        Correctness::Right => {}
        Correctness::Truncated => counts.truncated += 1,
        Correctness::Stale => counts.stale += 1,
        Correctness::OtherKey => counts.other_key += 1,
        Correctness::Damaged => counts.damaged += 1,
    }
}

/// Adds the first wrong value of each kind to those that are known.
pub(crate) fn add_examples(known: &mut BTreeMap<String, String>, more: &BTreeMap<String, String>) {
    for (kind, example) in more {
        known.entry(kind.clone()).or_insert_with(|| example.clone());
    }
}

impl Default for Tally {
    fn default() -> Self {
        Self::new()
    }
}

/// The tallies of one phase, one for each of its operations.
#[derive(Debug, Clone, Default)]
pub struct Tallies(Vec<(Operation, Tally)>);

impl Tallies {
    /// A tally for each of these operations.
    pub fn new(operations: &[Operation]) -> Self {
        Self(operations.iter().map(|operation| (*operation, Tally::new())).collect())
    }

    /// A tally of an open loop for each of these operations.
    pub(super) fn paced(operations: &[Operation]) -> Self {
        Self(operations.iter().map(|operation| (*operation, Tally::paced())).collect())
    }

    /// The tally of an operation that the phase has.
    #[inline]
    pub fn of(&mut self, operation: Operation) -> &mut Tally {
        let found = self.0.iter().position(|(known, _)| *known == operation);
        &mut self.0[found.expect("a phase names every operation that it draws")].1
    }

    /// The tally of the phase's first operation.
    pub(super) fn first(&mut self) -> Option<&mut Tally> {
        self.0.first_mut().map(|(_, tally)| tally)
    }

    /// Every tally, in the phase's order.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Tally> {
        self.0.iter_mut().map(|(_, tally)| tally)
    }

    /// Operation and tally, in the phase's order.
    pub fn iter(&self) -> impl Iterator<Item = (Operation, &Tally)> {
        self.0.iter().map(|(operation, tally)| (*operation, tally))
    }

    /// The number of operations of all kinds, and the number of failed ones.
    pub fn failures(&self) -> (u64, u64) {
        let sum = |of: fn(&Counts) -> u64| self.0.iter().map(|(_, tally)| of(&tally.counts)).sum();
        (sum(|counts| counts.ops), sum(|counts| counts.errors + counts.failed_fills))
    }

    /// Whether all failures were for want of room.
    pub fn only_full(&self) -> bool {
        let mut kinds = self.0.iter().flat_map(|(_, tally)| tally.errors_by_kind.keys()).peekable();
        kinds.peek().is_some() && kinds.all(|kind| kind == "full")
    }

    /// The number of operations without an answer in time.
    pub fn timeouts(&self) -> u64 {
        self.0.iter().filter_map(|(_, tally)| tally.errors_by_kind.get("timeout")).sum()
    }

    /// The first error, in its own words.
    pub fn first_error(&self) -> Option<&str> {
        self.0.iter().find_map(|(_, tally)| tally.first_error.as_deref())
    }

    /// Adds the counts of another process for the same operations, which began so long after the phase.
    pub(crate) fn merge_later(&mut self, other: &Self, after_ns: u64) {
        for ((_, tally), (_, other)) in self.0.iter_mut().zip(&other.0) {
            let bins = other.bins.later(after_ns);
            tally.merge(&Tally { bins, ..other.clone() });
        }
    }

    /// Adds the counts of another thread for the same operations.
    pub(crate) fn merge(&mut self, other: &Self) {
        for ((_, tally), (_, other)) in self.0.iter_mut().zip(&other.0) {
            tally.merge(other);
        }
    }
}

/// Several histograms of ours in one.
pub(crate) fn merged<H: Borrow<Histogram<u64>>>(
    histograms: impl IntoIterator<Item = H>,
) -> Histogram<u64> {
    let mut merged = Tally::new().latency;
    for histogram in histograms {
        merged.add(histogram).expect("all have the same bounds");
    }
    merged
}

/// The figures of a histogram; `None` where nothing was recorded.
pub(crate) fn figures(histogram: &Histogram<u64>) -> Option<Latency> {
    (!histogram.is_empty()).then(|| Latency {
        min: histogram.min(),
        mean: histogram.mean(),
        p50: histogram.value_at_quantile(0.5),
        p90: histogram.value_at_quantile(0.9),
        p99: histogram.value_at_quantile(0.99),
        p999: histogram.value_at_quantile(0.999),
        max: histogram.max(),
    })
}
