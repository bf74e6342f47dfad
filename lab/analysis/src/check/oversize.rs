//! OVERSIZE: keys or values that a target does not take.

use larder_report::{ReasonKind, Run, Severity};

use super::{About, Check, Needs, Report};

pub(super) struct Oversize;

impl Check for Oversize {
    fn about(&self) -> &'static About {
        &About {
            id: "OVERSIZE",
            severities: &[Severity::Warn],
            sees: "keys or values larger than a target accepts: its cell is empty, never 0 ms",
            seen_in: "A000: bars at 0 for values of 2.12 MB; A001: a point at memcached's limit of 1 MiB",
            advice: "raise the target's item limit where it has one, use shorter keys, or compare at a size that all \
                     targets accept",
            needs: Needs::SomeRounds,
            repeats: true,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        for cell in &run.cells {
            if cell.reason_kind == Some(ReasonKind::Oversize) {
                let reason = cell.reason.clone().unwrap_or_default();
                report.cell(Severity::Warn, cell, format!("cannot be stored: {reason}"));
            }
        }
    }
}
