//! HIDDEN-WORK: operations that each take several requests, and work that is deferred to the turns of other targets.

use larder_report::{Cell, Operation, Run, Severity};

use super::{About, Check, Needs, Report, measured};

/// More requests for each operation than this are not chance, such as a reconnect or a key that was forwarded.
const TOLERABLE: f64 = 1.05;

/// An idle server needs less than this much of a processor while other targets have their turns.
const BUSY: f64 = 0.1;
/// This much of a processor is normal for an idle server: timers, connections and cleaning up.
const IDLE: f64 = 0.02;
/// This much CPU time, in seconds, is no longer chance.
const LEAST_CPU_S: f64 = 0.5;

pub(super) struct HiddenWork;

impl Check for HiddenWork {
    fn about(&self) -> &'static About {
        &About {
            id: "HIDDEN-WORK",
            severities: &[Severity::Warn, Severity::Note],
            sees: "more requests to servers, or statements, than operations: an adapter that does extra work; \
                   servers that work during the turns of other targets",
            seen_in: "YCSB's adapter for Redis, which also adds the key to a sorted set at each insert; A003: each \
                      write to two tiers",
            advice: "compare with targets that do as much work, or leave out the work that the application would not \
                     do; measure a store that defers work in a run of its own, long enough to include that work",
            needs: Needs::SomeRounds,
            repeats: true,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        for target in &run.targets {
            let (Some(cpu), Some(turns)) =
                (target.other_turns_server_cpu_s, target.other_turns_wall_s)
            else {
                continue;
            };
            // Deferred work does not grow with the number of other targets, so it is compared with the target's own
            // turns.
            let own = target.own_turns_wall_s.unwrap_or(turns).min(turns);
            if cpu > LEAST_CPU_S && cpu > own * (BUSY - IDLE) + turns * IDLE {
                let others = match target.ownership.as_deref() {
                    Some("external") => ", unless other clients caused it,",
                    _ => "",
                };
                let text = format!(
                    "its servers used {cpu:.1} s of CPU time in the {turns:.1} s of other targets' turns: its own \
                     figures leave out this work{others} and it may have slowed down the other targets"
                );
                report.target(Severity::Warn, target, text);
            }
        }
        for cell in measured(run) {
            let (Some(requests), Some(due)) = (cell.counts.wire_requests, due(run, cell)) else {
                continue;
            };
            // Connections that come and go ask for a value each.
            let requests = requests.saturating_sub(cell.comers.map_or(0, |comers| comers.begun));
            #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
            let each = requests as f64 / due.max(1) as f64;
            if each > TOLERABLE {
                let what = match cell.operation {
                    Operation::GetOrSet => "a get, or a set after a miss,".to_owned(),
                    operation => format!("a {}", operation.as_str().replace('_', " ")),
                };
                let text = format!("{what} takes {each:.1} requests: {requests} for {due}");
                report.cell(Severity::Note, cell, text);
            }
        }
    }
}

/// The expected number of requests for the operations of a cell; `None` where it cannot be known.
fn due(run: &Run, cell: &Cell) -> Option<u64> {
    let counts = &cell.counts;
    match cell.operation {
        // A set followed every miss.
        Operation::GetOrSet => Some(counts.ops + counts.misses),
        // Each node of a pool has its share of the keys.
        Operation::GetMany => {
            let keys: u64 = run.workload.get("multiget")?.parse().ok().filter(|keys| *keys > 0)?;
            let settings = run.target(&cell.target)?.settings.get("nodes");
            let nodes = settings.map_or(1, |nodes| nodes.split(',').count() as u64);
            Some(counts.ops.div_ceil(keys) * nodes.min(keys))
        }
        // A part of a plan may set another number of keys for each group.
        // A batch of sets may be several statements of one transaction.
        Operation::GetTag | Operation::SetMany => None,
        _ => Some(counts.ops),
    }
}
