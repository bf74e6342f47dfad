//! From the sample of a trace to what is told of it.

use larder_report::{
    CacheCurve, CurvePolicy, CurveRatio, Estimate, HitRatioAt, MeasuredIn, TraceInfo,
};

use crate::capacities::{UNLIMITED, asked};
use crate::curve::{Asked, AtCapacity, Sampled, Sizes, curves, float, of_traffic, share};
use crate::insight::{Settings, sampling, scaled};
use crate::popularity::{Counts, popularity};
use crate::reuse::reuse;
use crate::sample::{Sampler, Ttls};
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
    /// Writes what the sample tells.
    pub(crate) fn tell(mut self, info: &mut TraceInfo, settings: &Settings) {
        let Facts { reads, has_times, .. } = self.facts;
        self.sampler.thin(settings.keys, LEAST_USES, reads);
        let most = self.sampler.most();
        let mut levels = std::mem::take(&mut self.sampler.levels);
        let counts: Vec<Counts> =
            levels.iter_mut().map(|level| Counts::of(level, reads, self.recorded)).collect();
        info.popularity = popularity(&counts);
        let Some(last) = levels.pop() else { return };
        let shift = last.shift;
        let keys = share(shift) * self.recorded;
        let last = Sequence::of(last, &self.ttls, self.facts);
        info.sampling = sampling(keys, last.steps.len() as u64, most);
        info.sampling.expires = last.expires;
        info.sampling.not_filled = last.not_filled();
        info.sampling.sizes_filled = last.sizes_filled;
        info.keys = scaled(last.n_keys() as u64, keys);
        let (bytes, sizes) = of_entries(&last, keys);
        info.bytes = last.has_sizes.then_some(bytes);
        info.working_set = working_set(&last, keys, self.clock_ticks, has_times);
        info.reuse = reuse(&last, keys, of_traffic(reads, self.recorded));
        if reads == 0 {
            return;
        }
        let mut asked = asked(&settings.capacities, info.keys.value, info.bytes.map(|it| it.value));
        asked.push(Asked { measure: MeasuredIn::Entries, capacity: UNLIMITED });
        let sampled = Sampled {
            levels,
            last: (shift, last),
            most,
            ttls: &self.ttls,
            facts: self.facts,
            recorded: self.recorded,
            sizes,
        };
        let mut answers = curves(sampled, &asked, settings.threads.max(1));
        info.unavoidable = answers.pop().and_then(|unlimited| {
            let lru = unlimited.ratios.first()?;
            Some(Estimate::within(1.0 - lru.hits, lru.half_width))
        });
        if settings.capacities.is_empty() {
            let all = answers.len();
            answers.retain(|at| at.ratios.iter().all(|ratio| ratio.half_width <= WIDEST));
            info.sampling.left_out = (all - answers.len()) as u64;
        }
        let answers = answers.iter();
        let of = |measure| {
            let of_measure = answers.clone().filter(|at| at.asked.measure == measure);
            CacheCurve { measure, capacities: of_measure.map(ratios).collect() }
        };
        let curves = [MeasuredIn::Entries, MeasuredIn::Bytes].map(of);
        info.curves = curves.into_iter().filter(|curve| !curve.capacities.is_empty()).collect();
    }
}

fn ratios(at: &AtCapacity) -> HitRatioAt {
    let ratio = |(policy, ratio): (&CurvePolicy, &crate::curve::Ratio)| CurveRatio {
        policy: *policy,
        hit_ratio: ratio.hits,
        half_width: (ratio.half_width > 0.0).then_some(ratio.half_width),
    };
    HitRatioAt {
        capacity: at.asked.capacity,
        ratios: CurvePolicy::ALL.iter().zip(&at.ratios).map(ratio).collect(),
        keys: at.keys,
        time: at.time,
    }
}

/// The bytes of all entries, each with its latest size, and the sizes of entries.
fn of_entries(last: &Sequence, keys: f64) -> (Estimate, Sizes) {
    let mut sizes = vec![0_u32; last.n_keys()];
    for step in &last.steps {
        sizes[step.key as usize] = step.size;
    }
    let sum: f64 = sizes.iter().map(|size| f64::from(*size)).sum();
    let squares: f64 = sizes.iter().map(|size| f64::from(*size).powi(2)).sum();
    let error = (squares * (1.0 - keys).max(0.0)).sqrt() / keys;
    let n_keys = float(sizes.len().max(1) as u64);
    let of_bytes = if sum > 0.0 { squares / sum } else { 1.0 };
    (Estimate::within(sum / keys, 1.96 * error), Sizes { mean: sum / n_keys, of_bytes })
}
