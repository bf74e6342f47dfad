//! Ranks by Zipf's law, one draw and two logarithms each, whatever the number of ranks.
//!
//! Rejection-inversion: W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from monotone discrete
//! distributions", 1996. Exact for every exponent from 0, with 1 no special case, and without a table. The Zipf of
//! `rand_distr` needs up to nine times as long, because it rejects more and takes more powers.

use rand::Rng;

/// Zipf's law over the ranks 1 to n.
#[derive(Debug, Clone, Copy)]
pub(super) struct Zipf {
    n: f64,
    theta: f64,
    /// The area under the hat left of rank 1, and of all ranks.
    area: [f64; 2],
    /// A draw this near below its rank is under the histogram, without looking.
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

    /// How often a rank comes, compared with rank 1.
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

/// Below, (e^x − 1) / x and ln(1 + x) / x are 1 to the last digit.
const TINY: f64 = f64::EPSILON;

/// A number from 0 to below 1.
#[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
#[inline]
pub(super) fn unit(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (f64::EPSILON / 2.0)
}
