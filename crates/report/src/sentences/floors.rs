//! What the measuring itself costs, beside what it measures.

use std::fmt::Write;

use super::{Sentence, about};
use crate::figures::{nanoseconds, percent};
use crate::model::{Floor, Operation, Run};
use crate::ranking::Group;

/// One sentence for each operation: the cost without any cache, and its share of the fastest target's time.
pub(crate) fn cost_of_measuring(run: &Run, groups: &[Group<'_>]) -> Vec<Sentence> {
    let mut operations: Vec<Operation> = run.floors.iter().map(|floor| floor.operation).collect();
    operations.sort_unstable();
    operations.dedup();
    operations.into_iter().map(|operation| sentence(run, groups, operation)).collect()
}

fn sentence(run: &Run, groups: &[Group<'_>], operation: Operation) -> Sentence {
    let floors: Vec<&Floor> =
        run.floors.iter().filter(|floor| floor.operation == operation).collect();
    let wall = span(floors.iter().map(|floor| floor.ns_per_op));
    let cpus: Vec<f64> = floors.iter().filter_map(|floor| floor.cpu_ns_per_op).collect();
    let mut text = format!("without a cache, {operation} takes {wall}");
    if !cpus.is_empty() {
        let _ = write!(text, " (client CPU {})", span(cpus.into_iter()));
    }
    let shares = floors.iter().filter_map(|floor| {
        let here = |group: &&Group<'_>| group.operation == operation && group.point == &floor.point;
        let best = groups.iter().find(here)?.ranked().next()?;
        Some((floor.ns_per_op * best.rate()? / 1e9, best.name))
    });
    let largest = shares.max_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((share, name)) = largest {
        let most = if floors.len() > 1 { "at most " } else { "" };
        let _ = write!(text, ", {most}{} of the time of the fastest, {name}", percent(share));
    }
    Sentence { operation: Some(operation), ..about("harness", text) }
}

/// The least and the greatest, or the one figure that both are.
fn span(values: impl Iterator<Item = f64> + Clone) -> String {
    let least = nanoseconds(values.clone().fold(f64::INFINITY, f64::min));
    let most = nanoseconds(values.fold(0.0, f64::max));
    if least == most { least } else { format!("{least} to {most}") }
}
