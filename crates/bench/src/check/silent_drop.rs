//! SILENT-DROP: values that were acknowledged and are not there.

use larder_report::{Run, Severity};

use super::{About, Check, Report, measured, percent};

pub(super) struct SilentDrop;

impl Check for SilentDrop {
    fn about(&self) -> &'static About {
        &About {
            id: "SILENT-DROP",
            sees: "acknowledged values that a read-back does not find and no eviction counter explains",
            seen_in: "A000: data disappeared, and reads of nothing looked fastest",
            advice: "read the store's log and limits; until the loss is explained its figures are no result",
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        for cell in measured(run) {
            let counts = &cell.counts;
            let explained = counts.evictions.unwrap_or(0);
            let lost = counts.read_back_absent.saturating_sub(explained);
            if lost > 0 {
                let share = percent(counts.read_back_absent, counts.read_back);
                let text = format!(
                    "{} of {} acknowledged values read back were absent ({share:.1} %), {explained} evictions explain \
                     that many at most",
                    counts.read_back_absent, counts.read_back
                );
                report.cell(Severity::Error, cell, text);
            }
        }
    }
}
