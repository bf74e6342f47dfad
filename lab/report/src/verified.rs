//! The fate of the values that a run read: right, wrong, lost or missed.

use crate::model::{Cell, Run};

/// The check of absent values without an explanation.
const SILENT_DROP: &str = "SILENT-DROP";

/// Values that were read and compared, and missing values, of all targets that keep their values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Verified {
    /// Answers that were right, in the measured rounds and in the read-back after them.
    pub(crate) right: u64,
    /// Reads that returned anything other than the stored value, in both.
    pub(crate) wrong: u64,
    /// Acknowledged values that the read-back did not find, without an eviction that explains it.
    pub(crate) lost: u64,
    /// Reads that missed where the plan had not deleted the key.
    pub(crate) missed: u64,
}

/// Whether the target of a cell keeps its values, or it is unknown.
pub(crate) fn keeps(run: &Run, cell: &Cell) -> bool {
    run.target(&cell.target).and_then(|of| of.stores) != Some(false)
}

/// Adds up the outcomes of all values of a run.
pub(crate) fn verified(run: &Run) -> Verified {
    let is_lost = |cell: &Cell| {
        let mut named = run.checks.iter().filter(|check| check.id == SILENT_DROP);
        named.any(|check| check.disqualifies(cell) && check.operation == Some(cell.operation))
    };
    let mut all = Verified::default();
    for cell in run.cells.iter().filter(|cell| keeps(run, cell)) {
        let counts = &cell.counts;
        all.right += counts.right();
        all.wrong += counts.wrong + counts.read_back_wrong;
        all.lost += if is_lost(cell) { counts.read_back_absent } else { 0 };
        all.missed += if cell.operation.reads() { counts.unplanned_misses() } else { 0 };
    }
    all
}

impl Verified {
    /// Whether no value was wrong or lost.
    pub(crate) fn is_clean(&self) -> bool {
        self.wrong == 0 && self.lost == 0
    }

    /// The counts in a line: `35091 right, 0 wrong, 921 lost, 909 missed`. `None` where nothing was read.
    pub(crate) fn as_clause(&self) -> Option<String> {
        let Self { right, wrong, lost, missed } = *self;
        (right + wrong + lost + missed > 0)
            .then(|| format!("{right} right, {wrong} wrong, {lost} lost, {missed} missed"))
    }
}
