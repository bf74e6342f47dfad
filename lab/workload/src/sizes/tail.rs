//! Distributions with a tail, as in mutilate, and Facebook's figures for its ETC pool (Atikoglu et al., "Workload
//! analysis of a large-scale key-value store", SIGMETRICS 2012).

use std::fmt;

use super::number;

/// Location, scale and shape of a generalized Pareto or extreme value distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tail {
    location: f64,
    scale: f64,
    shape: f64,
}

/// The lengths of keys.
pub(super) const FACEBOOK_KEY: Tail = Tail { location: 30.7984, scale: 8.20449, shape: 0.078_688 };

/// The sizes of values from 15 bytes on.
pub(super) const FACEBOOK_VALUE: Tail = Tail { location: 15.0, scale: 214.476, shape: 0.348_238 };

/// The shares of values with 0, 1, … 14 bytes.
const FACEBOOK_SMALL_VALUES: [f64; 15] = [
    0.00536, 0.00047, 0.17820, 0.09239, 0.00018, 0.02740, 0.00065, 0.00606, 0.00023, 0.00837,
    0.00837, 0.08989, 0.00092, 0.00326, 0.01980,
];

impl Tail {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let parts: Vec<f64> = text.split(',').map(number).collect::<Result<_, _>>()?;
        let [location, scale, shape] = parts[..] else {
            return Err("not location, scale and shape; write gpareto:15,214.476,0.348238".into());
        };
        if scale <= 0.0 {
            return Err(format!("scale {scale} is not above 0"));
        }
        Ok(Self { location, scale, shape })
    }

    /// Generalized Pareto; the smaller `u`, the farther out.
    pub(super) fn pareto(self, u: f64) -> f64 {
        self.quantile(u)
    }

    /// Generalized extreme value; the larger `u`, the farther out.
    pub(super) fn extreme(self, u: f64) -> f64 {
        self.quantile(-u.ln())
    }

    /// The shared term of the two: (x^−shape − 1) / shape, which becomes −ln x as the shape goes to zero.
    fn quantile(self, x: f64) -> f64 {
        let exponent = -self.shape * x.ln();
        let stretch = if self.shape == 0.0 { -x.ln() } else { exponent.exp_m1() / self.shape };
        self.location + self.scale * stretch
    }
}

impl fmt::Display for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{},{}", self.location, self.scale, self.shape)
    }
}

/// The size of a value of the ETC pool: a small size by `u`, otherwise from the tail by `v`.
pub(super) fn facebook_value(u: f64, v: f64) -> f64 {
    let mut upto = 0.0;
    for (size, share) in (0_u8..).zip(FACEBOOK_SMALL_VALUES) {
        upto += share;
        if u < upto {
            return f64::from(size);
        }
    }
    FACEBOOK_VALUE.pareto(v)
}
