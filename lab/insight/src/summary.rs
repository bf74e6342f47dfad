//! From the sample of a trace to the figures of its summary.

use larder_report::{
    CacheCurve, CurvePolicy, CurveRatio, HitLimit, HitRatioAt, MeasuredIn, TraceInfo,
};

use crate::capacities::asked;
use crate::curve::{AtCapacity, Sampled, curves, of_traffic, share};
use crate::entries::Entries;
use crate::insight::{Settings, sampling, scaled};
use crate::limit::Limit;
use crate::popularity::{Counts, popularity};
use crate::reuse::reuse;
use crate::sample::{Sampler, Ttls, scattered};
use crate::sequence::{Facts, Sequence};
use crate::working_set::working_set;

/// A sample of keys is not thinned to fewer uses than these: they take less than a second.
const LEAST_USES: usize = 1 << 18;

/// A hit ratio with a larger half of its interval says too little to be told, unless it was asked for.
const WIDEST: f64 = 0.05;

/// A trace that was read to its end.
pub(crate) struct Trace {
    pub(crate) sampler: Sampler,
    pub(crate) ttls: Ttls,
    pub(crate) facts: Facts,
    /// The share of all keys that the trace has.
    pub(crate) recorded: f64,
    pub(crate) clock_ticks: u32,
}

impl Trace {
    /// Writes the figures that the sample gives.
    pub(crate) fn summarize(mut self, info: &mut TraceInfo, settings: &Settings) {
        let Facts { reads, has_times, .. } = self.facts;
        self.sampler.thin(settings.keys, LEAST_USES, reads);
        self.sampler.give_up_parts_of_few();
        let (most, few_keys) = (self.sampler.most(), self.sampler.few_keys());
        let mut levels = std::mem::take(&mut self.sampler.levels);
        let counts: Vec<Counts> =
            levels.iter_mut().map(|level| Counts::of(level, reads, self.recorded)).collect();
        info.popularity = popularity(&counts);
        let Some(last) = levels.pop() else { return };
        let shift = last.shift;
        let keys = share(shift) * self.recorded;
        let last = Sequence::of(last, &self.ttls, self.facts);
        info.sampling = sampling(keys, &last, reads, most);
        info.keys = scaled(few_keys.unwrap_or(last.n_keys() as u64), keys);
        let limit = Limit::of(&last, share(shift), self.recorded, self.facts);
        let entries = Entries::of(&last, &limit.is_stored, keys);
        info.bytes = entries.bytes();
        info.largest = entries.largest();
        if let Some(popularity) = &mut info.popularity {
            popularity.bytes_of_once = entries.bytes_of_once();
        }
        if last.windows.len() == 1 {
            info.working_set = working_set(&last, keys, self.clock_ticks, has_times);
        }
        info.reuse = reuse(&last, keys, of_traffic(last.reads(), self.recorded));
        if reads == 0 {
            return;
        }
        let limit = limit.hit_limit;
        info.unavoidable = Some(limit.unavoidable());
        let most_hits = limit.at_most();
        info.limit = Some(limit);
        let asked = asked(&settings.capacities, info.keys.value, info.bytes.map(|it| it.value));
        let mut answers = if most_hits > 0.0 {
            let sampled = Sampled {
                levels,
                last: (shift, last),
                most,
                ttls: &self.ttls,
                facts: self.facts,
                recorded: self.recorded,
                sizes: entries.sizes(),
            };
            curves(sampled, &asked, settings.threads.max(1))
        } else {
            // A simulation takes minutes where a trace is long, and no cache hits a read of this one.
            asked.iter().map(|asked| AtCapacity::without_hits(*asked, share(shift))).collect()
        };
        if settings.capacities.is_empty() {
            let all = answers.len();
            answers.retain(|at| at.ratios.iter().all(|ratio| ratio.half_width <= WIDEST));
            info.sampling.left_out = (all - answers.len()) as u64;
        }
        let answers = answers.iter();
        let of = |measure| {
            let of_measure = answers.clone().filter(|at| at.asked.measure == measure);
            CacheCurve { measure, capacities: of_measure.map(|at| ratios(at, most_hits)).collect() }
        };
        let curves = [MeasuredIn::Entries, MeasuredIn::Bytes].map(of);
        info.curves = curves.into_iter().filter(|curve| !curve.capacities.is_empty()).collect();
    }

    /// The most reads that any cache can hit, where at most a share `keys` of the keys is followed.
    pub(crate) fn limit(mut self, keys: f64) -> Option<HitLimit> {
        self.sampler.thin(keys, LEAST_USES, self.facts.reads);
        self.sampler.give_up_parts_of_few();
        let last = self.sampler.levels.pop()?;
        let level = share(last.shift);
        let last = Sequence::of(last, &self.ttls, self.facts);
        (self.facts.reads > 0).then(|| Limit::of(&last, level, self.recorded, self.facts).hit_limit)
    }

    /// The reads of each of some keys, where every operation was kept.
    pub(crate) fn reads_of(&self, hashes: &[u64], seed: u64) -> Option<Vec<u64>> {
        let [level] = &self.sampler.levels[..] else { return None };
        level.has_all().then(|| level.reads_of(hashes.iter().map(|hash| scattered(*hash, seed))))
    }
}

/// The ratios at a capacity. Only the error of a sample can lift one of them above the limit.
fn ratios(at: &AtCapacity, most_hits: f64) -> HitRatioAt {
    let ratio = |(policy, ratio): (&CurvePolicy, &crate::curve::Ratio)| CurveRatio {
        policy: *policy,
        hit_ratio: if ratio.half_width > 0.0 { ratio.hits.min(most_hits) } else { ratio.hits },
        half_width: (ratio.half_width > 0.0).then_some(ratio.half_width),
    };
    HitRatioAt {
        capacity: at.asked.capacity,
        ratios: CurvePolicy::ALL.iter().zip(&at.ratios).map(ratio).collect(),
        keys: at.keys,
        time: at.time,
    }
}
