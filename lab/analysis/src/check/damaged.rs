//! DAMAGED: bytes come back that were never stored.

use larder_report::{Counts, Run, Severity};

use super::{About, Check, Needs, Report, wrong_values};

pub(super) struct Damaged;

impl Check for Damaged {
    fn about(&self) -> &'static About {
        &About {
            id: "DAMAGED",
            severities: &[Severity::Error],
            sees: "values with bytes that were never stored: a flipped bit, extra bytes, or other flags",
            seen_in: "none of the articles: not one compared the returned bytes with the stored ones",
            advice: "look at the memory, the disk and the codec between client and store; a wrong answer has no speed",
            needs: Needs::SomeRounds,
            repeats: true,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        // Some stores do not report how a value was wrong.
        let number = |counts: &Counts| counts.damaged + counts.wrong_unnamed();
        let what = "came back with bytes or flags that were never stored";
        wrong_values(run, report, "damaged", number, what);
    }
}
