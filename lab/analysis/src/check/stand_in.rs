//! STAND-IN: a server that answers in another server's place, over the same protocol.

use larder_report::{Run, Severity};

use super::{About, Check, Needs, Report};

/// Its name: conclusions from the times of a stand-in are withheld.
pub const ID: &str = "STAND-IN";

pub(super) struct StandIn;

impl Check for StandIn {
    fn about(&self) -> &'static About {
        &About {
            id: ID,
            severities: &[Severity::Warn],
            sees: "a server made for tests that answers in place of the server that the target is named after",
            seen_in: "none of the articles: Debian has no package of MongoDB, which A000 measured",
            advice: "install the real server, or name one in the URL; until then read what the server can do, not \
                     how fast it is",
            needs: Needs::SomeRounds,
            repeats: false,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        for target in &run.targets {
            let Some(what) = target.stand_in() else { continue };
            let version = target.version.as_deref().unwrap_or("an unknown server");
            let text = format!("{version} answered, {what}: its figures are not ranked");
            report.target(Severity::Warn, target, text);
        }
    }
}
