//! Whether runs are slices of one plan, each once.

use std::collections::BTreeSet;

use larder_report::figures::{agreeing, count, noun_after};
use larder_report::{MergedSlice, Run, Slice};

use super::Sliced;
use crate::error::{Result, usage};

/// Refuses runs that are no slices, slices of other plans, and a slice that comes twice; sorts the slices by their
/// numbers.
pub(super) fn slices(runs: Vec<Sliced>) -> Result<Vec<(Slice, Sliced)>> {
    let mut parts: Vec<(Slice, Sliced)> = Vec::new();
    for sliced in runs {
        let shown = sliced.folder.display();
        if let Some(MergedSlice { slice: Slice { of, .. }, .. }) = sliced.run.slices.first() {
            let numbers: Vec<String> =
                sliced.run.slices.iter().map(|part| part.slice.number.to_string()).collect();
            let numbers = numbers.join(", ");
            return Err(usage(format!(
                "{shown}: put together of slices {numbers} of {of}; name the slices themselves"
            )));
        }
        let Some(slice) = sliced.run.slice.clone() else {
            return Err(usage(format!(
                "{shown}: a whole run, not a slice; only folders of `larder compare --slice N/M` can be merged"
            )));
        };
        if let Some((first, other)) = parts.first()
            && (slice.plan != first.plan || slice.of != first.of || slice.rounds != first.rounds)
        {
            let (theirs, other) = (slice_name(first), other.folder.display());
            return Err(usage(format!(
                "{shown} and {other} are slices of two plans: {} and {theirs}; merge the slices of one command",
                slice_name(&slice)
            )));
        }
        if let Some((_, other)) = parts.iter().find(|(known, _)| known.number == slice.number) {
            let (slice, other) = (slice_name(&slice), other.folder.display());
            return Err(usage(format!("{shown} and {other} are the same {slice}; name each once")));
        }
        parts.push((slice, sliced));
    }
    parts.sort_by_key(|(slice, _)| slice.number);
    if parts.is_empty() {
        return Err(usage("nothing to merge; name the folders of the slices"));
    }
    Ok(parts)
}

fn slice_name(Slice { number, of, rounds, plan }: &Slice) -> String {
    format!("slice {number}/{of} of plan {plan} ({})", count(*rounds, "round"))
}

/// The record of a slice in the merged run.
pub(super) fn part(slice: &Slice, run: &Run) -> MergedSlice {
    let version = |target: &larder_report::Target| (target.url.clone(), target.version.clone());
    MergedSlice {
        slice: slice.clone(),
        started: run.started.clone(),
        larder: run.larder.clone(),
        environment: run.environment.clone(),
        versions: run.targets.iter().map(version).collect(),
    }
}

/// The warning about slices that are missing or were broken off.
pub(super) fn notes(parts: &[(Slice, Sliced)]) -> Vec<String> {
    let Slice { of, rounds, .. } = parts[0].0;
    let has = |number: &u32| parts.iter().any(|(slice, _)| slice.number == *number);
    let missing: Vec<u32> = (1..=of).filter(|number| !has(number)).collect();
    let mut notes = vec![format!(
        "put together of {} of {of} slices, each of which ran by itself: within a slice, the targets took their \
         turns side by side",
        parts.len()
    )];
    if !missing.is_empty() {
        let here: BTreeSet<u32> = parts
            .iter()
            .flat_map(|(_, sliced)| &sliced.run.cells)
            .flat_map(|cell| &cell.samples)
            .filter(|sample| sample.complete)
            .map(|sample| sample.round)
            .collect();
        let here = here.len();
        let is = noun_after(missing.len(), "slice");
        let are = agreeing(missing.len(), "is", "are");
        let missing: Vec<String> = missing.iter().map(u32::to_string).collect();
        notes.push(format!(
            "{is} {} of {of} {are} missing: {here} of {} are here",
            missing.join(", "),
            count(rounds, "round")
        ));
    }
    for (slice, sliced) in parts.iter().filter(|(_, sliced)| sliced.run.interrupted) {
        let whole = |cell: &larder_report::Cell| {
            cell.samples.iter().filter(|sample| sample.complete).count()
        };
        let done = sliced.run.cells.iter().map(whole).min().unwrap_or(0);
        let number = slice.number;
        notes.push(format!("slice {number} of {of} was interrupted after {done} of its rounds"));
    }
    notes
}
