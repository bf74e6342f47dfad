//! STALE: values that were once right.

use larder_report::{Run, Severity};

use super::{About, Check, Needs, Report, wrong_values};

pub(super) struct Stale;

impl Check for Stale {
    fn about(&self) -> &'static About {
        &About {
            id: "STALE",
            severities: &[Severity::Error],
            sees: "whole values older than the last that was acknowledged under their key, or of a key whose delete was acknowledged",
            seen_in: "none of the articles: none wrote another value under a key, so that a cache that forgets updates would have passed",
            advice: "tell every copy of a key of its updates, or bound how long a copy lives; what answers of old is fast and wrong",
            needs: Needs::SomeRounds,
            repeats: true,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        let what = "came back and should have gone: their key was set or deleted since, and that was acknowledged";
        wrong_values(run, report, "stale", |counts| counts.stale, what);
    }
}
