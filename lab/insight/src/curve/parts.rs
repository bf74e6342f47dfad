//! A level of the sample in disjoint parts, each simulated by itself.

use larder_report::CurvePolicy;

use super::estimate::{MissEstimate, Ratio, Scale};
use super::model::{Tally, follow};
use super::{CacheSize, float, parallel};
use crate::sample::Window;
use crate::sequence::Sequence;

/// The parts into which the keys of a level are dealt.
pub(crate) const PARTS: usize = 8;

/// The parts of a level; all keys of a complete trace are one part.
pub(super) struct Parts {
    sequences: Vec<Sequence>,
    /// The share of the keys of the whole traffic in each part.
    rate: f64,
    /// The share of all keys that was recorded.
    recorded: f64,
    reads: u64,
}

/// What the reads of the last level stand for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rates {
    /// The share of the recorded keys that the level has.
    pub(crate) level: f64,
    /// The share of all keys that was recorded.
    pub(crate) recorded: f64,
    /// The reads of the whole trace.
    pub(crate) reads: u64,
}

/// The hit ratio by the misses of each part of the last level in each of its windows.
pub(crate) fn ratio_of_parts(misses: &[Vec<u64>], windows: &[Window], rates: Rates) -> Ratio {
    let reads = |window: &Window| float(window.reads.end - window.reads.start);
    let tally = |(misses, window): (&u64, &Window)| Tally {
        misses: *misses,
        reads: reads(window),
        unused: 0,
    };
    let of_part = |misses: &Vec<u64>| misses.iter().zip(windows).map(tally).collect();
    let tallies: Vec<Vec<Tally>> = misses.iter().map(of_part).collect();
    let rate = rates.level / float(misses.len() as u64);
    let first = windows.first().map_or(0.0, reads) / float(rates.reads.max(1));
    MissEstimate::by(&tallies, Scale { rate, keys: rates.level * rates.recorded, first }).ratio()
}

/// What a level tells of one capacity.
pub(super) struct Followed {
    /// What each model misses, in the order of the models that were asked for.
    pub(super) estimates: Vec<MissEstimate>,
    /// The share of the windows behind the first in which the first model was warm; 1 without such windows.
    pub(super) warm: f64,
    /// The share of the reads during which the sample looked.
    pub(super) time: f64,
}

impl Parts {
    /// The parts of the steps of a level that has the share `level` of the recorded keys.
    pub(super) fn of(whole: Sequence, level: f64, recorded: f64, reads: u64) -> Self {
        let keys = level * recorded;
        let sequences = if keys < 1.0 { whole.split(PARTS) } else { vec![whole] };
        let rate = keys / float(sequences.len() as u64);
        Self { sequences, rate, recorded, reads }
    }

    /// The share of the keys in all parts together.
    pub(super) fn keys(&self) -> f64 {
        self.rate * float(self.sequences.len() as u64)
    }

    /// Follows models at each capacity.
    pub(super) fn follow(
        &self,
        models: &[CurvePolicy],
        asked: &[CacheSize],
        threads: usize,
    ) -> Vec<Followed> {
        let (n_models, n_parts) = (models.len(), self.sequences.len());
        let job = |number: usize| {
            let (at, model) = (number / n_parts / n_models, number / n_parts % n_models);
            follow(models[model], &self.sequences[number % n_parts], self.miniature(asked[at]))
        };
        let n_jobs = asked.len() * n_models * n_parts;
        let mut tallies = parallel::map(n_jobs, threads, job).into_iter();
        let mut of_parts = || -> Vec<Vec<Tally>> { tallies.by_ref().take(n_parts).collect() };
        let mut followed = Vec::new();
        for _ in asked {
            let of_models: Vec<_> = models.iter().map(|_| of_parts()).collect();
            followed.push(Followed {
                estimates: of_models
                    .iter()
                    .map(|parts| MissEstimate::by(parts, self.scale()))
                    .collect(),
                warm: self.warm(&of_models[0]),
                time: self.time(&of_models[0]),
            });
        }
        followed
    }

    /// The capacity of a cache that sees the keys of one part.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a part of a whole number"
    )]
    fn miniature(&self, size: CacheSize) -> CacheSize {
        CacheSize { capacity: (float(size.capacity) * self.rate).round() as u64, ..size }
    }

    fn warm(&self, tallies: &[Vec<Tally>]) -> f64 {
        let (mut unused, mut all) = (0, 0);
        for (tallies, part) in tallies.iter().zip(&self.sequences) {
            for (tally, window) in tallies.iter().zip(&part.windows).skip(1) {
                unused += tally.unused;
                all += window.uses.len();
            }
        }
        1.0 - float(unused as u64) / float(all.max(1) as u64)
    }

    fn time(&self, tallies: &[Vec<Tally>]) -> f64 {
        let reads: f64 = tallies.iter().flatten().map(|tally| tally.reads).sum();
        reads / float(tallies.len() as u64) / float(self.reads.max(1))
    }

    fn scale(&self) -> Scale {
        let first = self.sequences[0].windows.first();
        let first = first.map_or(0, |window| window.reads.end - window.reads.start);
        let first = float(first) / float(self.reads.max(1));
        Scale { rate: self.rate / self.recorded, keys: self.keys(), first }
    }
}
