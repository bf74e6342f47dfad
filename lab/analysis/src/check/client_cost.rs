//! CLIENT-COST: an operation so cheap that the measuring is a good part of it.

use larder_report::figures::{nanoseconds, percent};
use larder_report::{Run, Severity, floor_share, operation_ns};

use super::{About, Check, Needs, Report, measured};

/// Above this share of an operation the cost of the measuring is worth a warning.
const NOTICEABLE: f64 = 0.2;

pub(super) struct ClientCost;

impl Check for ClientCost {
    fn about(&self) -> &'static About {
        &About {
            id: "CLIENT-COST",
            severities: &[Severity::Warn],
            sees: "operations in which the measuring itself takes more than a fifth of the time",
            seen_in: "A001: the tests add the overhead of a Java VM; A002: a new object and connection for each \
                      operation",
            advice: "expect larger ratios between such targets than the measured ones; trust no ratio where the \
                     measuring takes nearly all the time",
            needs: Needs::WholeRun,
            repeats: false,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        for cell in measured(run) {
            // The server works on other requests while the client measures: the times do not add up.
            if cell.driven.is_some() && cell.under_way() > u64::from(cell.workers) {
                continue;
            }
            let keeps = run.target(&cell.target).is_some_and(|target| target.stores == Some(true));
            let share = floor_share(run, cell).filter(|share| keeps && *share > NOTICEABLE);
            let (Some(share), Some(each)) = (share, operation_ns(cell)) else { continue };
            let (measuring, whole) = (nanoseconds(share * each), nanoseconds(each));
            let text = if share < 1.0 {
                let share = percent(share);
                format!("the measuring itself takes {measuring} of {whole} an operation ({share})")
            } else {
                format!("the measuring itself takes {measuring}, as much as an operation ({whole})")
            };
            report.cell(Severity::Warn, cell, text);
        }
    }
}
