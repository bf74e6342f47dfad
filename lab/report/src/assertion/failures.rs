//! Judges a run by an assertion.

use super::limit::{Limit, THOUSANDS, scaled};
use super::metric::Measured;
use super::{Assertion, Selector};
use crate::findings::said_of;
use crate::model::{Cell, PointValue, Run};
use crate::points::{CAPACITY, label};
use crate::ranking::name;
use larder_store::ByteSize;

/// A cell that fails an assertion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// In one line: the assertion, the cell, and its figure or the reason why it has none.
    pub text: String,
}

/// The error of an assertion that names no cell of a run: one line with the names that exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmatched {
    /// The line.
    pub text: String,
}

/// The check of reads that miss.
const NEVER_HITS: &str = "NEVER-HITS";

impl Assertion {
    /// Judges a run: every cell that the assertion names must meet it, and a cell without a figure does not.
    ///
    /// # Errors
    ///
    /// [`Unmatched`] where the assertion names no cell of the run.
    pub fn judge(&self, run: &Run) -> Result<Vec<Failure>, Unmatched> {
        let cells: Vec<&Cell> =
            run.cells.iter().filter(|cell| self.selector.names(run, cell)).collect();
        if cells.is_empty() {
            return Err(self.unmatched(run));
        }
        Ok(cells.into_iter().filter_map(|cell| self.failure(run, cell)).collect())
    }

    fn failure(&self, run: &Run, cell: &Cell) -> Option<Failure> {
        let target = run.target(&cell.target);
        let found = match self.sound(run, cell) {
            Ok(()) => self.metric.of(cell, target),
            Err(why) => Err(why),
        };
        let cut_off = self.metric.cut_off(cell);
        let said = match found {
            // A figure that is only a lower bound may really lie above any upper limit.
            Ok(figure)
                if self.holds(cell, figure)
                    && (cut_off.is_none() || self.comparator.is_lower()) =>
            {
                return None;
            }
            Ok(figure) => match cut_off {
                Some(why) => format!("{} at least: {why}", self.said(cell, figure)),
                None => self.said(cell, figure),
            },
            Err(why) => format!("there is no figure: {why}"),
        };
        let swept = run.swept();
        let at = label(&cell.point, &swept);
        let at = if at.is_empty() { at } else { format!(" at {at}") };
        let (operation, name) = (cell.operation, name(run, &cell.target));
        let said = said_of(&format!("{operation} of {name}{at}"), &said);
        let text = format!("{self} does not hold: {said}");
        Some(Failure { text })
    }

    /// Whether the figures of a cell are a result.
    fn sound(&self, run: &Run, cell: &Cell) -> Result<(), String> {
        if let Some(reason) = &cell.reason {
            return Err(reason.clone());
        }
        // The finding of a check may be the very subject of the assertion.
        let is_asserted = |id: &str| match self.metric.name {
            "errors" | "wrong" => true,
            "misses" | "hit_ratio" => id == NEVER_HITS,
            _ => false,
        };
        let mut found = run.checks.iter().filter(|check| check.disqualifies(cell));
        match found.find(|check| !is_asserted(&check.id)) {
            Some(check) => Err(format!("the cell is no result: {}: {}", check.id, check.text)),
            None => Ok(()),
        }
    }

    fn holds(&self, cell: &Cell, figure: Measured) -> bool {
        match self.limit {
            Limit::Figure(limit) => self.comparator.holds(figure.value, limit),
            Limit::ShareOfOperations(limit) => self.comparator.holds(share(cell, figure), limit),
        }
    }

    fn said(&self, cell: &Cell, figure: Measured) -> String {
        match self.limit {
            Limit::Figure(_) => format!("{} is {}", self.metric.name, self.metric.as_text(figure)),
            Limit::ShareOfOperations(_) => {
                let share = crate::figures::percent(share(cell, figure));
                format!("{} are {:.0}, {share} of the operations", self.metric.name, figure.value)
            }
        }
    }

    fn unmatched(&self, run: &Run) -> Unmatched {
        let mut operations: Vec<&str> = Vec::new();
        let mut targets: Vec<&str> = Vec::new();
        let mut places: Vec<String> = Vec::new();
        for cell in &run.cells {
            operations.push(cell.operation.as_str());
            targets.push(name(run, &cell.target));
            places.extend(cell.point.iter().map(|(name, value)| format!("{name}={value}")));
        }
        for known in [&mut operations, &mut targets] {
            known.sort_unstable();
            known.dedup();
        }
        places.sort_unstable();
        places.dedup();
        let text = format!(
            "--assert '{self}' names no cell of this run; the run has the operations {}, the targets {} and the \
             coordinates {}",
            operations.join(", "),
            targets.join(", "),
            if places.is_empty() { "none".to_owned() } else { places.join(", ") }
        );
        Unmatched { text }
    }
}

/// Some of the operations as a share of all.
#[expect(clippy::cast_precision_loss, reason = "a share to be compared with one of few digits")]
fn share(cell: &Cell, figure: Measured) -> f64 {
    if cell.counts.ops == 0 { 0.0 } else { figure.value / cell.counts.ops as f64 }
}

impl Selector {
    /// Whether a cell matches every part of the selector.
    fn names(&self, run: &Run, cell: &Cell) -> bool {
        let of_target =
            |wanted: &String| cell.target == *wanted || name(run, &cell.target) == wanted.as_str();
        let is_there = |(name, wanted): &(String, String)| {
            cell.point.get(name).is_some_and(|value| is_value(name, value, wanted, cell))
        };
        self.operation.is_none_or(|operation| operation == cell.operation)
            && self.target.as_ref().is_none_or(of_target)
            && self.at.iter().all(is_there)
    }
}

/// Whether a coordinate has this value, in the form of its flag.
fn is_value(name: &str, value: &PointValue, wanted: &str, cell: &Cell) -> bool {
    let number = match value {
        PointValue::Number(number) => *number,
        PointValue::Text(text) => return text == wanted,
    };
    if name == CAPACITY
        && let Some(percent) = wanted.strip_suffix('%')
    {
        return percent.trim().parse().is_ok_and(|percent: f64| {
            #[expect(
                clippy::cast_precision_loss,
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share of a number of bytes"
            )]
            let bytes = (cell.working_set_bytes as f64 * percent / 100.0).round() as u64;
            cell.working_set_bytes > 0 && bytes.max(1) == number
        });
    }
    if name == CAPACITY || name.ends_with("_size") {
        return wanted.parse() == Ok(ByteSize(number));
    }
    #[expect(clippy::cast_precision_loss, reason = "a number that was typed")]
    let number = number as f64;
    scaled(wanted, &THOUSANDS) == Some(number)
}
