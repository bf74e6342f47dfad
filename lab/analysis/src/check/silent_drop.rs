//! SILENT-DROP: values that were acknowledged and are not there.

use larder_report::{Run, Severity};

use super::{About, Check, Needs, Report, is_bounded, is_too_small, measured, percent};

/// In a sample of the keys the number of evicted keys is chance. This many standard deviations above the expected
/// number, plus this many keys, are explained.
const DEVIATIONS: f64 = 5.0;
/// This much more of the expected number is explained too: a store may count its evictions a little later.
const LATE: f64 = 0.25;

pub(super) struct SilentDrop;

impl Check for SilentDrop {
    fn about(&self) -> &'static About {
        &About {
            id: "SILENT-DROP",
            severities: &[Severity::Error],
            sees: "acknowledged values that a read-back does not find and no eviction counter explains",
            seen_in: "A000: data disappeared, and reads of missing data looked fastest, as with a program that \
                      checks no result on a full tmpfs",
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
            let stored = counts.distinct_keys * u64::from(cell.rounds.max(1));
            let explained = counts.evictions.map(|evictions| explained(evictions, read, stored));
            let why = match explained {
                Some(explained) if absent <= explained => continue,
                Some(explained) => format!("evictions explain {explained} of them at most"),
                // A cache with a small capacity has dropped the values; CAPACITY reports that.
                None if is_bounded(cell) || is_too_small(run, cell) => continue,
                None => "the store does not report evictions".into(),
            };
            report.stored(Severity::Error, cell, format!("{said}; {why}"));
        }
    }
}

/// The greatest number of absent keys among `read` keys that this many evictions explain.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts, and a bound of one"
)]
fn explained(evictions: u64, read: u64, stored: u64) -> u64 {
    if evictions == 0 {
        return 0;
    }
    let expected = evictions as f64 * read as f64 / stored.max(read).max(1) as f64;
    // Where all keys were read back, nothing is left to chance.
    let chance = if stored > read { DEVIATIONS * expected.sqrt() + DEVIATIONS } else { 0.0 };
    (expected + chance.max(expected * LATE)) as u64
}

#[cfg(test)]
mod tests {
    use larder_report::{Cell, Operation};

    use super::*;

    /// The finding about `absent` of 20,000 keys that were read back, where 100,000 were stored and `evictions`
    /// evicted.
    fn found(absent: u64, evictions: u64) -> Vec<String> {
        let mut cell = Cell { operation: Operation::Set, rounds: 1, ..Cell::default() };
        cell.counts.ops = 100_000;
        cell.counts.distinct_keys = 100_000;
        cell.counts.evictions = Some(evictions);
        (cell.counts.read_back, cell.counts.read_back_absent) = (20_000, absent);
        let all = super::super::run_all(&Run { cells: vec![cell], ..Run::default() });
        all.into_iter().filter(|found| found.id == "SILENT-DROP").map(|found| found.text).collect()
    }

    #[test]
    fn a_few_evictions_explain_more_of_a_sample_than_are_expected_in_it() {
        assert_eq!(found(4, 10), [""; 0], "two are expected, four are chance");
        assert_eq!(found(2040, 10_000), [""; 0]);
        let said = found(15, 10);
        assert!(said[0].ends_with("; evictions explain 14 of them at most"), "{said:?}");
        assert!(!found(1, 0).is_empty(), "nothing was evicted");
    }

    #[test]
    fn of_keys_that_were_all_read_back_evictions_explain_their_number() {
        assert_eq!([explained(100, 500, 500), explained(0, 500, 500)], [125, 0]);
    }
}
