//! ONE-KEY: so few keys that the nearest cache answers every operation.

use std::collections::BTreeSet;

use larder_report::figures::noun_after;
use larder_report::{Run, Severity};

use super::{About, Check, Needs, Report, measured, percent};

/// A workload has at least this many keys.
const FEW: u64 = 100;
/// In a workload no key has more than this share of the operations, in percent.
const MOST: f64 = 50.0;

pub(super) struct OneKey;

impl Check for OneKey {
    fn about(&self) -> &'static About {
        &About {
            id: "ONE-KEY",
            severities: &[Severity::Note],
            sees: "fewer than a hundred different keys, or one key that has more than half of all operations",
            seen_in: "A003: one key, 50,000 times",
            advice: "use as many keys as the application has, with --keys and --key-pattern",
            needs: Needs::SomeRounds,
            repeats: true,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        // Every target gets the same keys, so one finding covers all of them.
        let mut said = BTreeSet::new();
        for cell in measured(run) {
            let counts = &cell.counts;
            let ops = counts.ops / u64::from(cell.rounds.max(1));
            let top = percent(counts.top_key_ops, ops);
            let few = counts.distinct_keys < FEW;
            if (few || top > MOST) && said.insert((&cell.point, cell.operation)) {
                let distinct = counts.distinct_keys;
                let keys = noun_after(distinct, "key");
                let text = format!(
                    "{distinct} different {keys}, the most frequent one in {:.0} % of operations",
                    top.min(100.0)
                );
                report.place(Severity::Note, &cell.point, cell.operation, text);
            }
        }
    }
}
