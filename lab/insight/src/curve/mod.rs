//! The hit ratio against the capacity, by simulations of small caches on a sample: miniature simulations, as in
//! Waldspurger, Saemundsson, Ahmad and Park, "Cache Modeling and Optimization using Miniature Simulations", ATC 2017.
//!
//! A cache with a hundredth of the capacity that sees the uses of a hundredth of the keys hits about as often as the
//! cache that it stands for. It must not be too small, so each capacity has its level of the sample. The keys of a level
//! are dealt into eight parts, each simulated by itself, and their spread tells the error.

mod estimate;
mod model;
mod parallel;
mod parts;

use larder_report::{CurvePolicy, MeasuredIn};

use crate::sample::{Level, Ttls};
use crate::sequence::{Facts, Sequence};

use estimate::MissEstimate;
pub(crate) use estimate::Ratio;
use model::FORGETFUL;
use parts::Parts;
pub(crate) use parts::{PARTS, Rates, ratio_of_parts};

/// A level is taken for capacities from this many of its entries on, over all parts, if it keeps this many uses for each of
/// them. A cache of fewer entries would be too grainy, and one of more would see too few uses to settle
/// down.
const USES_AN_ENTRY: usize = 1024;

/// The same for the optimal choice, which needs a longer past and future, and is less grainy.
const USES_AN_OPTIMAL_ENTRY: usize = 2048;

/// With entries of very different sizes, a cache has room for a fourth as many large ones.
const LARGE: f64 = 4.0;

/// A level of windows is taken where a cache is warm for this much of them.
const LEAST_WARM: f64 = 0.6;

/// A capacity, and what it counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CacheSize {
    pub(crate) measure: MeasuredIn,
    pub(crate) capacity: u64,
}

/// The sizes of entries, as the choice of a level must know them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    /// The mean of all entries.
    pub(crate) mean: f64,
    /// The mean size of the entry in which a byte is.
    pub(crate) of_bytes: f64,
}

/// A sample and what is known of its trace.
#[derive(Debug)]
pub(crate) struct Sampled<'a> {
    /// All levels but the last.
    pub(crate) levels: Vec<Level>,
    /// The last level, which has all uses of its keys.
    pub(crate) last: (u32, Sequence),
    /// The most uses of a level.
    pub(crate) most: usize,
    pub(crate) ttls: &'a Ttls,
    pub(crate) facts: Facts,
    /// The share of all keys that the trace itself has.
    pub(crate) recorded: f64,
    pub(crate) sizes: Sizes,
}

/// The hit ratios at one capacity.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AtCapacity {
    pub(crate) asked: CacheSize,
    /// In the order of [`CurvePolicy::ALL`].
    pub(crate) ratios: Vec<Ratio>,
    /// The share of the keys that was followed.
    pub(crate) keys: f64,
    /// The share of the time that was followed.
    pub(crate) time: f64,
}

impl AtCapacity {
    /// The ratios where no cache can hit a read of the share `keys` of the keys, which was followed for all of the time.
    pub(crate) fn without_hits(asked: CacheSize, keys: f64) -> Self {
        let ratios = vec![Ratio { hits: 0.0, half_width: 0.0 }; CurvePolicy::ALL.len()];
        Self { asked, ratios, keys, time: 1.0 }
    }
}

/// What the levels tell of one capacity.
#[derive(Debug, Default)]
struct AtLevels {
    /// What the models that forget miss by the level before.
    before: Option<Vec<MissEstimate>>,
    /// What all models but the optimal choice miss by the level of the capacity.
    here: Option<Vec<MissEstimate>>,
    optimal: Option<MissEstimate>,
    keys: f64,
    time: f64,
}

/// Answers what is asked, level by level.
pub(crate) fn curves(sampled: Sampled<'_>, asked: &[CacheSize], threads: usize) -> Vec<AtCapacity> {
    let level_for = |uses: usize| -> Vec<usize> {
        asked.iter().map(|asked| sampled.level_for(*asked, uses)).collect()
    };
    let (wanted, for_optimal) = (level_for(USES_AN_ENTRY), level_for(USES_AN_OPTIMAL_ENTRY));
    let mut found: Vec<AtLevels> = asked.iter().map(|_| AtLevels::default()).collect();
    let Sampled { levels, last, ttls, facts, recorded, .. } = sampled;
    let n_levels = levels.len() + 1;
    let (mut levels, mut last) = (levels.into_iter(), Some(last));
    for number in 0..n_levels {
        let level = levels.next();
        let is_last = level.is_none();
        let places = |is_here: &dyn Fn(usize) -> bool| -> Vec<usize> {
            (0..asked.len()).filter(|at| is_here(*at)).collect()
        };
        let before = places(&|at| wanted[at] == number + 1);
        let here = places(&|at| found[at].here.is_none() && wanted[at] <= number);
        let optimal = places(&|at| for_optimal[at] == number);
        if before.is_empty() && here.is_empty() && optimal.is_empty() {
            continue;
        }
        let of_level = |level: Level| (level.shift, Sequence::of(level, ttls, facts));
        let Some((shift, whole)) = level.map(of_level).or_else(|| last.take()) else { break };
        let parts = Parts::of(whole, share(shift), recorded, facts.reads);
        let follow = |models: &[CurvePolicy], places: &[usize]| {
            let asked: Vec<CacheSize> = places.iter().map(|at| asked[*at]).collect();
            parts.follow(models, &asked, threads)
        };
        for (at, told) in before.iter().zip(follow(&FORGETFUL, &before)) {
            found[*at].before = (told.warm >= LEAST_WARM).then_some(told.estimates);
        }
        let lru = follow(&FORGETFUL[..1], &here);
        let is_warm = lru.iter().map(|lru| is_last || lru.warm >= LEAST_WARM);
        let here: Vec<usize> =
            here.into_iter().zip(is_warm).filter_map(|(at, warm)| warm.then_some(at)).collect();
        for (at, told) in here.iter().zip(follow(&CurvePolicy::ALL[..OPTIMAL], &here)) {
            let found = &mut found[*at];
            (found.here, found.keys, found.time) = (Some(told.estimates), parts.keys(), told.time);
        }
        for (at, told) in optimal.iter().zip(follow(&CurvePolicy::ALL[OPTIMAL..], &optimal)) {
            found[*at].optimal = told.estimates.into_iter().next();
        }
    }
    asked.iter().zip(found).filter_map(|(asked, found)| found.answer(*asked)).collect()
}

/// The place of the optimal choice, the last of all models.
const OPTIMAL: usize = CurvePolicy::ALL.len() - 1;

impl Sampled<'_> {
    /// The level with the fewest keys in which a cache of this capacity is not too small.
    fn level_for(&self, asked: CacheSize, uses_an_entry: usize) -> usize {
        let least = float((self.most / uses_an_entry) as u64);
        let Sizes { mean, of_bytes } = self.sizes;
        let least = match asked.measure {
            MeasuredIn::Entries => least,
            MeasuredIn::Bytes => (least * mean).max(least / LARGE * of_bytes),
        };
        let here = |shift: u32| float(asked.capacity) * self.recorded * share(shift);
        let shifts = self.levels.iter().map(|level| level.shift).chain([self.last.0]);
        let shifts: Vec<u32> = shifts.collect();
        shifts.iter().rposition(|shift| here(*shift) >= least).unwrap_or(0)
    }
}

impl AtLevels {
    /// The ratios. Those of the models that forget are taken from the surer level, and correct the others.
    fn answer(self, asked: CacheSize) -> Option<AtCapacity> {
        let (here, optimal) = (self.here?, self.optimal?);
        let forgetful = |model: usize| {
            let (plain, before) = (here[model].ratio(), self.before.as_ref());
            let before = before.map(|before| before[model].ratio());
            before.filter(|before| before.half_width < plain.half_width).unwrap_or(plain)
        };
        let lru = forgetful(0);
        let of_model = |model: usize| match model {
            _ if model < FORGETFUL.len() => forgetful(model),
            _ if self.before.is_some() => here[model].corrected(&here[0], lru),
            _ => here[model].ratio(),
        };
        let ratios = (0..here.len()).map(of_model).chain([optimal.ratio()]).collect();
        Some(AtCapacity { asked, ratios, keys: self.keys, time: self.time })
    }
}

/// The reads of the whole traffic, of which the share `recorded` of the keys was recorded.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number")]
pub(crate) fn of_traffic(reads: u64, recorded: f64) -> u64 {
    (float(reads) / recorded).round() as u64
}

/// The share of the keys in a level.
pub(crate) fn share(shift: u32) -> f64 {
    2_f64.powi(-i32::try_from(shift).unwrap_or(i32::MAX))
}

#[expect(clippy::cast_precision_loss, reason = "a share of it")]
pub(crate) fn float(number: u64) -> f64 {
    number as f64
}
