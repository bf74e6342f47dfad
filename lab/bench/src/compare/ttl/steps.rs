//! Recorded TTLs on a scaled clock, and stores whose clock has steps.

use std::fmt::Write;
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
        let ttls = Ttls::in_steps(step, points.flat_map(PlannedPoint::ttls));
        (ttls.rounded > 0).then(|| ttls.note(name, step))
    };
    let stepped = open.filter(|target| target.counts_ttls());
    let mut notes: Vec<String> = stepped
        .filter_map(|target| note(&target.planned.name, target.capabilities.ttl_resolution))
        .collect();
    notes.dedup();
    notes
}

/// TTLs on the clock of a replay, and a store's clock with steps.
struct Ttls {
    all: usize,
    /// Those that are no whole steps.
    rounded: usize,
    shortest: Duration,
}

impl Ttls {
    fn in_steps(step: Duration, ttls: impl Iterator<Item = Duration>) -> Self {
        let mut found = Self { all: 0, rounded: 0, shortest: Duration::MAX };
        for ttl in ttls {
            let is_rounded = !ttl.as_millis().is_multiple_of(step.as_millis().max(1));
            found.all += 1;
            found.rounded += usize::from(is_rounded);
            found.shortest = found.shortest.min(ttl);
        }
        found
    }

    fn note(&self, name: &str, step: Duration) -> String {
        let mut note = format!(
            "{name} counts TTLs in steps of {}: {} of {} on the clock of the replay are no whole steps, and the entries \
             live up to a step longer",
            Span(step),
            self.rounded,
            count(self.all, "recorded TTL"),
        );
        if self.shortest < step {
            let times = step.as_nanos().div_ceil(self.shortest.as_nanos().max(1));
            let _ = write!(
                note,
                "; the shortest is {}, so reads hit there that miss by the recorded TTLs: --replay at a speed {times} \
                 times lower, or less, gives each TTL a step",
                Span(self.shortest),
            );
        }
        note
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ttl_that_is_shorter_than_a_step_is_told_with_the_speed_that_keeps_it() {
        let told = |ttls_ms: &[u64]| {
            let step = Duration::from_secs(1);
            Ttls::in_steps(step, ttls_ms.iter().map(|ms| Duration::from_millis(*ms)))
                .note("memcached:", step)
        };
        let steps = "memcached: counts TTLs in steps of 1s: 2 of 3 recorded TTLs on the clock of the replay are no whole \
                     steps, and the entries live up to a step longer";
        assert_eq!(told(&[3000, 1500, 2500]), steps);
        assert_eq!(
            told(&[3000, 150, 2500]),
            format!(
                "{steps}; the shortest is 150ms, so reads hit there that miss by the recorded TTLs: --replay at a speed 7 \
                 times lower, or less, gives each TTL a step"
            )
        );
    }
}
