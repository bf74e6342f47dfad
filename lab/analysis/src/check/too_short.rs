//! TOO-SHORT: rounds too short to be timed, and percentiles of too few times.

use larder_report::figures::{count, nanoseconds, percent};
use larder_report::{Cell, Counts, Run, Severity, is_shown, operations_for};

use super::{About, Check, Needs, Report, measured};
use crate::statistics::{half_width, median};

/// A round must last this many readings of the clock: then the cost and the error of the readings are at most a
/// hundredth.
const READINGS: f64 = 100.0;
/// A round shorter than this, in seconds, is shorter than a scheduler's time slice: a single preemption decides the
/// result.
const SHORT_S: f64 = 0.001;
/// An interval narrower than this shows that there was no preemption; without an interval that is unknown.
const UNSURE: f64 = 0.05;
/// The percentiles that reports show.
const PERCENTILES: [(&str, f64); 3] = [("p99.9", 0.999), ("p99", 0.99), ("p50", 0.5)];

pub(super) struct TooShort;

impl Check for TooShort {
    fn about(&self) -> &'static About {
        &About {
            id: "TOO-SHORT",
            severities: &[Severity::Warn, Severity::Note],
            sees: "rounds shorter than a hundred readings of the clock, or shorter than a millisecond with a wide \
                   interval or none; percentiles with fewer than ten timed requests beyond them",
            seen_in: "A002: five seconds against seven by a clock of whole seconds, one run of each",
            advice: "measure more operations in a round: --requests or --duration, more --keys; a percentile needs \
                     ten timed requests beyond it, p99.9 ten thousand in all",
            needs: Needs::WholeRun,
            repeats: false,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        for cell in measured(run).filter(|cell| cell.ops_per_s.is_some() && keeps(run, cell)) {
            if let Some(text) = too_short(cell, run.environment.clock_ns) {
                report.cell(Severity::Warn, cell, text);
            }
        }
        if let Some(text) = withheld(run) {
            report.run(Severity::Note, text);
        }
    }
}

/// Whether the target keeps its values; a target that keeps nothing shows how short a round can be.
fn keeps(run: &Run, cell: &Cell) -> bool {
    run.target(&cell.target).is_none_or(|target| target.stores != Some(false))
}

fn too_short(cell: &Cell, clock_ns: f64) -> Option<String> {
    let whole = cell.samples.iter().filter(|sample| sample.complete);
    let wall_s = median(&whole.map(|sample| sample.wall_s).collect::<Vec<_>>())?;
    let readings = wall_s * 1e9 / clock_ns;
    let wide = match (cell.ops_per_s, cell.ops_per_s_ci95) {
        (Some(rate), Some(ci95)) => {
            Some(half_width(rate, Some(ci95))).filter(|wide| *wide > UNSURE)
        }
        _ => None,
    };
    let lasted = format!("a round took {}", nanoseconds(wall_s * 1e9));
    if clock_ns > 0.0 && readings < READINGS {
        let one = nanoseconds(clock_ns);
        Some(format!("{lasted}, in which the clock can be read {readings:.0} times, {one} each"))
    } else if wall_s < SHORT_S && cell.ops_per_s_ci95.is_none() {
        Some(format!("{lasted}, and so few rounds give its rate no interval"))
    } else if wall_s < SHORT_S {
        wide.map(|wide| format!("{lasted}, and its rate is known to ±{} only", percent(wide)))
    } else {
        None
    }
}

/// The percentiles that are not shown, each with its number of cells; `None` where all are shown.
fn withheld(run: &Run) -> Option<String> {
    let timed: Vec<&Cell> = measured(run).filter(|cell| cell.latency_ns.is_some()).collect();
    let texts = PERCENTILES.into_iter().filter_map(|(name, quantile)| {
        let few = timed.iter().filter(|cell| !is_shown(cell, quantile));
        let (least, unit) = few.clone().map(|cell| times(cell)).min()?;
        let (cells, all) = (few.count(), count(timed.len(), "cell"));
        let needed = operations_for(quantile);
        Some(format!(
            "{name} of {cells} of {all}, which needs {needed} timed requests; the fewest are {least}{unit}"
        ))
    });
    let texts: Vec<String> = texts.collect();
    (!texts.is_empty()).then(|| format!("not shown: {}", texts.join("; ")))
}

/// The number of times of a cell, and their unit where they are not one for each operation.
fn times(cell: &Cell) -> (u64, &'static str) {
    let Counts { ops, misses, planned_misses, .. } = cell.counts;
    let unit = match cell.operation {
        operation if operation.is_of_many_keys() => ", each of many keys",
        operation if operation.reads() && misses > planned_misses => {
            " with the expected outcome; other misses are not timed"
        }
        _ => "",
    };
    (cell.latency_count.unwrap_or(ops), unit)
}

#[cfg(test)]
mod tests {
    use larder_report::Sample;

    use super::*;

    #[test]
    fn a_round_must_outlast_a_hundred_readings_of_the_clock() {
        let sample = Sample { complete: true, wall_s: 2e-6, ..Sample::default() };
        let narrow = Some([0.99e6, 1.01e6]);
        let cell = Cell {
            samples: vec![sample],
            ops_per_s: Some(1e6),
            ops_per_s_ci95: narrow,
            ..Cell::default()
        };
        let text = too_short(&cell, 33.0).expect("2 µs are 61 readings");
        let expected = "a round took 2.00 µs, in which the clock can be read 61 times, 33 ns each";
        assert_eq!(text, expected);
        assert_eq!(too_short(&cell, 10.0), None, "200 readings, and no interval that is wide");
        let few = Cell { ops_per_s_ci95: None, ..cell };
        let text = too_short(&few, 10.0).expect("nobody knows whether it was kept from working");
        assert_eq!(text, "a round took 2.00 µs, and so few rounds give its rate no interval");
    }
}
