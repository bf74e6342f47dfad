//! Fewer keys where the rounds would take longer than they may: trial turns of each target with few keys show how
//! long.
//!
//! The time of one operation differs between machines by a factor of a hundred. A file system may need a microsecond
//! for a file, or a millisecond. Every target gets the same keys, so that the comparison stays one of like with like.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use larder_report::figures;
use larder_store::{Catalog, Span};

use super::turn::{Amount, Pacing, Turn};
use super::{Permissions, TargetSlot, provision};
use crate::error::Result;
use crate::memory;
use crate::observer::{Event, Observer, Silent};
use crate::plan::Plan;
use crate::scenario::Scenario;
use larder_workload::{Count, WorkloadSpec};

/// The numbers of keys in the trial turns of each target. A turn does all its work for each key, so its time grows
/// with the keys. Few keys show a very slow target. Many keys show the time of an operation once a processor no longer
/// saves power.
const TRIED_KEYS: [u32; 3] = [FEWEST_KEYS, 500, 4000];
/// The share of the time that the turns may fill, by the trials. Trials and floor take some of it, and a turn among
/// others takes up to half as long again as a trial. No machine is equally fast all the time.
const AIM: f64 = 0.45;
/// The fewest keys that are taken: shorter rounds would show nothing.
const FEWEST_KEYS: u32 = 100;

/// The plan, or the same plan with fewer keys where its rounds would take longer on this machine than its `within`
/// allows. A note of the new plan and an event report that. Nothing is tried on servers that Larder did not start, and
/// nothing is left behind.
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
    let with = |keys| {
        let spec = WorkloadSpec { keys: Some(Count(keys).into()), ..WorkloadSpec::default() };
        Plan::new(&scenario.clone().with_workload(&spec), typed, catalog)
    };
    observer.notice(Event::Fitting);
    let (mut fewer, mut time) = (keys, Duration::ZERO);
    for tried in TRIED_KEYS {
        if tried >= fewer {
            break;
        }
        let tried_plan = with(tried)?;
        memory::begin(&tried_plan)?;
        let slots = provision(&tried_plan, catalog, permissions, &Silent, stop)?;
        let turns = slots.into_iter().map(|slot| time_of_turns(&tried_plan, slot, stop));
        let turns: Duration = turns.sum();
        time = turns.mul_f64(f64::from(keys) / f64::from(tried)) * plan.rounds;
        fewer = fewer_keys(keys, time, within.mul_f64(AIM));
    }
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
    let mut plan = with(fewer)?;
    plan.notes.push(note);
    Ok(plan)
}

/// The time of a turn of a target at each point that is measured on it.
fn time_of_turns(plan: &Plan, slot: TargetSlot, stop: &AtomicBool) -> Duration {
    let TargetSlot::Open(mut target) = slot else { return Duration::ZERO };
    if target.planned.is_external() {
        return Duration::ZERO;
    }
    let clock = Instant::now();
    let planned = target.planned.clone();
    for (number, point) in (0..).zip(plan.points_of(&planned)) {
        let turn = Turn {
            point,
            round: 1,
            number,
            position: 1,
            seed: plan.seed,
            amount: Amount::Whole,
            pacing: Pacing::Planned,
            clock,
            stop,
        };
        turn.run(&mut target, &mut |_| ());
    }
    clock.elapsed()
}

/// As many keys as fit into the time, rounded down to one digit.
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
