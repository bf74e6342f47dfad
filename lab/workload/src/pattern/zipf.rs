//! Ranks by Zipf's law, one draw and two logarithms each, for any number of ranks.
//!
//! Rejection-inversion: W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from monotone discrete
//! distributions", 1996. The method is exact for every exponent from 0, without a special case at 1 and without a
//! table. The Zipf of `rand_distr` needs up to nine times as long, because it rejects more and takes more powers.

use rand::Rng;

/// Zipf's law over the ranks 1 to n.
#[derive(Debug, Clone, Copy)]
pub(super) struct Zipf {
    n: f64,
    theta: f64,
    /// The area under the hat left of rank 1, and of all ranks.
    area: [f64; 2],
    /// A draw this near below its rank is under the histogram without a further test.
    sure: f64,
}

impl Zipf {
    pub(super) fn new(n: u32, theta: f64) -> Self {
        let mut zipf = Self { n: f64::from(n), theta, area: [0.0; 2], sure: 0.0 };
        zipf.area = [zipf.area_upto(1.5) - 1.0, zipf.area_upto(zipf.n + 0.5)];
        zipf.sure = 2.0 - zipf.rank_at(zipf.area_upto(2.5) - zipf.weight(2.0));
        zipf
    }

    /// A rank, from 0 for the most frequent.
    #[inline]
    pub(super) fn draw(&self, rng: &mut impl Rng) -> u32 {
        let [first, all] = self.area;
        loop {
            let area = all + unit(rng) * (first - all);
            let at = self.rank_at(area);
            let rank = at.round().clamp(1.0, self.n);
            if rank - at <= self.sure || area >= self.area_upto(rank + 0.5) - self.weight(rank) {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "from 1 to n, which is a u32"
                )]
                return rank as u32 - 1;
            }
        }
    }

    /// The frequency of a rank, compared with rank 1.
    pub(super) fn weight(&self, rank: f64) -> f64 {
        (-self.theta * rank.ln()).exp()
    }

    /// The integral of the weight: (x^(1−θ) − 1) / (1−θ), which becomes ln x as θ goes to 1.
    fn area_upto(&self, rank: f64) -> f64 {
        let log = rank.ln();
        let exponent = (1.0 - self.theta) * log;
        log * if exponent.abs() > TINY { exponent.exp_m1() / exponent } else { 1.0 }
    }

    /// The inverse of [`Zipf::area_upto`].
    #[inline]
    fn rank_at(&self, area: f64) -> f64 {
        let exponent = ((1.0 - self.theta) * area).max(-1.0);
        let log = area * if exponent.abs() > TINY { exponent.ln_1p() / exponent } else { 1.0 };
        log.exp()
    }
}

/// Below this value, (e^x − 1) / x and ln(1 + x) / x are 1 to the last digit.
const TINY: f64 = f64::EPSILON;

/// A number from 0 to below 1.
#[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
#[inline]
pub(super) fn unit(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (f64::EPSILON / 2.0)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// The sum over all ranks of (seen − expected)² / expected, and the degrees of freedom. Ranks expected less than
    /// ten times count together as one.
    fn chi_square(n: u32, theta: f64, draws: u32) -> (f64, f64) {
        let zipf = Zipf::new(n, theta);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(u64::from(n));
        let mut seen = vec![0_u32; n as usize];
        for _ in 0..draws {
            seen[zipf.draw(&mut rng) as usize] += 1;
        }
        let power = |rank: u32| f64::from(rank).powf(-theta);
        let all: f64 = (1..=n).map(power).sum();
        let (mut sum, mut groups, mut rare) = (0.0, 0.0, (0.0, 0.0));
        for (rank, &seen) in (1..).zip(&seen) {
            rare = (rare.0 + power(rank) / all * f64::from(draws), rare.1 + f64::from(seen));
            if rare.0 >= 10.0 || rank == n {
                sum += (rare.1 - rare.0).powi(2) / rare.0.max(1.0);
                groups += 1.0;
                rare = (0.0, 0.0);
            }
        }
        (sum, groups - 1.0)
    }

    #[test]
    fn ranks_come_as_often_as_the_law_says_for_every_exponent() {
        for theta in [0.0, 1e-9, 0.5, 0.99, 1.0 - 1e-12, 1.0, 1.0 + 1e-9, 1.2, 2.0, 5.0, 10.0] {
            for n in [1, 2, 3, 10, 1000] {
                let (sum, freedom) = chi_square(n, theta, 200_000);
                // Four standard deviations above the mean of the chi-square distribution.
                let limit = freedom + 4.0 * (2.0 * freedom).sqrt() + 4.0;
                assert!(sum < limit, "n {n}, theta {theta}: {sum} > {limit}");
            }
        }
    }

    #[test]
    fn the_largest_range_is_no_special_case() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for theta in [0.0, 0.5, 0.99, 1.0, 3.0] {
            let zipf = Zipf::new(u32::MAX, theta);
            let largest = (0..10_000).map(|_| zipf.draw(&mut rng)).max();
            assert!(largest < Some(u32::MAX), "ranks are counted from 0");
            assert!(theta > 0.5 || largest > Some(u32::MAX / 10 * 9), "{theta}: {largest:?}");
        }
    }
}
