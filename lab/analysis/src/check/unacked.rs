//! UNACKED: writes that no client waits for.

use larder_report::figures::{count, percent, seconds};
use larder_report::{Cell, Run, Severity};
use larder_store::Durability;

use super::{About, Check, Needs, Report, measured};

pub(super) struct Unacked;

impl Check for Unacked {
    fn about(&self) -> &'static About {
        &About {
            id: "UNACKED",
            severities: &[Severity::Warn],
            sees: "writes that are sent and not acknowledged, and the time that their server needs to finish them",
            seen_in: "A000: a driver that waits for no reply, as in 2011 by default, beside caches that answer each set",
            advice: "have writes acknowledged (w=1), or read the figure as that of a buffer and ask what a refused \
                     write costs",
            needs: Needs::SomeRounds,
            repeats: true,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        let sent = Some(Durability::Unacknowledged.as_str());
        let is_sent = |cell: &Cell| {
            run.target(&cell.target).is_some_and(|target| target.durability.as_deref() == sent)
        };
        let writes = |cell: &Cell| cell.operation.may_store();
        for cell in measured(run).filter(|cell| writes(cell) && is_sent(cell)) {
            report.cell(Severity::Warn, cell, text(cell));
        }
    }
}

/// The facts about the writes of a cell.
fn text(cell: &Cell) -> String {
    let n_writes = cell.counts.ops;
    let timed = cell.samples.iter().filter_map(|sample| Some((sample.barrier_s?, sample.wall_s)));
    let rounds = timed.clone().count();
    let (barrier, wall) =
        timed.fold((0.0, 0.0), |sum, (barrier, wall)| (sum.0 + barrier, sum.1 + wall));
    let closed = if rounds == 0 {
        "the guest's program waits for the last write and does not report the wait".to_owned()
    } else {
        let share = percent(if wall > 0.0 { barrier / wall } else { 0.0 });
        let waited = seconds(barrier);
        format!(
            "after the last, the server needed {waited} more, {share} of the time, to finish them"
        )
    };
    let absent = match (cell.counts.read_back, cell.counts.read_back_absent) {
        (0, _) => "no read-back shows whether the server refused any".to_owned(),
        (read, absent) => format!("{absent} of {} read back were absent", count(read, "value")),
    };
    let writes = count(n_writes, "write");
    format!("none of {writes} was acknowledged; {closed}; {absent}")
}
