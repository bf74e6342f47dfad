//! Operations per second, against the swept parameter.

use super::family::Family;
use super::marks::{Figure, swept};
use super::model::{Chart, Ratios, Unit};
use super::subject::Subject;
use super::sweep::{AlongAxis, Sweep};
use crate::model::Run;
use crate::ranking::groups;

const READING: &str = "More is better. Only operations that succeeded count. The median of the rounds with its 95 % \
                       interval.";

/// The text where some operations missed.
const ANSWERED: &str = "More is better. Requests answered a second, hits and misses, because both are work; a target that hits \
                        less often than the best of its place is not compared with it. The median of the rounds with its \
                        95 % interval.";

/// The text of an open loop, where all targets that keep up reach the same rate.
const PACED: &str = "Operations came at a given rate: all targets that keep up reach it, so the p99 of the response \
                     time ranks them. Only operations that succeeded count. The median of the \
                     rounds with its 95 % interval.";

/// A chart for each operation.
pub(super) fn charts(run: &Run) -> Vec<Chart> {
    let (sweep, groups) = (Sweep::of(run), groups(run));
    let chart = |slice: &AlongAxis<'_>| {
        let misses = slice.places.iter().flat_map(|place| &place.group.rows).any(|row| row.misses);
        let what = if misses { "requests answered per second" } else { "operations per second" };
        let picture = swept(run, &sweep, slice, what, Unit::Rate, &|row| {
            Some(Figure { value: row.rate()?, ci95: row.rate_ci95() })
        });
        let subject = Subject::new(Family::Rate, slice.operation, &slice.label);
        let is_paced = slice.places.iter().any(|place| place.group.is_paced());
        let reading = match (is_paced, misses) {
            (true, _) => PACED,
            (false, true) => ANSWERED,
            (false, false) => READING,
        };
        let chart = subject.chart(what, reading, picture)?;
        Some(Chart { ratios: ratios(run, slice), ..chart })
    };
    sweep.slices(&groups).iter().filter_map(chart).collect()
}

/// The run's comparisons of these rates; an open loop compares other figures.
fn ratios(run: &Run, slice: &AlongAxis<'_>) -> Ratios {
    let is_line = slice.places.len() > 1;
    let number = |url: &str| run.targets.iter().position(|target| target.url == url);
    let mut ratios = Ratios::default();
    for place in slice.places.iter().filter(|place| !place.group.is_paced()) {
        let here = run.comparisons.iter().filter(|comparison| {
            comparison.operation == slice.operation && comparison.point == *place.group.point
        });
        for comparison in here {
            let (one, other) = (number(&comparison.a), number(&comparison.b));
            let (Some(one), Some(other), Some([low, high])) = (one, other, comparison.ci95) else {
                continue;
            };
            ratios.at.push(if is_line { place.x } else { 0.0 });
            ratios.one.push(one);
            ratios.other.push(other);
            ratios.low.push(low);
            ratios.high.push(high);
        }
    }
    ratios
}
