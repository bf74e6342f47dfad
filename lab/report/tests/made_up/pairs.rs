//! Comparisons of the figures of made-up cells.

use larder_report::{Cell, Comparison, Verdict};

/// Compares every two cells with a rate at one point for one operation.
pub(crate) fn comparisons(cells: &[Cell]) -> Vec<Comparison> {
    let mut comparisons = Vec::new();
    for (n, a) in cells.iter().enumerate() {
        let same = |b: &&Cell| (&b.point, b.operation) == (&a.point, a.operation);
        comparisons.extend(cells[n + 1..].iter().filter(same).filter_map(|b| comparison(a, b)));
    }
    comparisons
}

/// The interval of a ratio is as wide as those of both rates together. Where it lies outside the 2 %, there is a
/// verdict.
fn comparison(a: &Cell, b: &Cell) -> Option<Comparison> {
    let ratio = a.ops_per_s? / b.ops_per_s?;
    let parts = a.ops_per_s_ci95.zip(b.ops_per_s_ci95);
    let ci95 = parts.map(|(a, b)| {
        let wide = ((a[1] / a[0]).ln().powi(2) + (b[1] / b[0]).ln().powi(2)).sqrt() / 2.0;
        [ratio * (-wide).exp(), ratio * wide.exp()]
    });
    let verdict = match ci95 {
        Some([low, _]) if low > 1.0 + Verdict::MIN_DIFFERENCE => Verdict::Faster,
        Some([_, high]) if high < 1.0 - Verdict::MIN_DIFFERENCE => Verdict::Slower,
        _ => Verdict::Indistinguishable,
    };
    Some(Comparison {
        a: a.target.clone(),
        b: b.target.clone(),
        point: a.point.clone(),
        operation: a.operation,
        ratio,
        ci95,
        p: if verdict == Verdict::Indistinguishable { 0.4 } else { 0.0004 },
        verdict,
    })
}
