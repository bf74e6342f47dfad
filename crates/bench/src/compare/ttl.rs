//! TTLs tried, outside of all timed work: whether what should have expired is gone, and what should not is there.
//!
//! It is tried where the workload gives a TTL: what uses none needs none, and nobody waits for it. All targets are tried at
//! once, and while their keys age the floor is measured, so that a run waits no longer than its coarsest clock makes it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use larder_report::TtlTrial;
use larder_store::{Result, Session, SetOptions, SetOutcome};

use super::Slot;
use crate::plan::{Plan, PlannedTarget};
use crate::target::Target;

/// So many keys of either kind.
const KEYS: usize = 8;
/// The least TTL that is tried, whatever finer steps a target knows: so much can pass between two calls on a busy machine.
const SHORTEST: Duration = Duration::from_millis(100);
/// A TTL that has not passed when the short one has.
const LASTING: Duration = Duration::from_mins(1);
/// What is to be waited for longer than this is not tried: a stack whose local tier keeps its copies for ten seconds.
const MOST: Duration = Duration::from_secs(5);
/// Between two looks at whether the run is to stop.
const NAP: Duration = Duration::from_millis(20);

/// The keys of a run that were set with a TTL, and by whom they are asked for again.
pub(super) struct Trials(Vec<Trial>);

struct Trial {
    /// The place of its target.
    slot: usize,
    session: Box<dyn Session>,
    ttl: Duration,
    resolution: Duration,
    /// After so long a key is gone for certain.
    time: Duration,
    /// Keys with that TTL.
    mortal: Vec<Vec<u8>>,
    /// Keys with one that lasts.
    lasting: Vec<Vec<u8>>,
    /// When the last of them was acknowledged.
    set: Instant,
    evictions: Option<u64>,
    /// `None` until it was asked, and where that failed: the rounds will tell why.
    found: Option<Found>,
}

/// What was asked for, and was there.
#[derive(Debug, Clone, Copy)]
struct Found {
    after: Duration,
    mortal: usize,
    lasting: usize,
}

impl Trials {
    /// Sets the keys of every target whose TTLs are used and can be tried. One that fails is not tried: the rounds will tell.
    pub(super) fn begin(plan: &Plan, slots: &mut [Slot], stop: &AtomicBool) -> Self {
        let mut trials = Vec::new();
        for (number, slot) in slots.iter_mut().enumerate() {
            if let Some(target) = slot.open_mut()
                && uses_ttl(plan, &target.planned)
                && target.capabilities.stores
                && target.capabilities.ttl
                && time(target) <= MOST
                && !stop.load(Ordering::Relaxed)
            {
                trials.extend(Trial::begin(plan, target, number));
            }
        }
        Self(trials)
    }

    /// Asks for the keys as soon as all of them have been set for long enough, and removes them. Whoever still answers is
    /// asked once more: its clock may have been kept from going on.
    pub(super) fn end(mut self, slots: &mut [Slot], stop: &AtomicBool) {
        if self.wait(1, stop) {
            self.0.iter_mut().for_each(Trial::ask);
            if self.wait(2, stop) {
                self.0.iter_mut().filter(|trial| trial.is_late()).for_each(Trial::ask_for_mortal);
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

    /// Waits until those that are not done with have been set for so many times as long as they need; `false` when the run is to
    /// stop.
    fn wait(&self, times: u32, stop: &AtomicBool) -> bool {
        let open = self.0.iter().filter(|trial| trial.found.is_none() || trial.is_late());
        let ends = open.map(|trial| trial.set + trial.time * times).max();
        while let Some(left) = ends.and_then(|end| end.checked_duration_since(Instant::now())) {
            if stop.load(Ordering::Relaxed) {
                return false;
            }
            sleep(left.min(NAP));
        }
        !stop.load(Ordering::Relaxed)
    }
}

/// Whether what is stored on a target has a TTL.
fn uses_ttl(plan: &Plan, target: &PlannedTarget) -> bool {
    plan.points_of(target).any(|point| point.set_options.ttl.is_some())
}

/// The TTL that is tried: the least that a target can tell from none.
fn short(target: &Target) -> Duration {
    target.capabilities.ttl_resolution.max(SHORTEST)
}

/// After so long a key is gone for certain: its TTL, a step of the clock that it is counted by, and some patience.
fn time(target: &Target) -> Duration {
    let step = target.capabilities.ttl_resolution;
    short(target) + step + (step / 4).max(SHORTEST)
}

impl Trial {
    /// Sets the keys; none where that fails, and then none of them stays.
    fn begin(plan: &Plan, target: &Target, slot: usize) -> Option<Self> {
        let point = plan.points_of(&target.planned).next()?;
        let mut trial = Self {
            slot,
            session: target.store.session().ok()?,
            ttl: short(target),
            resolution: target.capabilities.ttl_resolution,
            time: time(target),
            mortal: Vec::new(),
            lasting: Vec::new(),
            set: Instant::now(),
            evictions: None,
            found: None,
        };
        trial.store(point.keys.prefix()).ok()?;
        trial.set = Instant::now();
        trial.evictions = target.store.stats().ok()?.evictions;
        Some(trial)
    }

    /// Sets the keys of both kinds.
    fn store(&mut self, prefix: &[u8]) -> Result<()> {
        let kinds = [('s', self.ttl, &mut self.mortal), ('l', LASTING, &mut self.lasting)];
        for (kind, ttl, keys) in kinds {
            let options = SetOptions { ttl: Some(ttl), ..SetOptions::default() };
            for n in 0..KEYS {
                let key = [prefix, format!("t~{kind}{n}").as_bytes()].concat();
                // One whose set fails may be there all the same.
                keys.push(key.clone());
                if self.session.set(&key, &key, &options)? != SetOutcome::Stored {
                    keys.pop();
                }
            }
        }
        Ok(())
    }

    /// Whether a key answered that should be gone.
    fn is_late(&self) -> bool {
        self.found.is_some_and(|found| found.mortal > 0)
    }

    /// Asks for all of them.
    fn ask(&mut self) {
        // Of one that answers late no more is said than when it was asked.
        let after = self.set.elapsed();
        let session = self.session.as_mut();
        let found = |mortal, lasting| Found { after, mortal, lasting };
        let answers = (there(session, &self.mortal), there(session, &self.lasting));
        self.found = answers.0.and_then(|mortal| Ok(found(mortal, answers.1?))).ok();
    }

    /// Asks again for those that should be gone.
    fn ask_for_mortal(&mut self) {
        let after = self.set.elapsed();
        let again = there(self.session.as_mut(), &self.mortal).ok();
        self.found = self.found.zip(again).map(|(found, mortal)| Found { after, mortal, ..found });
    }

    /// What was found out. What was evicted meanwhile did not expire too early.
    fn judged(&self, target: &Target) -> Option<TtlTrial> {
        let Found { after, mortal, lasting } = self.found?;
        let evictions = target.store.stats().ok().and_then(|stats| stats.evictions);
        let evicted =
            evictions.zip(self.evictions).map_or(0, |(now, then)| now.saturating_sub(then));
        let gone = if after < LASTING / 2 { self.lasting.len() - lasting } else { 0 };
        Some(TtlTrial {
            ttl_s: self.ttl.as_secs_f64(),
            resolution_s: self.resolution.as_secs_f64(),
            keys: self.mortal.len() as u64,
            late: mortal as u64,
            lasting_ttl_s: LASTING.as_secs_f64(),
            lasting_keys: self.lasting.len() as u64,
            early: (gone as u64).saturating_sub(evicted),
            asked_after_s: after.as_secs_f64(),
        })
    }
}

impl Drop for Trial {
    /// Removes what is still there, whatever became of the trial: nothing of it may be in anybody's way.
    fn drop(&mut self) {
        for key in self.mortal.iter().chain(&self.lasting) {
            // What cannot be removed ends by itself.
            let _ = self.session.delete(key);
        }
    }
}

/// How many of these keys answer.
fn there(session: &mut dyn Session, keys: &[Vec<u8>]) -> Result<usize> {
    let (mut there, mut value) = (0, Vec::new());
    for key in keys {
        there += usize::from(session.get(key, &mut value)?.is_some());
    }
    Ok(there)
}
