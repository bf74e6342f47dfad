//! REACH-PARITY: a cache inside the process ranked against a cache that other processes can reach.

use larder_report::{Run, Severity};

use super::{About, Check, Needs, Report, pairs};

pub(super) struct ReachParity;

impl Check for ReachParity {
    fn about(&self) -> &'static About {
        &About {
            id: "REACH-PARITY",
            severities: &[Severity::Note],
            sees: "compared targets of different reach: one process, one host, or a network",
            seen_in: "A000 and A003: memory that the processes of one host share, against a server behind a socket",
            advice: "a nearer cache is faster and serves fewer clients; compare caches that could replace each other",
            needs: Needs::SomeRounds,
            repeats: true,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        for (a, b) in pairs(run, |_| true) {
            let (Some(of_a), Some(of_b)) = (&a.reach, &b.reach) else { continue };
            if of_a != of_b {
                let text = format!("entries are for a {of_a}, those of {} for a {of_b}", b.name);
                report.target(Severity::Note, a, text);
            }
        }
    }
}
