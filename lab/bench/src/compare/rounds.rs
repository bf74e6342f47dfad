//! Every round over every point, each target once.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::deferred_work::Watch;
use super::samples::{Entry, Samples};
use super::search::search;
use super::stopping::StoppingRule;
use super::turn::{Amount, Pacing, Turn};
use super::{TargetSlot, external};
use crate::observer::{Event, Observer};
use crate::plan::Plan;
use crate::target::Target;

/// The rounds that are carried out.
pub(super) struct Rounds<'a> {
    pub(super) plan: &'a Plan,
    /// The numbers of the rounds; round 0 is the warm-up.
    pub(super) numbers: RangeInclusive<u32>,
    pub(super) amount: Amount,
    /// The clock was started with the run.
    pub(super) clock: Instant,
    pub(super) observer: &'a dyn Observer,
    pub(super) stop: &'a AtomicBool,
}

impl Rounds<'_> {
    /// Carries out the rounds, each point in a newly drawn order of the targets. So no target always follows the same
    /// other target, whose writes may still be on their way to the disk. The `rule` decides whether a point has
    /// another round. `look` is called whenever all targets have had their turn at a point.
    pub(super) fn run(
        &self,
        slots: &mut [TargetSlot],
        samples: &mut Samples,
        rule: &mut StoppingRule<'_>,
        look: &mut dyn FnMut(usize, &[TargetSlot], &Samples),
    ) {
        let mut done = 0;
        let mut order: Vec<usize> = (0..slots.len()).collect();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.plan.seed);
        for round in self.numbers.clone() {
            let mut over = true;
            for at in 0..self.plan.points.len() {
                order.shuffle(&mut rng);
                if !self.plan.carries_out(round) {
                    over = false;
                    continue;
                }
                if !rule.goes_on(round, at, slots, samples) {
                    continue;
                }
                over = false;
                samples.begin(at, round);
                let point = &self.plan.points[at];
                let measured = order.iter().filter(|slot| point.is_for(slots[**slot].planned()));
                let measured: Vec<usize> = measured.copied().collect();
                for (position, slot) in (1..).zip(measured) {
                    if self.stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let turn = self.turn(round, at, position);
                    let watch = Watch::begin(slots, slot);
                    if let Some(target) = slots[slot].open_mut() {
                        self.take(&turn, target, &mut |entry| samples.add(slot, at, entry));
                        self.look_for_rate(&turn, target, slot, at, samples);
                    }
                    watch.end(slots);
                    done += 1;
                    self.observer.notice(Event::TurnEnded { done });
                }
                look(at, slots, samples);
            }
            if over {
                return;
            }
        }
    }

    /// Searches for the highest rate of a target after its turn, where the plan asks for that.
    fn look_for_rate(
        &self,
        turn: &Turn<'_>,
        target: &mut Target,
        slot: usize,
        point: usize,
        samples: &mut Samples,
    ) {
        let Some(bound) = turn.point.search().filter(|_| turn.round > 0) else { return };
        if target.lost.is_none() && !self.stop.load(Ordering::Relaxed) {
            let found = search(turn, target, bound, &samples.of_round(slot, point, turn.round));
            if let Some(found) = found {
                samples.add_search(slot, point, found);
            }
        }
    }

    fn turn(&self, round: u32, at: usize, position: usize) -> Turn<'_> {
        let number = |places: usize| u32::try_from(places).unwrap_or(u32::MAX);
        let before = round.wrapping_mul(number(self.plan.points.len()));
        Turn {
            point: &self.plan.points[at],
            round,
            number: before.wrapping_add(number(at)),
            position,
            seed: self.plan.seed,
            amount: self.amount,
            pacing: Pacing::Planned,
            clock: self.clock,
            stop: self.stop,
        }
    }

    /// Carries out a target's turn, and tells the observer.
    fn take(&self, turn: &Turn<'_>, target: &mut Target, keep: &mut dyn FnMut(Entry)) {
        let name = target.planned.name.clone();
        let (name, point) = (name.as_str(), &turn.point.point);
        let (round, rounds) = (turn.round, self.plan.rounds);
        self.observer.notice(Event::Turn { round, rounds, target: name, point });
        if let Some((_, reason)) = target.refusal(turn.point) {
            self.observer.notice(Event::Refused { target: name, reason: &reason });
        }
        turn.run(target, &mut |entry| {
            let (operation, sample) = (entry.operation, &entry.sample);
            self.observer.notice(Event::Measured { target: name, point, operation, sample });
            keep(entry);
        });
        if !target.is_silent() {
            external::watch(target, round);
        }
        if let Some(lost) = &target.lost {
            self.observer.notice(Event::Lost { target: name, reason: &lost.reason });
        }
    }
}
