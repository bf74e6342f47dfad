//! Trials of TTLs, outside of all timed work: whether expired keys are gone, and other keys are there.
//!
//! TTLs are tried only where the workload gives one, so that no other run waits for a trial. All targets are tried at
//! once, and the floor is measured while their keys age. So a run waits no longer than its coarsest clock makes it.

mod kind;
mod ladder;
mod steps;
mod trial;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::TargetSlot;
use crate::plan::{Plan, PlannedPoint, PlannedTarget};
use crate::target::Target;
use trial::Trial;

pub(super) use steps::notes;

/// The least TTL that is tried, whatever finer steps a target knows: this much time can pass between two calls on a busy
/// machine.
const SHORTEST: Duration = Duration::from_millis(100);
/// A trial that would wait longer than this is left out: a stack whose local tier keeps its copies for ten seconds.
const MOST: Duration = Duration::from_secs(5);
/// The time between two checks for a stop of the run.
const NAP: Duration = Duration::from_millis(20);

/// The trials of a run: keys that were set with a TTL, and the sessions that ask for them again.
pub(super) struct Trials(Vec<Trial>);

/// Sets a flag when it is dropped, also in a panic.
struct SetAtEnd<'a>(&'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Trials {
    /// Sets the keys of every target whose TTLs are used and can be tried. A target that fails here is not tried: the
    /// rounds show why.
    pub(super) fn begin(plan: &Plan, slots: &mut [TargetSlot], stop: &AtomicBool) -> Self {
        let mut trials = Vec::new();
        for (number, slot) in slots.iter_mut().enumerate() {
            if let Some(target) = slot.open_mut()
                && uses_ttl(plan, &target.planned)
                && target.capabilities.stores
                && target.capabilities.ttl
                && least_time(target) <= MOST
                && !stop.load(Ordering::Relaxed)
            {
                trials.extend(Trial::begin(plan, target, number));
            }
        }
        Self(trials)
    }

    /// Does other work while the keys age, and meanwhile reads the keys that must expire although they are read.
    pub(super) fn age_during<T>(&mut self, work: impl FnOnce() -> T) -> T {
        if self.0.is_empty() {
            return work();
        }
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    self.0.iter_mut().for_each(Trial::read_on);
                    thread::sleep(NAP);
                }
            });
            let _over = SetAtEnd(&is_over);
            work()
        })
    }

    /// Asks for the keys as soon as all of them have been set for long enough, and removes them. A target with late
    /// keys is asked once more, because its clock may have been held up.
    pub(super) fn end(mut self, slots: &mut [TargetSlot], stop: &AtomicBool) {
        if self.wait(1, stop) {
            self.0.iter_mut().for_each(Trial::ask);
            if self.wait(2, stop) {
                self.0.iter_mut().filter(|trial| trial.is_late()).for_each(Trial::ask_again);
            }
        }
        for trial in self.0 {
            if let Some(target) = slots[trial.slot].open_mut() {
                target.ttl = trial.judged(target);
                drop(trial);
                target.rest();
            }
        }
    }

    /// Waits until the keys of unfinished trials have been set for `times` as long as they need; `false` when the run
    /// must stop.
    fn wait(&mut self, times: u32, stop: &AtomicBool) -> bool {
        let open = self.0.iter().filter(|trial| trial.found.is_none() || trial.is_late());
        let ends = open.map(|trial| trial.set + trial.time * times).max();
        while let Some(left) = ends.and_then(|end| end.checked_duration_since(Instant::now())) {
            if stop.load(Ordering::Relaxed) {
                return false;
            }
            self.0.iter_mut().for_each(Trial::read_on);
            thread::sleep(left.min(NAP));
        }
        !stop.load(Ordering::Relaxed)
    }
}

/// Whether entries on a target have a TTL.
fn uses_ttl(plan: &Plan, target: &PlannedTarget) -> bool {
    plan.points_of(target).any(PlannedPoint::has_ttls)
}

/// The TTL that is tried: the shortest that a target can tell from no TTL.
fn short(target: &Target) -> Duration {
    target.capabilities.ttl_resolution.max(SHORTEST)
}

/// The time after which the keys with the short TTL are gone for certain.
fn least_time(target: &Target) -> Duration {
    target.gone_after(short(target))
}

impl Target {
    /// Whether entries with a TTL end.
    pub(super) fn counts_ttls(&self) -> bool {
        self.capabilities.ttl && self.capabilities.stores
    }

    /// The time after which a key with a TTL is gone for certain: the TTL, a step of the store's clock, and some
    /// patience.
    pub(super) fn gone_after(&self, ttl: Duration) -> Duration {
        let step = self.capabilities.ttl_resolution;
        ttl.saturating_add(step + (step / 4).max(SHORTEST))
    }
}

/// The time after which the ladder can be asked, too. By then a rung is short of its end, and past it by a clock that
/// runs twice as fast. `None` where that is longer than a run waits.
fn time_of_ladder(target: &Target) -> Option<Duration> {
    let time = least_time(target).max(short(target) * 15 / 4);
    (time <= MOST).then_some(time)
}
