//! OTHER-KEY: the value of one key comes back for another key.

use larder_report::{Run, Severity};

use super::{About, Check, Needs, Report, wrong_values};

pub(super) struct OtherKey;

impl Check for OtherKey {
    fn about(&self) -> &'static About {
        &About {
            id: "OTHER-KEY",
            severities: &[Severity::Error],
            sees: "values of another key than the requested one",
            seen_in: "none of the articles: not one compared the returned values with the requested keys",
            advice: "look for a proxy or a pool that mixes up the answers of its connections, and for keys that are \
                     cut or mapped to the same key; no cache may return another key's value",
            needs: Needs::SomeRounds,
            repeats: true,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        wrong_values(
            run,
            report,
            "other_key",
            |counts| counts.other_key,
            "came back as the value of another key",
        );
    }
}
