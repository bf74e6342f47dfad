//! CLIPPED: operations longer than the longest time of a histogram.

use larder_report::figures::count;
use larder_report::{Run, Severity};

use super::{About, Check, Needs, Report, measured};

pub(super) struct Clipped;

impl Check for Clipped {
    fn about(&self) -> &'static About {
        &About {
            id: "CLIPPED",
            severities: &[Severity::Warn],
            sees: "operations longer than the longest time that a histogram can record, which count as that time",
            seen_in: "none of the articles: valkey-benchmark cuts times longer than 3 s",
            advice: "read the longest latency as \"at least\", and find the cause of such long operations",
            needs: Needs::SomeRounds,
            repeats: false,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        for cell in measured(run) {
            let clipped = cell.counts.clipped;
            if clipped > 0 {
                let text = format!(
                    "{clipped} of {} took more than an hour and count as one hour",
                    count(cell.counts.ops, "operation")
                );
                report.cell(Severity::Warn, cell, text);
            }
        }
    }
}
