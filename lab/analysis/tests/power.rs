//! The share of right verdicts, on made-up rounds that are the same in every test.
//!
//! `benches/verdicts.rs` does the same with real stores. The noise here has the parts that real machines show: a drift
//! common to all targets, jumps that last some rounds, and single rounds that another program spoils.

use larder_analysis::statistics::{Difference, holm};
use larder_report::Verdict;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const RUNS: u64 = 30;

/// The noise of the machine.
#[derive(Clone, Copy)]
struct Machine {
    /// The distance of a round from the next by chance, as a share.
    noise: f64,
    /// The drift from one round to the next of the speed common to all targets.
    wander: f64,
    /// The share of rounds that another program spoils, to half their rate.
    spoilt: f64,
}

const STEADY: Machine = Machine { noise: 0.02, wander: 0.0, spoilt: 0.02 };
const BUSY: Machine = Machine { noise: 0.04, wander: 0.08, spoilt: 0.05 };
/// Most rounds lie close together, but a server that the system moves to the other processor has a bad round now and
/// then.
const TWO_SPEEDS: Machine = Machine { noise: 0.015, wander: 0.0, spoilt: 0.15 };

impl Machine {
    /// The rates of two targets, of which the second takes `slower` times as long.
    fn rounds(self, number: u32, slower: f64, seed: u64) -> [Vec<(u32, f64)>; 2] {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        // The sum of twelve draws from 0 to 1 is nearly normal, with a standard deviation of 1.
        let normal =
            |rng: &mut Xoshiro256PlusPlus| (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        let (mut common, mut rounds) = (0.0, [Vec::new(), Vec::new()]);
        for round in 1..=number {
            common += self.wander * normal(&mut rng);
            for (target, took) in rounds.iter_mut().zip([1.0, slower]) {
                let spoilt = if rng.random_bool(self.spoilt) { 0.5 } else { 1.0 };
                let rate = 1e5 / took * (common + self.noise * normal(&mut rng)).exp() * spoilt;
                target.push((round, rate));
            }
        }
        rounds
    }

    /// The number of the [`RUNS`] runs with this verdict of the first against the second.
    fn verdicts(self, number: u32, slower: f64, wanted: Verdict) -> u64 {
        let verdict = |seed| {
            let [a, b] = self.rounds(number, slower, seed);
            let difference = Difference::by_rounds(&a, &b, seed).expect("rates above zero");
            // Two operations: these rates are the gets, and the sets show no difference.
            difference.verdict(holm(&[difference.p, 1.0])[0])
        };
        let right = (0..RUNS).filter(|seed| verdict(*seed) == wanted);
        right.count() as u64
    }
}

/// 28 of 30.
fn nearly_all(right: u64) -> bool {
    right >= RUNS - 2
}

#[test]
fn a_target_is_not_told_apart_from_itself() {
    for machine in [STEADY, BUSY, TWO_SPEEDS] {
        for number in [10, 20, 60] {
            let right = machine.verdicts(number, 1.0, Verdict::Indistinguishable);
            assert!(nearly_all(right), "{right} of {RUNS} with {number} rounds");
        }
    }
}

#[test]
fn a_target_that_is_slower_by_a_tenth_is_told_apart() {
    let right = STEADY.verdicts(10, 1.1, Verdict::Faster);
    assert!(nearly_all(right), "{right} of {RUNS} with 10 rounds of a steady machine");
    let right = BUSY.verdicts(60, 1.1, Verdict::Faster);
    assert!(nearly_all(right), "{right} of {RUNS} with 60 rounds of a busy machine");
    let right = TWO_SPEEDS.verdicts(28, 1.1, Verdict::Faster);
    assert!(nearly_all(right), "{right} of {RUNS} with 28 rounds, of which some are bad");
}

#[test]
fn on_a_machine_that_wanders_comparing_round_by_round_sees_more_than_ranks_of_all() {
    let rates = |of: &[(u32, f64)]| of.iter().map(|(_, rate)| *rate).collect::<Vec<_>>();
    let (mut by_rounds, mut by_all) = (0, 0);
    for seed in 0..RUNS {
        let [a, b] = BUSY.rounds(40, 1.1, seed);
        let found = |difference: Option<Difference>| {
            u32::from(difference.is_some_and(|difference| difference.p < Verdict::SIGNIFICANCE))
        };
        by_rounds += found(Difference::by_rounds(&a, &b, 1));
        by_all += found(Difference::between(&rates(&a), &rates(&b), 1));
    }
    assert!(by_rounds > 2 * by_all, "{by_rounds} against {by_all} of {RUNS}");
}
