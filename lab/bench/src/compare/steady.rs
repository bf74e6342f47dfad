//! Whether the rounds of each cell are alike: rounds that lie far from the others, and figures that rose or fell over
//! the run. A round is ranked by its rate, or in an open loop by how many times its p99 fits into a second.

use larder_report::{Cell, Outlier, Sample, Trend};

use larder_analysis::statistics::{Drift, holm, outliers};

/// Notes outliers and trends in all cells of a run that have figures. The trends are one family for Holm's correction:
/// among a hundred cells that are steady, some seem to drift.
pub(super) fn examine(cells: &mut [Cell]) {
    let mut found = Vec::new();
    let measured = cells.iter_mut().filter(|cell| cell.ops_per_s.is_some());
    for cell in measured {
        let whole = cell.samples.iter().filter(|sample| sample.complete);
        let operation = cell.operation;
        let speed = |sample: &Sample| Some((sample.round, sample.speed(operation)?));
        let (rounds, speeds): (Vec<u32>, Vec<f64>) = whole.filter_map(speed).unzip();
        let far = outliers(&speeds).into_iter();
        cell.outliers =
            far.map(|(at, ratio, score)| Outlier { round: rounds[at], ratio, score }).collect();
        found.extend(Drift::of(&speeds).map(|drift| (cell, drift)));
    }
    let raw: Vec<f64> = found.iter().map(|(_, drift)| drift.p).collect();
    for ((cell, Drift { tau, change, .. }), p) in found.into_iter().zip(holm(&raw)) {
        cell.trend = Some(Trend { tau, p, change });
    }
}
