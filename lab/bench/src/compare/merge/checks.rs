//! The findings of the checks on merged slices.

use larder_report::figures::noun_after;
use larder_report::{Environment, Finding, Run, Severity, Slice};

use super::Sliced;
use larder_analysis::check::{self, NOISE};

/// A finding, and the numbers of the slices in which the finding is true.
type SlicedCheck = (Finding, Vec<u32>);

/// Checks the rounds of all slices under the circumstances of each slice: its targets and its machine. A finding there
/// is true of the whole, although the other slices had no part in it. Findings about the machine's other work need its
/// use from second to second, which stays with the slice, so they are taken from there. An error that the rounds of
/// other slices would cover up is taken, too.
pub(super) fn checks(parts: &[(Slice, Sliced)], whole: &Run) -> Vec<Finding> {
    let mut found: Vec<SlicedCheck> = Vec::new();
    let mut there = whole.clone();
    for (slice, Sliced { run, .. }) in parts {
        there.targets.clone_from(&run.targets);
        // The cost of reading the clock is measured, and is a little more or less each time.
        let clock_ns = whole.environment.clock_ns;
        there.usage.clone_from(&run.usage);
        there.environment = Environment { clock_ns, ..run.environment.clone() };
        let of_rounds = check::run_all(&there).into_iter().filter(|check| check.id != NOISE);
        let noise = run.checks.iter().filter(|check| check.id == NOISE).cloned();
        for check in of_rounds.chain(noise) {
            add(&mut found, check, slice.number);
        }
    }
    for (slice, Sliced { run, .. }) in parts {
        for error in run.checks.iter().filter(|check| check.severity == Severity::Error) {
            if !found.iter().any(|(known, numbers)| says(known, numbers, error, slice.number)) {
                add(&mut found, error.clone(), slice.number);
            }
        }
    }
    let mut checks: Vec<Finding> =
        found.into_iter().map(|found| finding_of(found, parts, parts[0].0.of)).collect();
    checks.sort_by_key(|check| check.severity);
    checks
}

/// Adds a finding; findings with equal text from several slices are merged.
fn add(found: &mut Vec<SlicedCheck>, check: Finding, number: u32) {
    match found.iter_mut().find(|(known, _)| *known == check) {
        Some((_, numbers)) if numbers.contains(&number) => {}
        Some((_, numbers)) => numbers.push(number),
        None => found.push((check, vec![number])),
    }
}

/// Whether a finding of the whole that is true of this slice is the same as an error of the slice, apart from its
/// figures.
fn says(known: &Finding, numbers: &[u32], error: &Finding, number: u32) -> bool {
    let place = |check: &Finding| (check.target.clone(), check.point.clone(), check.operation);
    known.severity == error.severity
        && known.id == error.id
        && numbers.contains(&number)
        && place(known) == place(error)
}

/// A finding with the slices in which it is true, unless it is true in all.
fn finding_of((check, numbers): SlicedCheck, parts: &[(Slice, Sliced)], of: u32) -> Finding {
    if numbers.len() == parts.len() {
        return check;
    }
    let slices = noun_after(numbers.len(), "slice");
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    let text = format!("in {slices} {} of {of}: {}", numbers.join(", "), check.text);
    Finding { text, ..check }
}
