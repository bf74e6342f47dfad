//! Operations per second, against what was swept.

use super::marks::{Figure, swept};
use super::model::{Chart, Family, Unit};
use super::subject::Subject;
use super::sweep::Sweep;
use crate::model::Run;
use crate::ranking::groups;

const READING: &str = "More is better. Only operations that succeeded count. The median of the rounds with its 95 % \
                       interval.";

/// A chart for each operation.
pub(super) fn charts(run: &Run) -> Vec<Chart> {
    let (sweep, groups) = (Sweep::of(run), groups(run));
    let chart = |slice| {
        let picture = swept(run, &sweep, slice, ("operations per second", Unit::Rate), &|row| {
            Some(Figure { value: row.rate()?, ci95: row.cell.ops_per_s_ci95 })
        });
        let subject = Subject::new(Family::Rate, slice.operation, &slice.label);
        subject.chart("operations per second", READING, picture)
    };
    sweep.slices(&groups).iter().filter_map(chart).collect()
}
