//! A difference for other programs: a line for each change, its figures in full.

use std::collections::BTreeSet;

use crate::csv::{known, written};
use crate::model::{Change, Diff};

/// The whole difference.
pub(super) fn render(diff: &Diff) -> String {
    let points = diff.changes.iter().map(|change| &change.cell.point);
    let axes: BTreeSet<&String> = points.flat_map(|point| point.keys()).collect();
    let mut heads = ["target", "name", "operation"].map(str::to_owned).to_vec();
    heads.extend(axes.iter().map(|axis| format!("point_{axis}")));
    let figures = ["old", "new"]
        .map(|side| ["", "_ci95_low", "_ci95_high", "_rounds"].map(|part| format!("{side}{part}")));
    heads.push("measure".to_owned());
    heads.extend(figures.into_iter().flatten());
    heads.extend(["ratio", "ratio_ci95_low", "ratio_ci95_high", "p", "verdict"].map(str::to_owned));
    written(heads, diff.changes.iter().map(|change| line(change, &axes)))
}

fn line(change: &Change, axes: &BTreeSet<&String>) -> Vec<String> {
    let cell = &change.cell;
    let mut line = vec![cell.target.clone(), cell.name.clone(), cell.operation.to_string()];
    line.extend(axes.iter().map(|axis| known(cell.point.get(*axis))));
    line.push(change.measure.as_str().to_owned());
    let bounds = |ci95: Option<[f64; 2]>| {
        [known(ci95.map(|[low, _]| low)), known(ci95.map(|[_, high]| high))]
    };
    for figure in [change.old, change.new] {
        line.push(figure.value.to_string());
        line.extend(bounds(figure.ci95));
        line.push(figure.rounds.to_string());
    }
    line.push(known(change.ratio));
    line.extend(bounds(change.ci95));
    line.extend([change.p.to_string(), change.verdict.as_str().to_owned()]);
    line
}
