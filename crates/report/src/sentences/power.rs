//! Whether the rounds of a run allow a verdict at all.
//!
//! The test by ranks knows only so many orders of the rounds, so with few rounds even targets that never overlap reach no
//! small p, and the correction over all comparisons makes each p larger still. Where that leaves no verdict possible,
//! to call two targets alike would be as wrong as to call them different.

use std::collections::BTreeMap;

use crate::figures::count;
use crate::model::{Operation, Point, Run, Verdict};

/// From so many rounds on that two targets have both, they are compared round by round (by exchanges within the rounds,
/// Fisher 1935); with fewer, by the ranks of all their rounds (Mann and Whitney 1947). Of twenty rounds the smallest p is
/// 0.000002, which is as small as the corrections of some thousand comparisons need.
pub const PAIRED_FROM: usize = 20;

/// The smallest two-sided p that can be found in `n` and `m` rounds without ties. By ranks of them all: every value of the
/// one above every value of the other, one of the (n+m choose n) orders, on either side. Round by round: the one above
/// the other in each, one of the 2^n ways, on either side.
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

/// How many rounds every target needs so that a difference can be told in each of `comparisons` comparisons, however
/// clear it is, and no fewer than `least`: with less, even the smallest p there is would not survive the correction. That so
/// many are enough does not say that more are, for from [`PAIRED_FROM`] on it is another test.
pub fn rounds_for_verdict(least: usize, comparisons: usize) -> usize {
    let factor = real(comparisons.max(1));
    let mut rounds = least.max(1);
    while smallest_p(rounds, rounds) * factor >= Verdict::SIGNIFICANCE {
        rounds += 1;
    }
    rounds
}

/// The difference that no round of a run could have shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoVerdict {
    /// The most rounds that stand behind a target that was compared.
    pub(crate) rounds: usize,
    /// How many comparisons were made.
    pub(crate) comparisons: usize,
    /// How many rounds so many comparisons need.
    pub(crate) needed: usize,
}

impl NoVerdict {
    /// In a clause.
    pub(crate) fn told(&self) -> String {
        format!(
            "no verdict is possible with {} over {}; {} are needed",
            count(self.rounds, "round"),
            count(self.comparisons, "comparison"),
            count(self.needed, "round")
        )
    }
}

/// The same in a few words, of so many rounds that were done and so many that it takes.
pub(crate) fn rounds_needed(rounds: usize, needed: usize) -> String {
    format!("no verdict: {}, {needed} are needed", count(rounds, "round"))
}

/// `None` where the rounds that were done suffice for at least one verdict over the comparisons that were made, or where
/// there are none.
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
