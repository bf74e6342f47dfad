//! Whether the rounds of a plan can show any difference: the warning comes before the user waits for them.

use larder_report::figures::count;
use larder_report::rounds_for_verdict;

use super::TargetSlot;
use crate::plan::Plan;

/// The warning where the rounds of a plan are too few for a verdict over its comparisons, however clear the
/// differences are. With `--until` there are as many rounds as are needed.
pub(super) fn few_rounds(plan: &Plan, slots: &[TargetSlot]) -> Option<String> {
    let comparisons = comparisons(plan, slots);
    let rounds = plan.rounds as usize;
    let needed = rounds_for_verdict(rounds, comparisons);
    let is_enough = plan.until.is_some() || comparisons == 0 || needed == rounds;
    (!is_enough).then(|| {
        format!(
            "{} cannot give a verdict over {}; {needed} can: -r {needed}",
            count(rounds, "round"),
            count(comparisons, "comparison")
        )
    })
}

/// The number of pairs of cells that will be compared, as far as it is known before the rounds. Each point and
/// operation has the pairs of targets that keep their entries and have equally many threads or processes.
fn comparisons(plan: &Plan, slots: &[TargetSlot]) -> usize {
    let mut pairs = 0;
    for point in &plan.points {
        let of_point = || slots.iter().filter(|slot| slot.is_measured(point) && slot.stores());
        for phase in point.phases.iter().filter(|phase| phase.measured) {
            let mut workers: Vec<u32> = of_point()
                .filter(|slot| !matches!(slot, TargetSlot::Open(target) if target.lack(phase).is_some()))
                .map(|slot| slot.workers(point))
                .collect();
            workers.sort_unstable();
            let alike = workers.chunk_by(|a, b| a == b).map(<[u32]>::len);
            let of_phase: usize = alike.map(|n| n * (n - 1) / 2).sum();
            pairs += of_phase * phase.operations.len();
        }
    }
    pairs
}
