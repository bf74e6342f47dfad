//! The sizes that are worth a measurement.

use larder_analysis::advice::{LIKE_TIMES, Wishes};
use larder_report::{CurvePolicy, HitRatioAt, LIKE_HITS};

/// The most sizes: a wider range is measured from its upper end.
const MOST_SIZES: usize = 6;

/// The policies that candidates may have. The optimal choice is none of them.
const POLICIES: [CurvePolicy; 4] =
    [CurvePolicy::Lru, CurvePolicy::Sieve, CurvePolicy::S3Fifo, CurvePolicy::WTinyLfu];

/// The largest size at which a candidate is tried that takes no smaller one, unless the trace needs more. Up to it, sizes are measured
/// beyond those that the model picks.
const LARGEST_FLOOR: u64 = 4 << 20;

/// The doublings of a small size that leave room for what a cache takes beside keys and values: of little data, that is the most.
const ROOM_FOR_OVERHEADS: usize = 2;

/// The times that a request may take beside its miss, in nanoseconds: in the process, and over a network of one host.
const REQUEST_NS: [f64; 2] = [0.0, 50_000.0];

/// The capacities, by rising size, at which candidates are measured: doublings around the range in which the wishes seem
/// fulfilled.
///
/// The range reaches from the policy that needs least room to the one that needs most. One size below shows that less room does
/// not do, and one above shows what more of it buys: a candidate has overheads that no simulation has.
pub(super) fn worth_measuring(curve: &[HitRatioAt], wishes: &Wishes) -> Vec<u64> {
    let working_set = curve.last().map_or(1, |point| point.capacity);
    // What a cache takes beside keys and values may be as much again.
    let most = wishes.memory_bytes.unwrap_or(u64::MAX).min(2 * working_set).max(1);
    let allowed: Vec<&HitRatioAt> = curve.iter().filter(|point| point.capacity <= most).collect();
    let needs = POLICIES.iter().flat_map(|policy| needed(&allowed, *policy, wishes));
    let (least, highest) =
        needs.fold((most, 0), |(least, highest), need| (need.min(least), need.max(highest)));
    let highest = if highest == 0 { most } else { highest };
    let mut sizes = vec![highest.saturating_mul(2).min(most)];
    let mut size = highest;
    while sizes.len() < MOST_SIZES {
        sizes.push(size.max(1));
        if size < least {
            break;
        }
        size /= 2;
    }
    sizes.sort_unstable();
    sizes.dedup();
    let largest = sizes.last().copied().unwrap_or(1);
    sizes.extend(larger(largest, wishes.memory_bytes).into_iter().take(ROOM_FOR_OVERHEADS));
    sizes
}

/// The sizes above a size at which a candidate may be tried that does not take it: doublings, at most the memory that is allowed.
pub(super) fn larger(than: u64, memory: Option<u64>) -> Vec<u64> {
    let most = memory.unwrap_or(u64::MAX).min(LARGEST_FLOOR);
    let doublings = std::iter::successors(Some(than), |size| size.checked_mul(2)).skip(1);
    let mut sizes: Vec<u64> = doublings.take_while(|size| *size < most).collect();
    sizes.extend((than < most).then_some(most));
    sizes
}

/// The smallest capacities at which a policy seems to fulfil the wishes, by the time of a request.
fn needed(allowed: &[&HitRatioAt], policy: CurvePolicy, wishes: &Wishes) -> Vec<u64> {
    let hits = |point: &HitRatioAt| point.of(policy).map_or(0.0, |ratio| ratio.hit_ratio);
    let best = allowed.iter().map(|point| hits(point)).fold(0.0, f64::max);
    let least = wishes.min_hit_ratio.map_or(0.0, |least| least.min(best));
    let first = |is_enough: &dyn Fn(f64) -> bool| {
        let enough = allowed.iter().find(|point| hits(point) >= least && is_enough(hits(point)));
        enough.map(|point| point.capacity)
    };
    match wishes.cost_of_miss_ns {
        Some(cost) => {
            let of_request = |request: f64| {
                let time = |hits: f64| request + (1.0 - hits) * cost;
                first(&|hits| time(hits) <= time(best) * (1.0 + LIKE_TIMES))
            };
            REQUEST_NS.into_iter().filter_map(of_request).collect()
        }
        None if wishes.min_hit_ratio.is_some() => first(&|_| true).into_iter().collect(),
        None => first(&|hits| hits + LIKE_HITS >= best).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use larder_report::CurveRatio;

    use super::*;

    /// A curve of capacities from 100 bytes, each twice the one before, with the ratios of all policies but W-TinyLFU, and
    /// with the ratios of that one.
    fn curve(ratios: [f64; 6], w_tiny_lfu: [f64; 6]) -> Vec<HitRatioAt> {
        let at = |(at, (other, better)): (u32, (f64, f64))| {
            let ratio = |policy: &CurvePolicy| CurveRatio {
                policy: *policy,
                hit_ratio: if *policy == CurvePolicy::WTinyLfu { better } else { other },
                half_width: None,
            };
            let ratios = CurvePolicy::ALL.iter().map(ratio).collect();
            HitRatioAt { capacity: 100 << at, ratios, keys: 1.0, time: 1.0 }
        };
        (0..).zip(ratios.into_iter().zip(w_tiny_lfu)).map(at).collect()
    }

    const LRU: [f64; 6] = [0.10, 0.30, 0.50, 0.60, 0.605, 0.606];

    #[test]
    fn sizes_stand_around_the_one_from_which_room_buys_little() {
        let sizes = |wishes: Wishes| worth_measuring(&curve(LRU, LRU), &wishes);
        assert_eq!(sizes(Wishes::default()), [400, 800, 1600, 3200, 6400]);
        // A limit of memory is the largest size.
        let wishes = Wishes { memory_bytes: Some(500), ..Wishes::default() };
        assert_eq!(sizes(wishes), [200, 400, 500]);
        let wishes = Wishes { min_hit_ratio: Some(0.3), ..Wishes::default() };
        assert_eq!(sizes(wishes), [100, 200, 400, 800, 1600]);
        // What cannot be reached is tried at the largest sizes, up to twice all keys and values.
        let wishes = Wishes { min_hit_ratio: Some(0.99), ..Wishes::default() };
        assert_eq!(sizes(wishes), [1600, 3200, 6400, 12_800, 25_600]);
    }

    #[test]
    fn a_policy_that_needs_less_room_widens_the_range() {
        let better = [0.30, 0.595, 0.60, 0.60, 0.60, 0.60];
        let sizes = worth_measuring(&curve(LRU, better), &Wishes::default());
        assert_eq!(sizes, [100, 200, 400, 800, 1600, 3200, 6400]);
    }

    #[test]
    fn the_cost_of_a_miss_decides_how_much_room_is_worth_a_look() {
        let sizes = |cost: f64| {
            let wishes = Wishes { cost_of_miss_ns: Some(cost), ..Wishes::default() };
            worth_measuring(&curve(LRU, LRU), &wishes)
        };
        // Where misses cost much, two percent of their time are more room than a point of hits.
        assert_eq!(sizes(8e6), [400, 800, 1600, 3200, 6400]);
        // A request of 50 µs hides the cost of a cheap miss, and one of no time does not.
        assert_eq!(sizes(1000.0), [50, 100, 200, 400, 800, 1600, 3200, 6400]);
    }

    #[test]
    fn a_candidate_that_takes_no_such_size_is_tried_at_larger_ones() {
        const MIB: u64 = 1 << 20;
        assert_eq!(larger(MIB, None), [2 * MIB, LARGEST_FLOOR]);
        assert_eq!(larger(3 * MIB, None), [LARGEST_FLOOR]);
        assert_eq!(larger(MIB, Some(3 * MIB)), [2 * MIB, 3 * MIB]);
        assert_eq!(larger(MIB, Some(64 * MIB)), [2 * MIB, LARGEST_FLOOR]);
        assert!(larger(MIB, Some(MIB)).is_empty() && larger(LARGEST_FLOOR, None).is_empty());
    }
}
