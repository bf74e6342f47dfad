//! Replays that count, and targets that cannot.

use super::TargetSlot;
use crate::plan::{Plan, PlannedPoint};

/// For each target that cannot count: how it replays a recording that does.
pub(super) fn notes(plan: &Plan, slots: &[TargetSlot]) -> Vec<String> {
    if plan.points.iter().map(PlannedPoint::n_counters).all(|counters| counters == 0) {
        return Vec::new();
    }
    let lacking = slots.iter().filter_map(|slot| match slot {
        TargetSlot::Open(target) if !target.capabilities.incr => Some(&target.planned.name),
        _ => None,
    });
    let note = |name: &String| {
        format!(
            "{name} cannot count: there each incr and decr stores another number in place of the one before, as a replace \
             does"
        )
    };
    let mut notes: Vec<String> = lacking.map(note).collect();
    notes.dedup();
    notes
}
