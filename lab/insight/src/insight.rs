//! The analysis of a trace: a sink of rows, and what it found.

use std::ops::ControlFlow;

use larder_report::{
    Estimate, HitLimit, OperationCount, ResultCount, Sampling, TimesBack, TraceFile, TraceInfo,
    Traffic,
};
use larder_workload::trace::{About, OtherKeys, Outcome, Row, Sink, Timeline, Verb};

use crate::capacities::Capacities;
use crate::course::Steps;
use crate::curve::float;
use crate::distributions::Distributions;
use crate::hottest;
use crate::sample::{Kind, Reference, Sampler, Ticks, TtlNumber, Ttls, scattered};
use crate::sequence::{Facts, Sequence};
use crate::step::TICKS_A_SECOND;
use crate::summary;
use crate::working_set::ROWS_A_TICK;

/// A tick in microseconds.
const TICK_US: u64 = 1_000_000 / TICKS_A_SECOND as u64;

/// How much of a trace is kept, and what is asked about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The most uses of keys that a level of the sample keeps. A trace with no more is followed exactly.
    pub most_uses: usize,
    /// The share of the keys that is followed over all of the time at most, unless they have few uses.
    pub keys: f64,
    /// The capacities in bytes or entries to tell; a series of them where none is given.
    pub capacities: Vec<Capacities>,
    /// Simulations at the same time.
    pub threads: usize,
    /// The seed by which keys are chosen.
    pub seed: u64,
}

impl Settings {
    /// The default of [`Settings::most_uses`]: the levels of a hundred million rows take half a gigabyte.
    pub const MOST_USES: usize = 1 << 22;

    /// The least of it: a smaller sample would tell too little.
    pub const LEAST_USES: usize = 10_000;
}

impl Default for Settings {
    fn default() -> Self {
        Self { most_uses: Self::MOST_USES, keys: 1.0, capacities: Vec::new(), threads: 1, seed: 0 }
    }
}

/// A trace that is being read.
#[derive(Debug)]
pub struct Insight {
    settings: Settings,
    sampler: Sampler,
    ttls: Ttls,
    steps: Steps,
    distributions: Distributions,
    hottest: hottest::Counts,
    /// By operation and answer; the last of the answers is none.
    counts: Counts,
    rows: u64,
    requests: u64,
    request: Option<u64>,
    connections: u32,
    timeline: Timeline,
    /// The latest use without a time.
    untimed: Option<Reference>,
    /// The least time between two times.
    clock_us: u64,
    reads: u64,
}

impl Insight {
    /// Nothing read yet.
    pub fn new(settings: Settings) -> Self {
        Self {
            sampler: Sampler::new(settings.most_uses.max(Settings::LEAST_USES)),
            settings,
            ttls: Ttls::new(),
            steps: Steps::new(),
            distributions: Distributions::new(),
            hottest: hottest::Counts::new(),
            counts: [[0; Outcome::ALL.len() + 1]; Verb::ALL.len()],
            rows: 0,
            requests: 0,
            request: None,
            connections: 0,
            timeline: Timeline::default(),
            untimed: None,
            clock_us: u64::MAX,
            reads: 0,
        }
    }

    /// The rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The time of a row in ticks. A row without a time has that of the row before.
    #[inline]
    fn ticks(&mut self, time_us: Option<u64>) -> Ticks {
        let ticks = |us: u64| Ticks {
            whole: u32::try_from(us / TICK_US).unwrap_or(u32::MAX),
            is_later: !us.is_multiple_of(TICK_US),
        };
        let Some(time_us) = time_us else {
            let latest = self.timeline.first_us().zip(self.timeline.greatest_us());
            return match latest {
                Some((began, latest)) => ticks(latest - began),
                None => ticks(self.rows / ROWS_A_TICK * TICK_US),
            };
        };
        if let Some(gap) = self.timeline.greatest_us().and_then(|it| time_us.checked_sub(it))
            && gap > 0
        {
            self.clock_us = self.clock_us.min(gap);
        }
        self.timeline.push(time_us);
        let began = self.timeline.first_us().unwrap_or(time_us);
        ticks(time_us.saturating_sub(began))
    }

    /// Keeps the use that a row makes of its key.
    fn sample(&mut self, row: &Row<'_>, kind: Kind, value_size: Option<u32>, at: Ticks) {
        let hash = scattered(row.key.hash(), self.settings.seed);
        let ttl_s = row.ttl_s.filter(|_| row.operation != Verb::Gat).unwrap_or(0);
        let ttl = if ttl_s > 0 { self.ttls.number(ttl_s) } else { TtlNumber::default() };
        // A part that is added to a value is no size of it.
        let is_part = matches!(row.operation, Verb::Append | Verb::Prepend);
        let value_size = value_size.filter(|_| !is_part);
        let size = value_size.map(|size| size.saturating_add(row.key_size.unwrap_or(0)));
        let mut used = Reference::new(hash, kind, size, ttl, at);
        if row.time_us.is_none() {
            // Rows without times count as time, but those of a run are one use that is repeated.
            used = self.untimed.filter(|latest| latest.is_alike(&used)).unwrap_or(used);
            self.untimed = Some(used);
        }
        self.sampler.push(&used, self.reads);
        // What reads or replaces a value, and gives it another TTL.
        if matches!(row.operation, Verb::Gat | Verb::Replace | Verb::Cas)
            && let Some(ttl_s) = row.ttl_s
        {
            let ttl = self.ttls.number(ttl_s);
            let renews = Reference::new(hash, Kind::Renew, None, ttl, at);
            self.sampler.push(&renews, self.reads);
        }
    }

    /// What the rows tell. `about` is what the trace tells of itself.
    pub fn finish(self, path: &str, about: &About, is_beginning: bool) -> TraceInfo {
        let mut info = TraceInfo::of(TraceFile {
            path: path.to_owned(),
            content: None,
            format: None,
            upstream: about.upstream.clone(),
            sample: about.sample,
            dropped_rows: about.dropped_rows,
            torn_bytes: about.torn_bytes,
            is_beginning,
            notes: about.notes.clone(),
        });
        (info.rows, info.requests, info.reads) = (self.rows, self.requests, self.reads);
        info.connections = u64::from(self.connections);
        info.began_us = self.timeline.least_us();
        let lasts_us = self.timeline.lasts_us();
        let has_times = self.has_times();
        info.lasts_s = has_times.then(|| float(lasts_us) / 1e6);
        let back = self.timeline.backward();
        info.times_back =
            back.map(|back| TimesBack { steps: back.steps, most_s: float(back.most_us) / 1e6 });
        let is_in_order = !back.is_some_and(|back| back.is_before_first);
        info.operations = operations(&self.counts);
        info.recorded_hit_ratio = hit_ratio(&self.counts);
        let is_told = about.others.operations > 0 && !is_beginning;
        info.traffic = is_told.then(|| traffic(&self.counts, about));
        info.distributions = self.distributions.finish();
        info.with_ttl = self.distributions.with_ttl();
        let has_results = info.recorded_hit_ratio.is_some();
        let (clock_ticks, settings) = (self.clock_ticks(), self.settings.clone());
        let (trace, steps, hottest) = self.into_trace(about);
        let has_course = has_times && is_in_order;
        info.course = has_course.then(|| steps.finish(clock_ticks, has_results));
        info.hottest = hottest.finish(|hashes| trace.reads_of(hashes, settings.seed));
        trace.summarize(&mut info, &settings);
        if !is_in_order {
            info.working_set = None;
        }
        info
    }

    /// The most reads that any cache can hit on these rows, and nothing else, which takes a part of the time; `None`
    /// without reads.
    pub fn limit(self, about: &About) -> Option<HitLimit> {
        let keys = self.settings.keys;
        let (trace, ..) = self.into_trace(about);
        trace.limit(keys)
    }

    fn has_times(&self) -> bool {
        self.timeline.lasts_us() > 0
    }

    /// The resolution of the clock of the trace.
    fn clock_ticks(&self) -> u32 {
        let ticks = u32::try_from(self.clock_us.div_ceil(TICK_US)).unwrap_or(1);
        if self.has_times() { ticks } else { 1 }
    }

    /// What was kept of the keys.
    fn into_trace(self, about: &About) -> (summary::Trace, Steps, hottest::Counts) {
        let stored = |verb: Verb| self.counts[verb as usize].iter().sum::<u64>();
        let [hits, misses] =
            [Outcome::Hit, Outcome::Miss].map(|result| answers(&self.counts, result));
        let facts = Facts {
            reads: self.reads,
            hits,
            has_stores: stored(Verb::Set) + stored(Verb::Add) > 0,
            has_results: hits + misses > 0,
            has_times: self.has_times(),
        };
        let trace = summary::Trace {
            facts,
            recorded: about.sample.unwrap_or(1.0),
            clock_ticks: self.clock_ticks(),
            sampler: self.sampler,
            ttls: self.ttls,
        };
        (trace, self.steps, self.hottest)
    }
}

impl Sink for Insight {
    #[inline]
    fn push(&mut self, row: &Row<'_>) -> ControlFlow<()> {
        let at = self.ticks(row.time_us);
        self.rows += 1;
        if self.request != Some(row.request) {
            self.request = Some(row.request);
            self.requests += 1;
        }
        self.connections = self.connections.max(row.connection.saturating_add(1));
        let kind = Kind::of(row);
        let is_read = matches!(row.operation, Verb::Get | Verb::Gat);
        let value_size = row.known_size();
        let result = row.result.map_or(Outcome::ALL.len(), |result| result as usize);
        self.counts[row.operation as usize][result] += 1;
        self.distributions.count(row, kind, value_size);
        self.steps.count(at.whole, is_read, row.result == Some(Outcome::Hit));
        self.sample(row, kind, value_size, at);
        if kind.reads() {
            self.reads += 1;
            self.hottest.count(row.key, row.key.hash());
        }
        ControlFlow::Continue(())
    }
}

/// Operations by their kind and their answer, those without an answer behind the others.
type Counts = [[u64; Outcome::ALL.len() + 1]; Verb::ALL.len()];

/// Both lists, the most frequent first.
fn operations(counts: &Counts) -> Vec<OperationCount> {
    let results = |counts: &[u64]| {
        let named = Outcome::ALL.iter().zip(counts).filter(|(_, count)| **count > 0);
        let named =
            named.map(|(result, count)| ResultCount { result: result.to_string(), count: *count });
        let mut results: Vec<ResultCount> = named.collect();
        results.sort_by_key(|result| std::cmp::Reverse(result.count));
        results
    };
    let of = |(verb, counts): (&Verb, &[u64; Outcome::ALL.len() + 1])| OperationCount {
        operation: verb.to_string(),
        count: counts.iter().sum(),
        results: results(counts),
    };
    let mut operations: Vec<OperationCount> = Verb::ALL.iter().zip(counts).map(of).collect();
    operations.retain(|operation| operation.count > 0);
    operations.sort_by_key(|operation| std::cmp::Reverse(operation.count));
    operations
}

/// The share of the reads with an answer that hit.
fn hit_ratio(counts: &Counts) -> Option<f64> {
    let (hits, misses) = (answers(counts, Outcome::Hit), answers(counts, Outcome::Miss));
    (hits + misses > 0).then(|| float(hits) / float(hits + misses))
}

/// The traffic on the keys of a recording, and on those that it left out. Rows that were dropped had answers, too, but these
/// are not known.
fn traffic(counts: &Counts, about: &About) -> Traffic {
    let sum = |counts: &[u64]| counts.iter().sum::<u64>();
    let rows: u64 = counts.iter().map(|counts| sum(counts)).sum();
    let OtherKeys { operations, hits, misses } = about.others;
    Traffic {
        operations: rows + about.dropped_rows + operations,
        hits: answers(counts, Outcome::Hit) + hits,
        misses: answers(counts, Outcome::Miss) + misses,
    }
}

/// Reads with this answer.
fn answers(counts: &Counts, result: Outcome) -> u64 {
    [Verb::Get, Verb::Gat].map(|verb| counts[verb as usize][result as usize]).iter().sum()
}

/// An estimate of a count of which a sample has this many.
pub(crate) fn scaled(count: u64, keys: f64) -> Estimate {
    let error = (float(count) * (1.0 - keys).max(0.0)).sqrt() / keys;
    Estimate::within(float(count) / keys, 1.96 * error)
}

/// How the figures of a sample were taken, which looked during some of the reads.
pub(crate) fn sampling(keys: f64, last: &Sequence, reads: u64, most_uses: usize) -> Sampling {
    let time = float(last.reads()) / float(reads.max(1));
    Sampling {
        keys,
        time: (last.windows.len() > 1).then_some(time),
        uses: last.n_uses(),
        most_uses: most_uses as u64,
        expires: last.expires,
        not_filled: last.not_filled(),
        sizes_filled: last.sizes_filled,
        left_out: 0,
    }
}
