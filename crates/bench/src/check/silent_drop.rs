//! SILENT-DROP: values that were acknowledged and are not there.

use larder_report::{Run, Severity};

use super::{About, Check, Needs, Report, is_bounded, measured, percent};

pub(super) struct SilentDrop;

impl Check for SilentDrop {
    fn about(&self) -> &'static About {
        &About {
            id: "SILENT-DROP",
            severities: &[Severity::Error],
            sees: "acknowledged values that a read-back does not find and no eviction counter explains",
            seen_in: "A000: data disappeared, and reads of nothing looked fastest",
            advice: "read the store's log and limits; until the loss is explained its figures are no result",
            needs: Needs::SomeRounds,
            repeats: true,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        for cell in measured(run) {
            let counts = &cell.counts;
            let (absent, read) = (counts.read_back_absent, counts.read_back);
            if absent == 0 {
                continue;
            }
            let share = percent(absent, read);
            let said = format!(
                "{absent} of {read} acknowledged values read back were absent ({share:.1} %)"
            );
            // Where only some keys were read back, only as large a share of the evictions can be among them.
            let stored = counts.distinct_keys * u64::from(cell.rounds.max(1));
            let explained =
                counts.evictions.map(|evictions| evictions * read / stored.max(read).max(1));
            let why = match explained {
                Some(explained) if absent <= explained + explained / 4 => continue,
                Some(explained) => format!("evictions explain {explained} of them at most"),
                // What was told to be small has dropped it.
                None if is_bounded(cell) => continue,
                None => "the store does not tell what it evicts".into(),
            };
            report.cell(Severity::Error, cell, format!("{said}; {why}"));
        }
    }
}
