//! Figures of other simulators on one small made trace: libCacheSim 0.3.5, by the authors of S3-FIFO and SIEVE, and
//! `sketch.WindowTinyLfu` of Caffeine's simulator, with their defaults and entries of one size.

use super::{Policy, hits_of_entries, reads};
use crate::policy::{Fifo, Lru, S3Fifo, Sieve, WTinyLfu};
use crate::step::Step;

/// The capacities in entries.
const CAPACITIES: [u64; 4] = [50, 100, 500, 2000];

/// 40,000 reads. Small keys are frequent, and every tenth read is of a key that never comes again.
fn trace() -> Vec<Step> {
    let mut state = 5_u64;
    let mut draw = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let key = |at: u32| {
        let drawn = draw();
        let bits = (drawn & 0xff) % 13;
        let key = drawn >> 8 & ((1 << bits) - 1);
        if at % 10 == 9 { 100_000 + at } else { u32::try_from(key).unwrap() }
    };
    reads(&(0..40_000).map(key).collect::<Vec<_>>())
}

fn hits<P: Policy>(trace: &[Step]) -> [u64; 4] {
    let count =
        |capacity| hits_of_entries::<P>(trace, capacity).into_iter().filter(|hit| *hit).count();
    CAPACITIES.map(|capacity| count(capacity) as u64)
}

#[test]
fn queues_hit_exactly_what_those_of_libcachesim_hit() {
    let trace = trace();
    assert_eq!(hits::<Lru>(&trace), [15_950, 18_995, 26_241, 31_354]);
    assert_eq!(hits::<Fifo>(&trace), [13_938, 17_093, 24_446, 30_029]);
    assert_eq!(hits::<Sieve>(&trace), [20_394, 22_961, 28_601, 32_041]);
    assert_eq!(hits::<S3Fifo>(&trace), [20_528, 23_224, 28_847, 32_098]);
}

/// The hash of the sketch is another one, so a few other keys share a counter.
#[test]
fn w_tiny_lfu_hits_what_that_of_caffeine_hits_within_half_a_point() {
    let ours = hits::<WTinyLfu>(&trace());
    for (ours, caffeine) in ours.into_iter().zip([20_482, 23_347, 29_000, 32_189_u64]) {
        assert!(ours.abs_diff(caffeine) < 200, "{ours} of 40000 reads, {caffeine} in Caffeine");
    }
}
