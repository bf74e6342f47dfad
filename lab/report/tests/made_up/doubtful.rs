//! Runs with figures that are no plain result: lost values, few hits, few rounds, small capacities.

use larder_report::{
    CAPACITY, Cell, Finding, HitCurve, HitRatios, Operation, Point, PointValue, Run, Severity,
    Unlike, Verdict,
};

use super::pairs::comparisons;
use super::plan::{Plan, size};
use super::profile::PROFILES;
use super::runs::check;

/// A store that loses acknowledged values, beside two sound stores and a store that keeps nothing.
pub(crate) fn withheld() -> Run {
    let mut run = Plan::new(&PROFILES[..4], vec![Point::new()]).run();
    for cell in run.cells.iter_mut().filter(|cell| cell.target == "file:") {
        cell.counts.read_back_absent = 921;
    }
    for cell in run.cells.iter_mut().filter(|cell| cell.operation.reads()) {
        misses(cell, if cell.target == "file:" { 0.051 } else { 0.0 });
    }
    for (operation, text) in [
        (
            Operation::Set,
            "921 of 18000 acknowledged values were gone: 5.1 % of acknowledged values lost",
        ),
        (
            Operation::Get,
            "5.1 % of acknowledged values lost, so that its reads are of another store",
        ),
    ] {
        let found = check("SILENT-DROP", Severity::Error, Some("file:"), text);
        run.checks.push(Finding { operation: Some(operation), ..found });
    }
    run.checks.push(check(
        "NOISE",
        Severity::Warn,
        None,
        "the machine was busy for 3 of 10 rounds",
    ));
    compared_alike(run)
}

/// One target has too little memory: it answers as fast, and hardly ever hits.
pub(crate) fn unlike_hits() -> Run {
    let mut run = Plan::new(&PROFILES[..4], vec![Point::new()]).run();
    for cell in run.cells.iter_mut().filter(|cell| cell.operation.reads()) {
        misses(cell, if cell.target == "file:" { 0.911 } else { 0.0 });
    }
    let text = "hits 8.9 %, others 100 %: it could hold 91 of 1000 values";
    let found = check("CAPACITY", Severity::Warn, Some("file:"), text);
    run.checks.push(Finding { operation: Some(Operation::Get), ..found });
    compared_alike(run)
}

/// A sweep of six rounds, too few for a verdict.
pub(crate) fn too_few_rounds() -> Run {
    let points = [1, 2].iter().flat_map(|threads| {
        [100, 1024, 10_240].map(|bytes| {
            let mut point = size(bytes);
            point.insert("threads".into(), PointValue::Number(*threads));
            point
        })
    });
    let mut run = Plan { rounds: 6, ..Plan::new(&PROFILES[..3], points.collect()) }.run();
    for comparison in &mut run.comparisons {
        (comparison.verdict, comparison.p) = (Verdict::Undecided, 0.078);
    }
    run
}

/// Three caches of bounded memory over four capacities, beside the models.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "made up"
)]
pub(crate) fn capacities() -> Run {
    let working_set = 16_448_000_u64;
    let shares = [(0.01, 0.105, 0.36), (0.05, 0.28, 0.49), (0.25, 0.56, 0.69), (0.5, 0.74, 0.83)];
    let capacity = |share: f64| (working_set as f64 * share) as u64;
    let points = shares
        .map(|(share, ..)| Point::from([(CAPACITY.into(), PointValue::Number(capacity(share)))]));
    let profiles = [PROFILES[0], PROFILES[4], PROFILES[5]];
    let mut plan = Plan::new(&profiles, points.to_vec());
    plan.operations = vec![Operation::GetOrSet];
    let mut run = plan.run();
    for (cell, n) in run.cells.iter_mut().zip(0..) {
        let (place, target) = (n / profiles.len(), n % profiles.len());
        let (_, lru, optimal) = shares[place];
        let hits = lru + (optimal - lru) * [0.42, -0.06, 0.18][target];
        misses(cell, 1.0 - hits);
        cell.predicted_hit_ratio = Some(lru);
        cell.working_set_bytes = working_set;
    }
    let ratios = shares.map(|(share, lru, optimal)| HitRatios {
        capacity_bytes: capacity(share),
        lru,
        optimal,
    });
    run.hit_curves = vec![HitCurve {
        point: Point::new(),
        operation: Operation::GetOrSet,
        working_set_bytes: working_set,
        rounds: 10,
        capacities: ratios.to_vec(),
    }];
    compared_alike(run)
}

/// Turns a share of the reads of a cell into misses.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "made up"
)]
fn misses(cell: &mut Cell, share: f64) {
    let of = |ops: u64| (ops as f64 * share) as u64;
    cell.counts.misses = of(cell.counts.ops);
    cell.counts.hits = cell.counts.ops - cell.counts.misses;
    cell.answered_per_s = cell.ops_per_s;
    cell.answered_per_s_ci95 = cell.ops_per_s_ci95;
    cell.hits_per_s = cell.ops_per_s.map(|rate| rate * (1.0 - share));
    cell.ops_per_s = cell.hits_per_s;
    cell.ops_per_s_ci95 = cell.ops_per_s_ci95.map(|ci95| ci95.map(|rate| rate * (1.0 - share)));
    for sample in &mut cell.samples {
        sample.counts.misses = of(sample.counts.ops);
        sample.counts.hits = sample.counts.ops - sample.counts.misses;
        sample.ops_per_s *= 1.0 - share;
    }
}

/// Compares only cells with alike hit ratios.
fn compared_alike(mut run: Run) -> Run {
    let cell = |target: &str, point: &Point, operation| {
        let mut cells = run.cells.iter().filter(|cell| cell.target == target);
        cells.find(|cell| cell.point == *point && cell.operation == operation)
    };
    let (alike, unlike): (Vec<_>, Vec<_>) = comparisons(&run.cells).into_iter().partition(|of| {
        let both = cell(&of.a, &of.point, of.operation).zip(cell(&of.b, &of.point, of.operation));
        both.is_some_and(|(a, b)| a.finds_as_often_as(b))
    });
    let not_compared = unlike.into_iter().map(|of| Unlike {
        a: of.a,
        b: of.b,
        point: of.point,
        operation: of.operation,
        reason: "hit ratios differ".into(),
    });
    run.not_compared = not_compared.collect();
    run.comparisons = alike;
    run
}
