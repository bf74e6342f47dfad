//! DAMAGED: bytes come back that were never stored.

use larder_report::{Run, Severity};

use super::{About, Check, Needs, Report, example, measured, percent};

pub(super) struct Damaged;

impl Check for Damaged {
    fn about(&self) -> &'static About {
        &About {
            id: "DAMAGED",
            severities: &[Severity::Error],
            sees: "values with bytes that were never stored: a flipped bit, more bytes than there were, or other flags",
            seen_in: "none of the articles: not one compared the bytes that came back",
            advice: "look at the memory, the disk and the codec between client and store; a wrong answer has no speed",
            needs: Needs::SomeRounds,
            repeats: true,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        for cell in measured(run) {
            let counts = &cell.counts;
            // Some do not tell how a value was wrong.
            let wrong = counts.damaged + counts.wrong_unnamed();
            if wrong > 0 {
                let read = counts.compared();
                let share = percent(wrong, read);
                let text = format!(
                    "{wrong} of {read} values came back with bytes or flags that were never stored ({share:.2} %){}",
                    example(cell, "damaged")
                );
                report.stored(Severity::Error, cell, text);
            }
        }
    }
}
