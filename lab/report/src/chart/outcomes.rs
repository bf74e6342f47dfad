//! The outcomes of the operations, where not all of them succeeded.

use super::axis;
use super::family::Family;
use super::marks::{Figure, index, series, why_not};
use super::model::{Absent, Chart, Series, Shape, Unit};
use super::subject::{Picture, Subject};
use super::sweep::point_label;
use crate::model::{Counts, Operation, Run};
use crate::ranking::{Group, groups};

/// The possible outcomes of an operation.
struct Outcome {
    name: &'static str,
    /// Its number in the palette.
    colour: usize,
    count: fn(&Counts) -> u64,
}

const READS: &[Outcome] = &[
    Outcome { name: "hits", colour: 0, count: |counts| counts.hits },
    Outcome { name: "misses", colour: 4, count: |counts| counts.misses },
    Outcome { name: "wrong", colour: 6, count: |counts| counts.wrong },
    ERRORS,
];

const STORES: &[Outcome] = &[
    Outcome {
        name: "stored",
        colour: 0,
        count: |counts| counts.ops.saturating_sub(counts.misses + counts.errors),
    },
    Outcome { name: "not stored", colour: 4, count: |counts| counts.misses },
    ERRORS,
];

const FINDS: &[Outcome] = &[
    Outcome {
        name: "found",
        colour: 0,
        count: |counts| counts.ops.saturating_sub(counts.misses + counts.errors),
    },
    Outcome { name: "not there", colour: 4, count: |counts| counts.misses },
    ERRORS,
];

const COUNTS: &[Outcome] = &[
    Outcome {
        name: "counted",
        colour: 0,
        count: |counts| counts.ops.saturating_sub(counts.misses + counts.wrong + counts.errors),
    },
    Outcome { name: "not there", colour: 4, count: |counts| counts.misses },
    Outcome { name: "wrong", colour: 6, count: |counts| counts.wrong },
    ERRORS,
];

const ERRORS: Outcome = Outcome { name: "errors", colour: 1, count: |counts| counts.errors };

const READING: &str = "The outcomes of all operations. A workload may ask for misses, but never for wrong values or \
                       errors.";

/// A chart for each point of the operations with failures anywhere: a chart of full bars only has no use.
pub(super) fn charts(run: &Run) -> Vec<Chart> {
    let groups = groups(run);
    let failed = |group: &&Group<'_>| {
        groups.iter().any(|other| other.operation == group.operation && has_failures(other))
    };
    let chart = |group: &Group<'_>| {
        let point = point_label(run, group.point);
        let subject = Subject::new(Family::Outcomes, group.operation, &point);
        subject.chart("outcomes of the operations", READING, picture(run, group))
    };
    groups.iter().filter(failed).filter_map(chart).collect()
}

fn outcomes(operation: Operation) -> &'static [Outcome] {
    match operation {
        operation if operation.reads() => READS,
        Operation::Set | Operation::SetMany => STORES,
        Operation::Incr => COUNTS,
        _ => FINDS,
    }
}

fn has_failures(group: &Group<'_>) -> bool {
    let [_, failures @ ..] = outcomes(group.operation) else { return false };
    let failed = |counts: &Counts| failures.iter().any(|outcome| (outcome.count)(counts) > 0);
    group.rows.iter().any(|row| failed(&row.cell.counts))
}

/// No figure is withheld here: targets stand outside the ranking because of these very outcomes.
#[expect(clippy::cast_precision_loss, reason = "a share for people")]
fn picture(run: &Run, group: &Group<'_>) -> Picture {
    let row = |url: &str| group.rows.iter().find(|row| row.cell.target == url);
    let tried = |target: usize| {
        let counts = row(&run.targets[target].url)?.cell.counts;
        (counts.ops > 0).then_some(counts)
    };
    let targets = 0..run.targets.len();
    let part = |outcome: &Outcome| {
        let share = |counts: Counts| (outcome.count)(&counts) as f64 / counts.ops as f64;
        let marks = targets
            .clone()
            .filter_map(|target| Some((index(target), Some(Figure::plain(share(tried(target)?))))));
        Series { colour: Some(outcome.colour), ..series(None, outcome.name, None, marks) }
    };
    let series = outcomes(group.operation).iter().map(part).collect();
    let absent = targets.clone().filter(|target| tried(*target).is_none()).map(|target| {
        let known = &run.targets[target];
        Absent {
            target,
            name: known.name.clone(),
            at: Vec::new(),
            reason: why_not(run, target, group),
        }
    });
    Picture {
        shape: Shape::Bars,
        x: axis::of_targets(run),
        y: axis::of_sums("share of the operations", Unit::Share),
        series,
        absent: absent.collect(),
    }
}
