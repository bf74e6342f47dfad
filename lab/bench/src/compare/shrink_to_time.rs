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
use crate::plan::{Plan, PlannedPoint};
use crate::scenario::Scenario;
use larder_workload::{Count, WorkloadSpec};

/// The numbers of keys in the trial turns of each target. The time of a turn grows with the keys, beside a part that is
/// the same for any number: two trials tell the two apart. Few keys show a very slow target. Many keys show the time of
/// an operation once a processor no longer saves power.
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
    catalog: &Catalog,
    permissions: Permissions,
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
    // Each session writes keys of its own.
    let fewest = plan.points.iter().map(PlannedPoint::sessions).max().unwrap_or(0).max(FEWEST_KEYS);
    let (mut fewer, mut cost, mut trials) = (keys, Cost::default(), Vec::new());
    for tried in TRIED_KEYS.into_iter().filter(|tried| *tried >= fewest) {
        // One trial does not show what each key costs.
        if tried >= keys || trials.len() > 1 && tried >= fewer {
            break;
        }
        let tried_plan = with(tried)?;
        memory::begin(&tried_plan)?;
        let slots = provision(&tried_plan, catalog, permissions, &Silent, stop)?;
        let turns = slots.into_iter().map(|slot| time_of_turns(&tried_plan, slot, stop));
        let turns: Duration = turns.sum();
        trials.push((tried, turns));
        cost = Cost::of(&trials);
        let round_s = (within.mul_f64(AIM) / plan.rounds).as_secs_f64();
        fewer = cost.affordable(keys, round_s).max(fewest.min(keys));
    }
    if fewer == keys {
        return Ok(plan);
    }
    let note = format!(
        "{keys} keys would take about {} on this machine, longer than {} (--within): {} measured; `-k {keys}` measures all \
         of them",
        figures::seconds(cost.of_turns(keys) * f64::from(plan.rounds)),
        Span(within),
        if fewer == 1 { "1 key is".to_owned() } else { format!("{fewer} keys are") }
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

/// The seconds that the turns of a round take, as a straight line over the number of keys.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Cost {
    /// For any number of keys.
    fixed: f64,
    per_key: f64,
}

impl Cost {
    /// The line through the last two trials, or through the last one and 0 where the line would fall.
    fn of(trials: &[(u32, Duration)]) -> Self {
        let seconds = |at: usize| {
            let (keys, turns) = trials[trials.len() - at];
            (f64::from(keys), turns.as_secs_f64())
        };
        let (keys, turns) = seconds(1);
        let by_one = Self { fixed: 0.0, per_key: turns / keys };
        if trials.len() < 2 {
            return by_one;
        }
        let (fewer, before) = seconds(2);
        let per_key = (turns - before) / (keys - fewer);
        let fixed = turns - per_key * keys;
        if per_key > 0.0 && fixed > 0.0 { Self { fixed, per_key } } else { by_one }
    }

    /// The seconds of a round's turns with this number of keys.
    fn of_turns(self, keys: u32) -> f64 {
        self.fixed + self.per_key * f64::from(keys)
    }

    /// All keys, or as many as fit into the seconds of a round, rounded down to one digit.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "fewer than the keys, and not negative"
    )]
    fn affordable(self, keys: u32, round_s: f64) -> u32 {
        if self.of_turns(keys) <= round_s {
            return keys;
        }
        let fit = ((round_s - self.fixed).max(0.0) / self.per_key) as u32;
        let digit = 10_u32.pow(fit.max(1).ilog10());
        (fit / digit * digit).max(FEWEST_KEYS).min(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(trials: &[(u32, u64)]) -> Cost {
        let trial = |(keys, ms): &(u32, u64)| (*keys, Duration::from_millis(*ms));
        Cost::of(&trials.iter().map(trial).collect::<Vec<_>>())
    }

    #[test]
    fn two_trials_tell_the_cost_of_a_turn_from_the_cost_of_a_key() {
        assert_eq!(cost(&[(100, 50)]), Cost { fixed: 0.0, per_key: 0.0005 });
        let both = cost(&[(100, 500), (500, 900)]);
        assert!((both.per_key - 0.001).abs() < 1e-9 && (both.fixed - 0.4).abs() < 1e-9, "{both:?}");
        // A second trial that is faster than the first tells nothing of the difference.
        assert_eq!(cost(&[(100, 500), (500, 400)]), cost(&[(500, 400)]));
    }

    #[test]
    fn keys_are_as_many_as_the_time_allows_rounded_down_to_one_digit() {
        let cost = Cost { fixed: 0.4, per_key: 0.001 };
        let fit = [30.0, 20.4, 4.7, 0.9, 0.1].map(|round_s| cost.affordable(20_000, round_s));
        assert_eq!(fit, [20_000, 20_000, 4000, 500, FEWEST_KEYS]);
        assert_eq!(cost.affordable(50, 0.1), 50);
    }
}
