//! NOT-EMPTIED: keys that are still there after the store has said that it removed them.

use larder_report::{NOT_EMPTIED, NOT_LOOKED_FOR, Operation, Run, Severity};

use super::{About, Check, Needs, Report, at_point_of, example, measured};

pub(super) struct NotEmptied;

impl Check for NotEmptied {
    fn about(&self) -> &'static About {
        &About {
            id: "NOT-EMPTIED",
            severities: &[Severity::Error, Severity::Note],
            sees: "keys of the run that still exist after the store was emptied at the end of a turn, or that exist \
                   again before the next turn",
            seen_in: "none of the articles: each measurement ran on the data that the one before had left",
            advice: "find out why the store acknowledges deletes, or a clear, and does not carry them out; on your \
                     own server, remove the keys with the example's prefix",
            needs: Needs::SomeRounds,
            repeats: true,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        for cell in measured(run) {
            let (checked, left) = (cell.counts.emptied_checked, cell.counts.emptied_left);
            if left > 0 {
                let text = format!(
                    "{left} of {checked} checked keys of this run exist after the store acknowledged their removal{}",
                    example(cell, NOT_EMPTIED)
                );
                // On a server that Larder did not start, keys are removed by deletes.
                let target = run.target(&cell.target);
                let by_deletes =
                    target.is_some_and(|target| target.ownership.as_deref() == Some("external"));
                let mut others = at_point_of(run, cell);
                let deletes = others.find(|it| {
                    by_deletes
                        && it.operation == Operation::Delete
                        && it.operation != cell.operation
                });
                if let Some(deletes) = deletes {
                    report.cell(Severity::Error, deletes, text.clone());
                }
                report.stored(Severity::Error, cell, text);
            }
            if let Some(error) = cell.wrong_examples.get(NOT_LOOKED_FOR) {
                let text = format!("no check shows whether keys of this run still exist: {error}");
                report.cell(Severity::Note, cell, text);
            }
        }
    }
}
