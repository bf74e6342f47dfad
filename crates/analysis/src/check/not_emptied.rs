//! NOT-EMPTIED: keys that are still there after the store has said that it removed them.

use larder_report::{NOT_EMPTIED, NOT_LOOKED_FOR, Operation, Run, Severity};

use super::{About, Check, Needs, Report, at_point_of, example, measured};

pub(super) struct NotEmptied;

impl Check for NotEmptied {
    fn about(&self) -> &'static About {
        &About {
            id: "NOT-EMPTIED",
            severities: &[Severity::Error, Severity::Note],
            sees: "keys of the run that are still there after the emptying at the end of a turn, or there again before the next",
            seen_in: "none of the articles: each ran on what the one before had left",
            advice: "find out why deletes, or a clear, are acknowledged and not carried out; on a server of yours, remove the keys \
                     that begin as the example does",
            needs: Needs::SomeRounds,
            repeats: true,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        for cell in measured(run) {
            let (checked, left) = (cell.counts.emptied_checked, cell.counts.emptied_left);
            if left > 0 {
                let text = format!(
                    "{left} of {checked} keys of this run that were looked for are there after the store had said that it removed \
                     them{}",
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
                let text =
                    format!("whether keys of this run are still there is not known: {error}");
                report.cell(Severity::Note, cell, text);
            }
        }
    }
}
