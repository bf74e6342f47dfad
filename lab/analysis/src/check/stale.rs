//! STALE: values that were once right.

use larder_report::{Run, Severity};

use super::{About, Check, Needs, Report, wrong_values};

pub(super) struct Stale;

impl Check for Stale {
    fn about(&self) -> &'static About {
        &About {
            id: "STALE",
            severities: &[Severity::Error],
            sees: "whole values older than the last acknowledged value of their key, or values of a key whose delete \
                   was acknowledged",
            seen_in: "none of the articles: not one wrote a second value under a key, so a cache that forgets \
                      updates would have passed",
            advice: "send every update to all copies of a key, or bound the lifetime of a copy; a stale answer is \
                     fast and wrong",
            needs: Needs::SomeRounds,
            repeats: true,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        let what = "came back after a later set or delete of their key was acknowledged";
        wrong_values(run, report, "stale", |counts| counts.stale, what);
    }
}
