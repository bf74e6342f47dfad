//! The figures of a cell: rounds that scatter a little around the profile, and the sum of these rounds.

use std::f64::consts::PI;

use larder_report::{
    Cell, Counts, CurvePoint, Latency, LatencyIntervals, LatencyTo, Operation, Point, PointValue,
    Sample, Timeline,
};
use larder_testkit::Random;

use super::profile::Profile;

/// The number of keys of every run.
pub(crate) const KEYS: u64 = 1000;

/// The place of a cell in the plan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) point: &'a Point,
    pub(crate) operation: Operation,
    pub(crate) position: u32,
}

/// A cell with this number of rounds and of operations.
pub(crate) fn cell(
    profile: &Profile,
    place: Place<'_>,
    rounds: u32,
    ops: u64,
    random: &mut Random,
) -> Cell {
    let value_bytes = number(place.point, "data_size", 1024.0);
    let threads = number(place.point, "threads", 1.0);
    // Threads slow each other down.
    let mean_ns = profile.mean_ns(place.operation, value_bytes) * threads.powf(0.4);
    let spread = Spread { mean_ns, width: profile.spread, stall_ns: profile.stall_ns.max(mean_ns) };
    let samples: Vec<Sample> = (1..=rounds)
        .map(|round| {
            let rate = short(threads * 1e9 / mean_ns * (1.0 + 0.02 * around_zero(random)));
            sample(profile, place, Round { number: round, ops, rate }, spread, random)
        })
        .collect();
    let mut rates: Vec<f64> = samples.iter().map(|sample| sample.ops_per_s).collect();
    rates.sort_by(f64::total_cmp);
    let mut counts = samples[0].counts;
    samples[1..].iter().for_each(|sample| counts.add(&sample.counts));
    let latency = spread.latency(counts.ops);
    Cell {
        target: profile.url.into(),
        point: place.point.clone(),
        operation: place.operation,
        workers: u32::try_from(whole(threads)).unwrap_or(1),
        rounds,
        counts,
        predicted_hit_ratio: place.operation.reads().then_some(1.0),
        working_set_bytes: KEYS * (32 + whole(value_bytes)),
        wall_s: Some(samples.iter().map(|sample| sample.wall_s).sum()),
        ops_per_s: Some(median(&rates)),
        ops_per_s_ci95: (rates.len() >= 6).then(|| [rates[1], rates[rates.len() - 2]]),
        client_cpu_s: samples.iter().map(|sample| sample.client_cpu_s).sum(),
        server_cpu_s: samples.iter().map(|sample| sample.server_cpu_s).sum(),
        rss_bytes: samples[0].rss_bytes,
        disk_bytes: samples[0].disk_bytes,
        bytes: whole(value_bytes) * counts.ops,
        latency_ns: Some(latency),
        latency_ns_ci95: (rounds >= 6).then(|| intervals(&latency)),
        latency_curve: spread.curve(counts.ops),
        latency_to: spread.up_to(counts.ops),
        samples,
        ..Cell::default()
    }
}

/// One round, before its figures are filled in.
#[derive(Debug, Clone, Copy)]
struct Round {
    number: u32,
    ops: u64,
    rate: f64,
}

fn sample(
    profile: &Profile,
    place: Place<'_>,
    Round { number: round, ops, rate }: Round,
    spread: Spread,
    random: &mut Random,
) -> Sample {
    let hits = if place.operation.reads() { ops } else { 0 };
    let wall_s = short(real(ops) / rate);
    let value_bytes = number(place.point, "data_size", 1024.0);
    let held = KEYS * whole(value_bytes * 1.1);
    Sample {
        round,
        position: place.position,
        complete: true,
        at_s: short(f64::from(round - 1) * 3.0 + f64::from(place.position) * 0.2),
        counts: Counts {
            ops,
            hits,
            connections: profile.serves().then_some(1),
            evictions: Some(0),
            distinct_keys: KEYS.min(ops),
            top_key_ops: ops / 10,
            read_back: KEYS,
            ..Counts::default()
        },
        wall_s,
        ops_per_s: rate,
        client_cpu_s: Some(short(wall_s * if profile.serves() { 0.4 } else { 0.98 })),
        server_cpu_s: profile.serves().then_some(short(wall_s * 0.5)),
        rss_bytes: Some(profile.rss_bytes + if profile.writes() { 0 } else { held }),
        disk_bytes: profile.writes().then_some(held),
        latency_ns: Some(spread.latency(ops)),
        timeline: Some(timeline(ops, wall_s, spread, random)),
        ..Sample::default()
    }
}

/// A timeline of 17 to 32 bins, like a measured timeline, with a stall now and then.
fn timeline(ops: u64, wall_s: f64, spread: Spread, random: &mut Random) -> Timeline {
    let wall_ns = whole(wall_s * 1e9);
    let mut bin_ns = 1024;
    while wall_ns / bin_ns >= 32 {
        bin_ns *= 2;
    }
    let bins = wall_ns / bin_ns + 1;
    let slowest = spread.at(1.0 - 1.0 / real(ops));
    let (mut left, mut timeline) = (ops, Timeline { bin_ns, ..Timeline::default() });
    for bin in 0..bins {
        let share = if bin + 1 == bins { left } else { left.min(ops * bin_ns / wall_ns) };
        left -= share;
        let stalled = random.below(40) == 0;
        let slowest = if stalled { spread.stall_ns } else { slowest * (0.6 + 0.4 * unit(random)) };
        timeline.ops.push(share);
        timeline.max_ns.push(if share == 0 { 0 } else { whole(slowest) });
    }
    timeline
}

/// A distribution of latencies: log-logistic, whose quantiles are a formula and whose tail is as long as a cache's.
#[derive(Debug, Clone, Copy)]
struct Spread {
    mean_ns: f64,
    width: f64,
    stall_ns: f64,
}

impl Spread {
    /// The latency at a quantile, in nanoseconds.
    fn at(self, quantile: f64) -> f64 {
        let angle = PI * self.width;
        let median = self.mean_ns * angle.sin() / angle;
        let ns = median * (quantile / (1.0 - quantile)).powf(self.width);
        // An operation takes at least the time of its work.
        ns.clamp(0.6 * median, self.stall_ns)
    }

    fn latency(self, ops: u64) -> Latency {
        Latency {
            min: whole(self.at(1.0 / real(ops))),
            mean: short(self.mean_ns),
            p50: whole(self.at(0.5)),
            p90: whole(self.at(0.9)),
            p99: whole(self.at(0.99)),
            p999: whole(self.at(0.999)),
            max: whole(self.stall_ns),
        }
    }

    /// Five points a decade, as far as ten operations lie beyond, between the fastest and the slowest.
    fn curve(self, ops: u64) -> Vec<CurvePoint> {
        let Latency { min, max, .. } = self.latency(ops);
        let decades = (1..8).map(|power| 10_f64.powi(power));
        let beyond = decades.flat_map(|whole| [7.0, 5.0, 3.0, 2.0, 1.0].map(|part| part / whole));
        let inner = beyond.filter(|beyond| real(ops) * beyond >= 10.0).map(|beyond| 1.0 - beyond);
        let inner = inner.map(|quantile| CurvePoint(quantile, whole(self.at(quantile))));
        [CurvePoint(0.0, min)].into_iter().chain(inner).chain([CurvePoint(1.0, max)]).collect()
    }

    /// The fastest up to 90, 95, 99 and 100 %.
    fn up_to(self, ops: u64) -> Vec<LatencyTo> {
        let Latency { mean, max, .. } = self.latency(ops);
        let inner = [0.9, 0.95, 0.99].map(|quantile| LatencyTo {
            quantile,
            mean: short(mean * quantile),
            max: whole(self.at(quantile)),
        });
        inner.into_iter().chain([LatencyTo { quantile: 1.0, mean, max }]).collect()
    }
}

fn intervals(latency: &Latency) -> LatencyIntervals {
    let around = |ns: u64, part: f64| [1.0 - part, 1.0 + part].map(|part| short(real(ns) * part));
    LatencyIntervals {
        p50: around(latency.p50, 0.01),
        p90: around(latency.p90, 0.02),
        p99: around(latency.p99, 0.05),
        p999: around(latency.p999, 0.2),
    }
}

/// A figure with seven digits, as in measured runs.
fn short(figure: f64) -> f64 {
    format!("{figure:.6e}").parse().expect("a number")
}

/// The coordinate of a point; `otherwise` where it has none or it is no number.
fn number(point: &Point, name: &str, otherwise: f64) -> f64 {
    match point.get(name) {
        Some(PointValue::Number(number)) => real(*number),
        _ => otherwise,
    }
}

fn median(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { sorted[half - 1].midpoint(sorted[half]) }
}

/// A random number from 0 to 1.
fn unit(random: &mut Random) -> f64 {
    real(random.next_u64() >> 11) / real(1 << 53)
}

/// A random number from −1 to 1, mostly near 0.
fn around_zero(random: &mut Random) -> f64 {
    (0..4).map(|_| unit(random)).sum::<f64>() / 2.0 - 1.0
}

#[expect(clippy::cast_precision_loss, reason = "made up")]
fn real(number: u64) -> f64 {
    number as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "made up")]
fn whole(number: f64) -> u64 {
    number as u64
}
