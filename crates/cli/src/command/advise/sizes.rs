//! The sizes that are worth a measurement.

use larder_analysis::advice::{OfLru, Wishes};
use larder_bench::{Plan, hit_curves};
use larder_report::LIKE_HITS;
use larder_workload::{Capacity, Sweep};

/// The halvings of all keys and values, at whose sizes the model is asked.
const HALVINGS: i32 = 10;

/// The sizes at which the model is asked: all keys and values, a half of them, a quarter …
pub(super) fn of_model() -> Sweep<Capacity> {
    let shares = (0..=HALVINGS).map(|halvings| Capacity::Percent(100.0 / f64::powi(2.0, halvings)));
    shares.collect()
}

/// The hit ratios of an exact LRU at the capacities of a plan, by rising capacity.
pub(super) fn curve(plan: &Plan) -> Vec<OfLru> {
    let all = hit_curves(plan).into_iter().flat_map(|curve| curve.capacities);
    all.map(|at| OfLru { capacity_bytes: at.capacity_bytes, hit_ratio: at.lru }).collect()
}

/// The capacities, by rising size, at which candidates are measured: the one at which the wishes seem fulfilled, a half and
/// a quarter of it, and the double.
///
/// Without a wished hit ratio that is the smallest size that comes within a point of the largest allowed one. The model
/// serves to pick sizes only, so a candidate's own policy may need a size beside it: hence the others.
pub(super) fn worth_measuring(curve: &[OfLru], wishes: &Wishes) -> Vec<u64> {
    let working_set = curve.last().map_or(1, |point| point.capacity_bytes);
    let most = wishes.memory_bytes.unwrap_or(working_set).min(working_set);
    let allowed: Vec<&OfLru> = curve.iter().filter(|point| point.capacity_bytes <= most).collect();
    let best = allowed.last().map_or(0.0, |point| point.hit_ratio);
    let wanted = wishes.min_hit_ratio.map_or(best - LIKE_HITS, |least| least.min(best));
    let enough = allowed.iter().find(|point| point.hit_ratio >= wanted);
    let middle = enough.map_or(most, |point| point.capacity_bytes);
    let mut sizes: Vec<u64> = [middle / 4, middle / 2, middle, middle.saturating_mul(2)]
        .into_iter()
        .map(|size| size.clamp(1, most))
        .collect();
    sizes.dedup();
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve() -> Vec<OfLru> {
        let ratios = [0.10, 0.30, 0.50, 0.60, 0.605, 0.606];
        (0..)
            .zip(ratios)
            .map(|(at, hit_ratio)| OfLru { capacity_bytes: 100 << at, hit_ratio })
            .collect()
    }

    #[test]
    fn sizes_stand_around_the_one_from_which_room_buys_little() {
        let sizes = |wishes: Wishes| worth_measuring(&curve(), &wishes);
        assert_eq!(sizes(Wishes::default()), [200, 400, 800, 1600]);
        // A limit of memory is the largest size.
        let wishes = Wishes { memory_bytes: Some(500), ..Wishes::default() };
        assert_eq!(sizes(wishes), [100, 200, 400, 500]);
        let wishes = Wishes { min_hit_ratio: Some(0.3), ..Wishes::default() };
        assert_eq!(sizes(wishes), [50, 100, 200, 400]);
        // What cannot be reached is tried at the largest sizes.
        let wishes = Wishes { min_hit_ratio: Some(0.99), ..Wishes::default() };
        assert_eq!(sizes(wishes), [800, 1600, 3200]);
    }
}
