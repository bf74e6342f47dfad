//! Fewer keys where the rounds would take longer than they may: a plan is tried for a moment before it is carried out.
//!
//! What a machine takes for one operation differs by a factor of a hundred: a file system may need a microsecond for a file, or a
//! millisecond. Every target gets the same keys, so that the comparison stays one of like with like.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use larder_report::figures;
use larder_store::{Catalog, Span};

use super::estimate::time_of;
use super::{Permissions, Slot, provision};
use crate::error::Result;
use crate::memory;
use crate::observer::{Event, Observer};
use crate::plan::Plan;
use crate::scenario::Scenario;
use crate::workload::{Count, WorkloadSpec};

/// Time of a trial, a phase: a tenth of a second for each target of a plan that sets and gets.
const TRIAL: Duration = Duration::from_millis(50);
/// Fewer keys than this are not taken: rounds of less would be too short to say anything.
const FEWEST_KEYS: u32 = 500;

/// The plan, or the same with fewer keys where its rounds would take longer on this machine than its `within` allows. A note
/// of the new plan and an event say so. Nothing is tried on servers that Larder did not start, and nothing is left behind.
pub fn fit(
    plan: Plan,
    scenario: &Scenario,
    typed: bool,
    (catalog, permissions): (&Catalog, Permissions),
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Result<Plan> {
    let (Some(within), Some(keys), None) = (plan.within, plan.keys(), &plan.slice) else {
        return Ok(plan);
    };
    memory::begin(&plan)?;
    let mut time = Duration::ZERO;
    for slot in provision(&plan, catalog, permissions, observer, stop)? {
        if let Slot::Open(mut target) = slot {
            time += time_of(&plan, &mut target, TRIAL, stop).unwrap_or_default();
        }
    }
    let fewer = fewer_keys(keys, time, within);
    if fewer == keys {
        return Ok(plan);
    }
    let note = format!(
        "{keys} keys would take about {} on this machine, longer than --within {}: {fewer} keys are measured; `-k {keys}` measures \
         all of them",
        figures::seconds(time.as_secs_f64()),
        Span(within)
    );
    observer.notice(Event::FewerKeys { text: &note });
    let spec = WorkloadSpec { keys: Some(Count(fewer).into()), ..WorkloadSpec::default() };
    let mut plan = Plan::new(&scenario.clone().with_workload(&spec), typed, catalog)?;
    plan.notes.push(note);
    Ok(plan)
}

/// So many keys, rounded down to one digit, as take the time that there is.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "fewer than the keys, and not negative"
)]
fn fewer_keys(keys: u32, time: Duration, within: Duration) -> u32 {
    if time <= within {
        return keys;
    }
    let fit = (f64::from(keys) * within.as_secs_f64() / time.as_secs_f64()) as u32;
    let digit = 10_u32.pow(fit.max(1).ilog10());
    (fit / digit * digit).max(FEWEST_KEYS).min(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_as_many_as_the_time_allows_rounded_down_to_one_digit() {
        let of = |time_s, within_s| {
            fewer_keys(20_000, Duration::from_secs(time_s), Duration::from_secs(within_s))
        };
        assert_eq!([of(40, 45), of(45, 45), of(195, 45)], [20_000, 20_000, 4000]);
        assert_eq!([of(46, 45), of(100_000, 45)], [10_000, FEWEST_KEYS]);
        assert_eq!(fewer_keys(100, Duration::from_secs(100), Duration::from_secs(1)), 100);
    }
}
