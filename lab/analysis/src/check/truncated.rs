//! TRUNCATED: values that come back cut short.

use larder_report::{Run, Severity};

use super::{About, Check, Needs, Report, wrong_values};

pub(super) struct Truncated;

impl Check for Truncated {
    fn about(&self) -> &'static About {
        &About {
            id: "TRUNCATED",
            severities: &[Severity::Error],
            sees: "values that come back cut short",
            seen_in: "A004: a column of 1024 characters cut values; in the repetition here, the store answers STORED \
                      to each set",
            advice: "make the store's column or item size fit the values; a wrong answer has no speed",
            needs: Needs::SomeRounds,
            repeats: true,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        wrong_values(run, report, "truncated", |counts| counts.truncated, "came back cut short");
    }
}
