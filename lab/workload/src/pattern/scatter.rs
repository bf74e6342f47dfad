//! A permutation of the keys that needs no memory.

use rand::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

/// A permutation of the numbers below `n`, made of invertible steps.
///
/// First comes a multiplication by a number that is coprime to `n`, and an addition, modulo `n`. That separates
/// neighbours, but evenly. So the numbers below the largest power of two in `n` are then mixed among themselves. This
/// takes an odd factor, and a shift combined by exclusive or. The steps cost a few nanoseconds and have no loop. A
/// permutation of a larger range, walked until it is back below `n`, costs several times that. The processor cannot
/// predict the number of steps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scatter {
    n: u64,
    /// The multiplier as a share of `n`, in 2^-64, rounded up. Times a number below 2^32 the error is less than 2^-32
    /// of the whole, and so the product modulo `n` is exact.
    step: u64,
    /// The addend, below `n`.
    offset: u64,
    /// The largest power of two that is not above `n`.
    power: u64,
    /// The odd factor.
    factor: u64,
    /// Half the bits of a number below `power`.
    half: u32,
}

impl Scatter {
    pub(super) fn new(n: u32, seed: u64) -> Self {
        let mut rng = SplitMix64::seed_from_u64(seed);
        let n = u64::from(n);
        let mut multiplier = share(rng.next_u64(), n);
        while greatest_common_divisor(multiplier, n) != 1 {
            multiplier = (multiplier + 1) % n;
        }
        let step = (u128::from(multiplier) << 64).div_ceil(u128::from(n));
        let bits = n.ilog2();
        Self {
            n,
            #[expect(clippy::cast_possible_truncation, reason = "the multiplier is below n")]
            step: step as u64,
            offset: share(rng.next_u64(), n),
            power: 1 << bits,
            factor: rng.next_u64() | 1,
            half: bits.div_ceil(2).max(1),
        }
    }

    /// Replaces each number by its image; all numbers must be below `n`.
    pub(super) fn apply(&self, numbers: &mut [u32]) {
        for number in numbers {
            *number = self.at(*number);
        }
    }

    #[inline]
    fn at(&self, number: u32) -> u32 {
        let mut x = share(u64::from(number).wrapping_mul(self.step), self.n) + self.offset;
        if x >= self.n {
            x -= self.n;
        }
        if x < self.power {
            x = x.wrapping_mul(self.factor) & (self.power - 1);
            x ^= x >> self.half;
        }
        #[expect(clippy::cast_possible_truncation, reason = "below n, which was a u32")]
        let number = x as u32;
        number
    }
}

/// The same share of `n` as `part` is of 2^64, rounded down.
#[inline]
fn share(part: u64, n: u64) -> u64 {
    ((u128::from(part) * u128::from(n)) >> 64) as u64
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if a == 0 { b } else { greatest_common_divisor(b % a, a) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_once() {
        for n in (1..70).chain([127, 128, 129, 1000, 4096, 10_007]) {
            for seed in 0..5 {
                let scatter = Scatter::new(n, seed);
                let mut seen: Vec<u32> = (0..n).map(|i| scatter.at(i)).collect();
                seen.sort_unstable();
                assert!(seen.into_iter().eq(0..n), "n {n}, seed {seed}");
            }
        }
    }

    #[test]
    fn neighbours_part_and_the_seed_decides_where_to() {
        let n = 1_000_000;
        let (a, b) = (Scatter::new(n, 1), Scatter::new(n, 2));
        let near = (0..1000).filter(|&i| a.at(i).abs_diff(a.at(i + 1)) < n / 100).count();
        assert!(near < 60, "{near} of 1000 neighbours stay within 1 %, where 20 would by chance");
        assert!((0..1000).filter(|&i| a.at(i) == b.at(i)).count() < 10);
        // Each tenth of the range gets about as many of the first thousand as chance gives it.
        for tenth in 0..10 {
            let range = tenth * (n / 10)..(tenth + 1) * (n / 10);
            let count = (0..1000).filter(|&i| range.contains(&a.at(i))).count();
            assert!((50..150).contains(&count), "{count} of 1000 in {range:?}");
        }
    }

    #[test]
    fn the_whole_range_is_no_special_case() {
        let scatter = Scatter::new(u32::MAX, 3);
        assert_ne!(scatter.at(0), scatter.at(1));
        assert!(scatter.at(u32::MAX - 1) < u32::MAX);
    }
}
