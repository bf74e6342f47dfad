//! Whether the rounds of a run allow a verdict at all.
//!
//! The test by ranks has a limited number of orders of the rounds. So with few rounds even targets that never overlap
//! reach no small p, and the correction over all comparisons makes each p larger still. Where that allows no verdict,
//! calling two targets alike would be as wrong as calling them different.

use std::collections::BTreeMap;

use crate::figures::count;
use crate::model::{Operation, Point, Run, Verdict};

/// From this number of common rounds on, two targets are compared round by round (by exchanges within the rounds,
/// Fisher 1935). With fewer, they are compared by the ranks of all their rounds (Mann and Whitney 1947). The smallest p
/// of twenty rounds is 0.000002, which suffices for the corrections of some thousand comparisons.
pub const PAIRED_FROM: usize = 20;

/// The smallest two-sided p for `n` and `m` rounds without ties. By ranks: every value of one target above every value
/// of the other, one of the (n+m choose n) orders, on either side. Round by round: one target above the other in each
/// round, one of the 2^n ways, on either side.
pub fn smallest_p(n: usize, m: usize) -> f64 {
    let pairs = n.min(m);
    if pairs >= PAIRED_FROM {
        return 2.0 * 0.5_f64.powf(real(pairs));
    }
    let mut orders = 1.0;
    for (i, above) in (1..=n.min(m)).zip(n.max(m) + 1..) {
        orders *= real(above) / real(i);
    }
    (2.0 / orders).min(1.0)
}

/// The number of rounds that every target needs to tell a clear difference in each of `comparisons` comparisons, but no
/// fewer than `least`. With fewer rounds, even the smallest possible p would not survive the correction. More rounds
/// than the result need not suffice, because from [`PAIRED_FROM`] on the test is another.
pub fn rounds_for_verdict(least: usize, comparisons: usize) -> usize {
    let factor = real(comparisons.max(1));
    let mut rounds = least.max(1);
    while smallest_p(rounds, rounds) * factor >= Verdict::SIGNIFICANCE {
        rounds += 1;
    }
    rounds
}

/// The lack of rounds for any verdict of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoVerdict {
    /// The most rounds of a compared target.
    pub(crate) rounds: usize,
    /// The number of comparisons.
    pub(crate) comparisons: usize,
    /// The number of rounds that these comparisons need.
    pub(crate) needed: usize,
}

impl NoVerdict {
    /// The lack of rounds as a clause.
    pub(crate) fn as_text(&self) -> String {
        format!(
            "no verdict is possible with {} over {}; {} are needed",
            count(self.rounds, "round"),
            count(self.comparisons, "comparison"),
            count(self.needed, "round")
        )
    }
}

/// The same in a few words, from the number of rounds done and the number needed.
pub(crate) fn rounds_needed(rounds: usize, needed: usize) -> String {
    format!("no verdict: {}, {needed} are needed", count(rounds, "round"))
}

/// `None` where the rounds suffice for at least one verdict over the comparisons, or where there are no comparisons.
pub(crate) fn no_verdict(run: &Run) -> Option<NoVerdict> {
    let told = |verdict| matches!(verdict, Verdict::Faster | Verdict::Slower);
    let comparisons = run.comparisons.len();
    if comparisons == 0 || run.comparisons.iter().any(|comparison| told(comparison.verdict)) {
        return None;
    }
    let rounds: BTreeMap<(&str, &Point, Operation), usize> = run
        .cells
        .iter()
        .map(|cell| ((cell.target.as_str(), &cell.point, cell.operation), cell.rounds as usize))
        .collect();
    let of = |target: &str, point, operation| {
        rounds.get(&(target, point, operation)).copied().unwrap_or(0)
    };
    let (mut clearest, mut most) = (1.0_f64, 0);
    for comparison in &run.comparisons {
        let (point, operation) = (&comparison.point, comparison.operation);
        let (a, b) = (of(&comparison.a, point, operation), of(&comparison.b, point, operation));
        clearest = clearest.min(smallest_p(a, b));
        most = most.max(a).max(b);
    }
    // The first step of Holm's correction is the hardest that the clearest comparison meets.
    (clearest * real(comparisons) >= Verdict::SIGNIFICANCE).then(|| NoVerdict {
        rounds: most,
        comparisons,
        needed: rounds_for_verdict(most, comparisons),
    })
}

#[expect(clippy::cast_precision_loss, reason = "numbers of rounds and comparisons")]
fn real(count: usize) -> f64 {
    count as f64
}
