#![expect(
    unreachable_pub,
    clippy::unwrap_used,
    reason = "test binaries share it, and a helper fails where its test would"
)]
//! The shared part of the tests of whole comparisons: targets and a workload in, a run out.

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use larder_bench::{Observer, Outcome, Permissions, Plan, Scenario, Silent, compare};
use larder_report::{Cell, Finding, Operation, Run};
use larder_store::Catalog;

/// A scenario from targets and the lines of its `[workload]`.
pub fn scenario(targets: &[&str], workload: &str) -> Scenario {
    let text =
        format!("name = 'test'\nsummary = 'a test'\ntargets = {targets:?}\n[workload]\n{workload}");
    let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    std::fs::write(file.path(), text).unwrap();
    Scenario::find(file.path().to_str().unwrap()).unwrap()
}

/// CPU time is counted for the whole process, so one comparison runs at a time, as in real use.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs a comparison of typed targets.
pub fn outcome(catalog: &Catalog, targets: &[&str], workload: &str) -> Outcome {
    observed(catalog, targets, workload, &Silent)
}

/// Runs the same comparison with an observer.
pub fn observed(
    catalog: &Catalog,
    targets: &[&str],
    workload: &str,
    observer: &dyn Observer,
) -> Outcome {
    let plan = Plan::new(&scenario(targets, workload), true, catalog).unwrap();
    let stop = AtomicBool::new(false);
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    compare(&plan, catalog, Vec::new(), Permissions::default(), observer, &stop).unwrap()
}

/// The run of a comparison of typed targets.
pub fn run(catalog: &Catalog, targets: &[&str], workload: &str) -> Run {
    outcome(catalog, targets, workload).run
}

/// The only cell of a target for an operation.
pub fn cell<'a>(run: &'a Run, target: &str, operation: Operation) -> &'a Cell {
    let mut found =
        run.cells.iter().filter(|cell| cell.target == target && cell.operation == operation);
    let cell = found.next().unwrap_or_else(|| panic!("no cell of {target} for {operation}"));
    assert!(found.next().is_none(), "more than one cell of {target} for {operation}");
    cell
}

/// The findings of one check.
pub fn findings<'a>(run: &'a Run, id: &str) -> Vec<&'a Finding> {
    run.checks.iter().filter(|check| check.id == id).collect()
}
