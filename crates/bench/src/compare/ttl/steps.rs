//! Recorded TTLs on a scaled clock, and stores whose clock has steps.

use std::time::Duration;

use larder_report::figures::count;
use larder_store::Span;

use super::super::TargetSlot;
use crate::plan::{Plan, PlannedPoint};

/// For each target whose clock has steps: the number of recorded TTLs that it cannot keep exactly.
pub(in super::super) fn notes(plan: &Plan, slots: &[TargetSlot]) -> Vec<String> {
    let open = slots.iter().filter_map(|slot| match slot {
        TargetSlot::Open(target) => Some(target),
        TargetSlot::Closed(..) => None,
    });
    let note = |name: &str, step: Duration| {
        let points = plan.points.iter().filter(|point| point.replays_ttls());
        let (all, rounded) = points.flat_map(PlannedPoint::ttls).fold((0, 0), |(all, not), ttl| {
            let is_rounded = !ttl.as_millis().is_multiple_of(step.as_millis().max(1));
            (all + 1, not + u64::from(is_rounded))
        });
        (rounded > 0).then(|| {
            format!(
                "{name} counts TTLs in steps of {}: {rounded} of {} on the clock of the replay are no whole steps, and \
                 the entries live up to a step longer",
                Span(step),
                count(all, "recorded TTL"),
            )
        })
    };
    let stepped = open.filter(|target| target.counts_ttls());
    let mut notes: Vec<String> = stepped
        .filter_map(|target| note(&target.planned.name, target.capabilities.ttl_resolution))
        .collect();
    notes.dedup();
    notes
}
