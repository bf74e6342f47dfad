//! The analysis of a trace: a sink of rows, and what it found.

use std::ops::ControlFlow;

use larder_report::{
    Estimate, OperationCount, ResultCount, Sampling, TraceFile, TraceInfo, Traffic,
};
use larder_workload::trace::{About, OtherKeys, Outcome, Row, Sink, Verb};

use crate::capacities::Capacities;
use crate::course::Steps;
use crate::curve::float;
use crate::distributions::Distributions;
use crate::sample::{Kind, Reference, Sampler, TtlNumber, Ttls, scattered};
use crate::sequence::Facts;
use crate::step::TICKS_A_SECOND;
use crate::told;
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
    /// By operation and answer; the last of the answers is none.
    counts: Counts,
    rows: u64,
    requests: u64,
    request: Option<u64>,
    connections: u32,
    began_us: Option<u64>,
    latest_us: u64,
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
            counts: [[0; Outcome::ALL.len() + 1]; Verb::ALL.len()],
            rows: 0,
            requests: 0,
            request: None,
            connections: 0,
            began_us: None,
            latest_us: 0,
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
    fn ticks(&mut self, time_us: Option<u64>) -> u32 {
        let Some(time_us) = time_us else {
            let ticks = match self.began_us {
                Some(began) => self.latest_us.saturating_sub(began) / TICK_US,
                None => self.rows / ROWS_A_TICK,
            };
            return u32::try_from(ticks).unwrap_or(u32::MAX);
        };
        let began = *self.began_us.get_or_insert(time_us);
        if time_us > self.latest_us {
            if self.latest_us > 0 {
                self.clock_us = self.clock_us.min(time_us - self.latest_us);
            }
            self.latest_us = time_us;
        }
        u32::try_from(time_us.saturating_sub(began) / TICK_US).unwrap_or(u32::MAX)
    }

    /// Keeps the use that a row makes of its key.
    fn sample(&mut self, row: &Row<'_>, kind: Kind, value_size: Option<u32>, at: u32) {
        let hash = scattered(row.key.hash(), self.settings.seed);
        let stores = matches!(kind, Kind::Write | Kind::Change | Kind::Renew);
        let ttl_s = row.ttl_s.filter(|_| stores).unwrap_or(0);
        let ttl = if ttl_s > 0 { self.ttls.number(ttl_s) } else { TtlNumber::default() };
        let size = value_size.map(|size| size.saturating_add(row.key_size.unwrap_or(0)));
        self.sampler.push(&Reference::new(hash, kind, size, ttl, at), self.reads);
        if row.operation == Verb::Gat
            && let Some(ttl_s) = row.ttl_s
        {
            let ttl = self.ttls.number(ttl_s);
            let renews = Reference::new(hash, Kind::Renew, None, ttl, at);
            self.sampler.push(&renews, self.reads);
        }
    }

    /// What the rows tell. `about` is what the trace tells of itself.
    pub fn finish(self, path: &str, about: &About, is_beginning: bool) -> TraceInfo {
        let recorded = about.sample.unwrap_or(1.0);
        let mut info = TraceInfo::of(TraceFile {
            path: path.to_owned(),
            upstream: about.upstream.clone(),
            sample: about.sample,
            dropped_rows: about.dropped_rows,
            torn_bytes: about.torn_bytes,
            is_beginning,
        });
        (info.rows, info.requests, info.reads) = (self.rows, self.requests, self.reads);
        info.connections = u64::from(self.connections);
        info.began_us = self.began_us;
        let has_times = self.began_us.is_some_and(|began| self.latest_us > began);
        let lasts_us = self.latest_us.saturating_sub(self.began_us.unwrap_or(0));
        info.lasts_s = has_times.then(|| float(lasts_us) / 1e6);
        info.operations = operations(&self.counts);
        info.recorded_hit_ratio = hit_ratio(&self.counts);
        let is_told = about.others.operations > 0 && !is_beginning;
        info.traffic = is_told.then(|| traffic(&self.counts, about));
        info.distributions = self.distributions.finish();
        info.with_ttl = self.distributions.with_ttl();
        let clock_ticks = u32::try_from(self.clock_us.div_ceil(TICK_US)).unwrap_or(1);
        let has_results = info.recorded_hit_ratio.is_some();
        info.course = has_times.then(|| self.steps.finish(clock_ticks, has_results));
        let stored = |verb: Verb| self.counts[verb as usize].iter().sum::<u64>();
        let facts = Facts {
            reads: self.reads,
            has_stores: stored(Verb::Set) + stored(Verb::Add) > 0,
            has_results,
            has_times,
        };
        let trace = told::Trace {
            sampler: self.sampler,
            ttls: self.ttls,
            facts,
            recorded,
            clock_ticks: if has_times { clock_ticks } else { 1 },
        };
        trace.tell(&mut info, &self.settings);
        info
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
        // Traces write a miss as a read of 0 bytes.
        let is_read = matches!(row.operation, Verb::Get | Verb::Gat);
        let value_size = row.value_size.filter(|size| *size > 0 || !is_read);
        let result = row.result.map_or(Outcome::ALL.len(), |result| result as usize);
        self.counts[row.operation as usize][result] += 1;
        self.distributions.count(row, kind, value_size);
        self.steps.count(at, is_read, row.result == Some(Outcome::Hit));
        if let Some(kind) = kind {
            self.sample(row, kind, value_size, at);
            self.reads += u64::from(kind.reads());
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

/// An estimate of a count of which a sample has so many.
pub(crate) fn scaled(count: u64, keys: f64) -> Estimate {
    let error = (float(count) * (1.0 - keys).max(0.0)).sqrt() / keys;
    Estimate::within(float(count) / keys, 1.96 * error)
}

/// How the figures of a sample were taken.
pub(crate) fn sampling(keys: f64, uses: u64, most_uses: usize) -> Sampling {
    Sampling { keys, uses, most_uses: most_uses as u64, ..Sampling::default() }
}
