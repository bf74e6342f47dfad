//! The cost of measuring, beside the measured figures.

use std::fmt::Write;

use super::{Sentence, about};
use crate::figures::{list, nanoseconds, percent};
use crate::model::{Cell, Floor, Operation, Run};
use crate::points::short_label;
use crate::ranking::{Group, Standing};

/// From this share of an operation's time on, the figures say nothing about the cache. The rest is smaller than the
/// difference between two measurements of the floor.
const ALL_BUT_LOST: f64 = 0.8;

/// The share of a cell's operation that the measuring takes, by the median of its rounds. 0.2 is a fifth, and 1 or more
/// means that it takes as long without the cache. `None` without a floor or a figure.
pub fn floor_share(run: &Run, cell: &Cell) -> Option<f64> {
    let language = language_of(run, cell);
    let here = |floor: &&Floor| {
        floor.operation == cell.operation
            && floor.point == cell.point
            && floor.language.as_deref() == language
    };
    Some(run.floors.iter().find(here)?.ns_per_op / operation_ns(cell)?)
}

/// The wall-clock time of one operation of a cell, in nanoseconds, all its workers together: the inverse of its rate.
/// In an open loop the rate does not show that time, and the mean service time does. For requests of many keys it is
/// unknown then.
pub fn operation_ns(cell: &Cell) -> Option<f64> {
    match &cell.paced {
        // A read that misses takes its time too.
        None => cell.answered_per_s.or(cell.ops_per_s).map(|rate| 1e9 / rate),
        Some(paced) if !cell.operation.is_of_many_keys() => {
            let at_once = match cell.driven {
                Some(driven) => driven.outstanding_mean?.max(1.0),
                None => f64::from(cell.workers.max(1)),
            };
            Some(paced.service_ns?.mean / at_once)
        }
        Some(_) => None,
    }
}

/// The language in which a cell was measured; `None` is this process.
fn language_of<'a>(run: &'a Run, cell: &Cell) -> Option<&'a str> {
    run.target(&cell.target)?.language.as_deref()
}

/// One sentence for each operation and language: the cost without any cache, and its share of the fastest target's
/// time. One more for each target whose time is nearly all measuring.
pub(crate) fn cost_of_measuring(run: &Run, groups: &[Group<'_>]) -> Vec<Sentence> {
    let mut operations: Vec<Operation> = run.floors.iter().map(|floor| floor.operation).collect();
    operations.sort_unstable();
    operations.dedup();
    let mut sentences = Vec::new();
    for operation in operations {
        let of: Vec<&Group<'_>> =
            groups.iter().filter(|group| group.operation == operation).collect();
        for language in languages(&run.floors) {
            sentences.extend(sentence(run, &of, operation, language));
        }
        sentences.extend(immeasurable(run, &of, operation));
    }
    sentences
}

/// The languages that have a floor, this process first.
pub(crate) fn languages(floors: &[Floor]) -> Vec<Option<&str>> {
    let mut languages: Vec<Option<&str>> =
        floors.iter().map(|floor| floor.language.as_deref()).collect();
    languages.sort_unstable();
    languages.dedup();
    languages
}

/// The floor of one language beside its fastest target; `None` where this operation has no floor in it.
fn sentence(
    run: &Run,
    groups: &[&Group<'_>],
    operation: Operation,
    language: Option<&str>,
) -> Option<Sentence> {
    let here =
        |floor: &&Floor| floor.operation == operation && floor.language.as_deref() == language;
    let floors: Vec<&Floor> = run.floors.iter().filter(here).collect();
    if floors.is_empty() {
        return None;
    }
    let (place, among) = match language {
        Some(language) => (format!(" in {language}"), " there"),
        None if languages(&run.floors).len() > 1 => (String::new(), " of the others"),
        None => (String::new(), ""),
    };
    let wall = span(floors.iter().map(|floor| floor.ns_per_op));
    let cpus: Vec<f64> = floors.iter().filter_map(|floor| floor.cpu_ns_per_op).collect();
    let mut text = format!("without a cache, {operation}{place} takes {wall}");
    if !cpus.is_empty() {
        let _ = write!(text, " (client CPU {})", span(cpus.into_iter()));
    }
    let shares = groups.iter().filter_map(|group| {
        let best = group.ranked().find(|row| language_of(run, row.cell) == language)?;
        // No target is called the fastest where some hit less often than others.
        let is_alone =
            group.rows.iter().all(|row| !matches!(row.standing, Standing::Unlike { .. }));
        let who = if is_alone {
            format!("the fastest{among}, {}", best.name)
        } else {
            best.name.to_owned()
        };
        Some((floor_share(run, best.cell)?, who))
    });
    let largest = shares.max_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((share, who)) = largest {
        let most = if floors.len() > 1 { "at most " } else { "" };
        let _ = write!(text, ", {most}{} of the time of {who}", percent(share));
    }
    Some(Sentence { operation: Some(operation), ..about("harness", text) })
}

/// The targets whose operation takes hardly longer than the measuring, each with its points.
fn immeasurable(run: &Run, groups: &[&Group<'_>], operation: Operation) -> Vec<Sentence> {
    let swept = run.swept();
    let mut found: Vec<(&str, Vec<String>, f64)> = Vec::new();
    for group in groups {
        for row in group.ranked() {
            let share = floor_share(run, row.cell).filter(|share| *share >= ALL_BUT_LOST);
            let Some(share) = share else { continue };
            let place = short_label(group.point, &swept);
            match found.iter_mut().find(|(name, ..)| *name == row.name) {
                Some((_, places, least)) => {
                    places.push(place);
                    *least = least.min(share);
                }
                None => found.push((row.name, vec![place], share)),
            }
        }
    }
    let sentence = |(name, places, least): (&str, Vec<String>, f64)| {
        let places: Vec<&str> = places.iter().map(String::as_str).collect();
        let at = if swept.is_empty() { String::new() } else { format!(" at {}", list(&places)) };
        let takes = if least >= 1.0 {
            "as long".to_owned()
        } else {
            format!("{} of the time or more", percent(least))
        };
        let text = format!(
            "{operation} of {name} may be faster than shown{at}: the measuring alone takes {takes}"
        );
        Sentence { operation: Some(operation), ..about("harness", text) }
    };
    found.into_iter().map(sentence).collect()
}

/// The least and the greatest, or a single figure where both are equal.
fn span(values: impl Iterator<Item = f64> + Clone) -> String {
    let least = nanoseconds(values.clone().fold(f64::INFINITY, f64::min));
    let most = nanoseconds(values.fold(0.0, f64::max));
    if least == most { least } else { format!("{least} to {most}") }
}
