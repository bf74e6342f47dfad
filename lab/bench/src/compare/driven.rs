//! The figures of connections: those that threads drive, those that are idle, and those that come and go.

use larder_analysis::statistics::median;
use larder_report::{Comers, Driven, Idle, Latency, Spread};

use super::samples::{Entry, PackedComers};
use super::shares::shortened;
use crate::measure::{self, Packed, PhaseResult, figures, merged, seconds};
use crate::plan::Load;

/// A connection with less than the median's answers over this number is starved.
const STARVED: u64 = 3;
/// With fewer answers of the median, chance alone makes such differences.
const LEAST_ANSWERS: u64 = 30;
/// In a shorter phase, a single time slice of a processor makes such differences.
const LEAST_WALL_S: f64 = 0.1;

/// The figures of the connections that the threads drove in a phase; `None` where each thread waited for its answers.
pub(super) fn sample(
    result: &PhaseResult,
    load: Option<Load>,
    server_cpu_ns: Option<u64>,
) -> Option<Driven> {
    let (driven, load) = (result.driven.as_ref()?, load?);
    let wall_s = result.wall.as_secs_f64();
    let (answered_per_s, starved) = spread(driven.answered.clone(), wall_s);
    let busy_ns: u64 = result.tallies.iter().map(|(_, tally)| tally.busy_ns).sum();
    Some(Driven {
        connections: load.connections,
        pipeline: load.pipeline,
        answered_per_s,
        starved,
        outstanding_mean: (wall_s > 0.0).then(|| shortened(seconds(busy_ns) / wall_s)),
        outstanding_most: driven.most_outstanding,
        server_processors: server_cpu_ns
            .filter(|_| wall_s > 0.0)
            .map(|cpu_ns| shortened(seconds(cpu_ns) / wall_s)),
    })
}

/// The answers of connections per second, and how many connections are starved.
#[expect(clippy::cast_precision_loss, reason = "rates for people")]
fn spread(mut answered: Vec<u64>, wall_s: f64) -> (Spread, u32) {
    answered.sort_unstable();
    let per_s = |count: u64| if wall_s > 0.0 { shortened(count as f64 / wall_s) } else { 0.0 };
    let at = |place: usize| answered.get(place).copied().unwrap_or(0);
    let middle = at(answered.len() / 2);
    let is_told = middle >= LEAST_ANSWERS && wall_s >= LEAST_WALL_S;
    let is_starved = |count: &u64| is_told && count.saturating_mul(STARVED) < middle;
    let starved = answered.partition_point(is_starved);
    let most = at(answered.len().saturating_sub(1));
    let spread = Spread { least: per_s(at(0)), median: per_s(middle), most: per_s(most) };
    (spread, u32::try_from(starved).unwrap_or(u32::MAX))
}

/// All rounds of a cell together; `None` without such connections.
pub(super) fn of_cell(rounds: &[&Entry]) -> Option<Driven> {
    let all: Vec<Driven> = rounds.iter().filter_map(|entry| entry.sample.driven).collect();
    let first = all.first()?;
    let median_of = |of: fn(&Driven) -> f64| typical(&all, |driven| Some(of(driven)));
    Some(Driven {
        connections: first.connections,
        pipeline: first.pipeline,
        answered_per_s: Spread {
            least: median_of(|driven| driven.answered_per_s.least)?,
            median: median_of(|driven| driven.answered_per_s.median)?,
            most: median_of(|driven| driven.answered_per_s.most)?,
        },
        starved: lower_median(all.iter().map(|driven| driven.starved).collect()),
        outstanding_mean: typical(&all, |driven| driven.outstanding_mean),
        outstanding_most: all.iter().map(|driven| driven.outstanding_most).max()?,
        server_processors: typical(&all, |driven| driven.server_processors),
    })
}

/// The figures of the idle connections of a phase.
#[expect(clippy::cast_precision_loss, reason = "bytes for people")]
pub(super) fn idle(idle: measure::Idle) -> Idle {
    let each = idle.server_bytes.map(|bytes| bytes as f64 / f64::from(idle.connections.max(1)));
    Idle { connections: idle.connections, server_bytes_per_connection: each.map(shortened) }
}

/// All rounds of a cell together.
pub(super) fn idle_of_cell(rounds: &[&Entry]) -> Option<Idle> {
    let all: Vec<Idle> = rounds.iter().filter_map(|entry| entry.sample.idle).collect();
    let bytes = typical(&all, |idle| idle.server_bytes_per_connection);
    Some(Idle { connections: all.first()?.connections, server_bytes_per_connection: bytes })
}

/// The figures of the connections that came and went in a phase of this length.
#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
pub(super) fn comers(comers: &measure::Comers, wall_s: f64) -> Comers {
    Comers {
        planned_per_s: comers.planned_per_s.into(),
        begun_per_s: if wall_s > 0.0 { shortened(comers.begun as f64 / wall_s) } else { 0.0 },
        begun: comers.begun,
        failed: comers.failed,
        connect_ns: figures(&comers.connect).map(rounded),
        first_answer_ns: figures(&comers.first_answer).map(rounded),
    }
}

/// The histograms behind these figures.
pub(super) fn pack(comers: &measure::Comers) -> PackedComers {
    PackedComers {
        connect: Packed::new(&comers.connect),
        first_answer: Packed::new(&comers.first_answer),
    }
}

/// All rounds of a cell together.
pub(super) fn comers_of_cell(rounds: &[&Entry]) -> Option<Comers> {
    let all: Vec<Comers> = rounds.iter().filter_map(|entry| entry.sample.comers).collect();
    let packed = || rounds.iter().filter_map(|entry| entry.comers.as_ref());
    Some(Comers {
        planned_per_s: all.first()?.planned_per_s,
        begun_per_s: typical(&all, |comers| Some(comers.begun_per_s))?,
        begun: all.iter().map(|comers| comers.begun).sum(),
        failed: all.iter().map(|comers| comers.failed).sum(),
        connect_ns: figures(&merged(packed().map(|packed| packed.connect.unpack()))),
        first_answer_ns: figures(&merged(packed().map(|packed| packed.first_answer.unpack()))),
    })
}

/// The number in the middle; of two, the lower.
fn lower_median(mut numbers: Vec<u32>) -> u32 {
    numbers.sort_unstable();
    numbers.get(numbers.len().saturating_sub(1) / 2).copied().unwrap_or(0)
}

/// The median of the rounds with this figure.
fn typical<T>(all: &[T], of: impl Fn(&T) -> Option<f64>) -> Option<f64> {
    median(&all.iter().filter_map(of).collect::<Vec<_>>()).map(shortened)
}

fn rounded(latency: Latency) -> Latency {
    Latency { mean: shortened(latency.mean), ..latency }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_with_less_than_a_third_of_the_median_is_starved() {
        let (spread, starved) = self::spread(vec![90, 30, 29, 0, 100, 90, 200], 2.0);
        assert_eq!(spread, Spread { least: 0.0, median: 45.0, most: 100.0 });
        assert_eq!(starved, 2, "30 is a third of 90");
        assert_eq!(self::spread(vec![29, 0, 29], 1.0).1, 0, "chance");
        assert_eq!(self::spread(vec![900, 0, 900], 0.09).1, 0, "a time slice");
        assert_eq!([lower_median(vec![3, 0, 9]), lower_median(vec![0, 4])], [3, 0]);
        assert_eq!(self::spread(Vec::new(), 1.0), (Spread::default(), 0));
    }
}
