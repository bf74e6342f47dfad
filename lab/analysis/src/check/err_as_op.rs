//! ERR-AS-OP: operations that failed and would have counted as fast ones.

use larder_report::figures::count;
use larder_report::{COMERS_FAILED, Cell, OVERWRITES_FAILED, Run, Severity};

use super::{About, Check, Needs, Report, example, lacks_room, measured, percent};

/// Above this share of failures, in percent, a rate is not a result.
const TOLERABLE: f64 = 0.1;

pub(super) struct ErrAsOp;

impl Check for ErrAsOp {
    fn about(&self) -> &'static About {
        &About {
            id: "ERR-AS-OP",
            severities: &[Severity::Error, Severity::Warn, Severity::Note],
            sees: "failed operations, which rates and latencies leave out, and new connections that failed",
            seen_in: "A000: refused writes counted as 0 ms; A004's tool ignores the reply to a set",
            advice: "mend the cause of the store's errors, then measure again",
            needs: Needs::SomeRounds,
            repeats: true,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        new_connections(run, report);
        for cell in measured(run) {
            let (again, failed) = (cell.counts.overwritten, cell.counts.overwrites_failed);
            if failed > 0 {
                let all = again + failed;
                let text = format!(
                    "after the rounds, {failed} of {all} existing keys could not be set again{}",
                    example(cell, OVERWRITES_FAILED)
                );
                // A store without room refuses a set where another store would evict.
                let is_full = lacks_room(run, cell);
                let severity =
                    if is_full { Severity::Note } else { severity(percent(failed, all)) };
                report.cell(severity, cell, text);
            }
            let failures = cell.counts.errors + cell.counts.failed_fills;
            if failures == 0 {
                continue;
            }
            let share = percent(failures, cell.counts.ops);
            let mut kinds: Vec<String> = Vec::new();
            for kind in cell.samples.iter().flat_map(|sample| sample.errors_by_kind.keys()) {
                if !kinds.contains(kind) {
                    kinds.push(kind.clone());
                }
            }
            let first = cell.samples.iter().find_map(|sample| sample.first_error.as_ref());
            let first = first.map_or_else(String::new, |first| format!(", the first: {first}"));
            let lost = match cell.counts.lost {
                0 => String::new(),
                lost => format!("; of {lost} it is not known whether they were carried out"),
            };
            let text = format!(
                "{failures} of {} failed ({}): {}{lost}{first}",
                count(cell.counts.ops, "operation"),
                shown(share),
                kinds.join(", ")
            );
            report.cell(severity(share), cell, text);
        }
    }
}

/// Reports connections that came while others were measured, and failed. They are in no rate of an operation.
fn new_connections(run: &Run, report: &mut Report<'_>) {
    let mut told: Vec<&Cell> = Vec::new();
    for cell in measured(run) {
        let Some(comers) = cell.comers.filter(|comers| comers.failed > 0) else { continue };
        // The operations of a mix were measured beside the same connections.
        let is_same = |other: &&Cell| {
            (&other.target, &other.point, other.comers) == (&cell.target, &cell.point, cell.comers)
        };
        if told.iter().any(is_same) {
            continue;
        }
        told.push(cell);
        let text = format!(
            "{} of {} that came ({}) were refused or had no right answer{}",
            comers.failed,
            count(comers.begun, "connection"),
            shown(percent(comers.failed, comers.begun)),
            example(cell, COMERS_FAILED)
        );
        report.cell(Severity::Warn, cell, text);
    }
}

/// The severity of a share of failures, in percent.
fn severity(share: f64) -> Severity {
    if share > TOLERABLE { Severity::Error } else { Severity::Note }
}

/// A share in percent; a share above zero never reads as 0.
fn shown(share: f64) -> String {
    const SMALLEST: f64 = 0.01;
    if share < SMALLEST { "below 0.01 %".to_owned() } else { format!("{share:.2} %") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_that_is_not_zero_never_reads_as_zero() {
        assert_eq!(shown(percent(1, 180_000)), "below 0.01 %");
        assert_eq!(shown(percent(1, 10_000)), "0.01 %");
        assert_eq!(shown(percent(1, 50)), "2.00 %");
    }
}
