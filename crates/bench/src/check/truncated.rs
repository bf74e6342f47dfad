//! TRUNCATED: values that come back other than they were ever stored.

use larder_report::{Run, Severity};

use super::{About, Check, Needs, Report, measured};

pub(super) struct Truncated;

impl Check for Truncated {
    fn about(&self) -> &'static About {
        &About {
            id: "TRUNCATED",
            severities: &[Severity::Error],
            sees: "values that come back cut short, swapped or damaged",
            seen_in: "A004: a column of 1024 characters cut values, and the store answered STORED",
            advice: "make the store's column or item size fit the values; a wrong answer has no speed",
            needs: Needs::SomeRounds,
            repeats: true,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        for cell in measured(run) {
            let counts = &cell.counts;
            // What was once right is for STALE to tell of.
            let wrong = counts.wrong + counts.read_back_wrong - counts.stale;
            if wrong > 0 {
                let read = counts.hits + counts.wrong + counts.read_back;
                let cut = counts.truncated;
                let text = format!(
                    "{wrong} of {read} values came back wrong, {cut} of them seen to be cut short"
                );
                report.cell(Severity::Error, cell, text);
            }
        }
    }
}
