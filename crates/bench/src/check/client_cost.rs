//! CLIENT-COST: an operation so cheap that the measuring is a good part of it.

use larder_report::{Run, Severity};

use super::{About, Check, Needs, Report, measured};

/// Above this share of an operation, in percent, the cost of the measuring deserves a word.
const NOTICEABLE: f64 = 20.0;

pub(super) struct ClientCost;

impl Check for ClientCost {
    fn about(&self) -> &'static About {
        &About {
            id: "CLIENT-COST",
            sees: "operations of which the measuring itself is more than a fifth",
            seen_in: "A001: the tests add the overhead of a Java VM; A002: a new object and connection each time",
            advice: "subtract the floor before you compare, or trust ratios between such targets less than they look",
            needs: Needs::WholeRun,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        for cell in measured(run) {
            let keeps = run.target(&cell.target).is_some_and(|target| target.stores == Some(true));
            let floor = run
                .floors
                .iter()
                .find(|floor| floor.operation == cell.operation && floor.point == cell.point);
            let (Some(floor), Some(wall_s), true) = (floor, cell.wall_s, keeps) else { continue };
            // Both over all threads, and of a request of many keys a key's part.
            #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
            let each = wall_s * 1e9 / cell.counts.ops as f64;
            let share = floor.ns_per_op / each * 100.0;
            if share > NOTICEABLE {
                let text = format!(
                    "{:.0} ns of {each:.0} ns an operation ({share:.0} %) are the measuring itself",
                    floor.ns_per_op
                );
                report.cell(Severity::Warn, cell, text);
            }
        }
    }
}
