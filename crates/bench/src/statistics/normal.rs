//! The normal distribution's tail, which the standard library does not have.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// The probability that a standard normal variable is below `x`.
pub(crate) fn normal_cdf(x: f64) -> f64 {
    0.5 * erfc(-x * FRAC_1_SQRT_2)
}

/// The complementary error function, right to at least 11 digits however small it becomes.
///
/// Near zero the series 7.1.6 of Abramowitz and Stegun, whose terms are all positive; beyond, the continued
/// fraction 7.1.14, from its tail, because there 1 − erf would lose its digits.
pub(super) fn erfc(x: f64) -> f64 {
    if x < 0.0 {
        return 2.0 - erfc(-x);
    }
    let bell = (-x * x).exp() / PI.sqrt();
    if x < 2.0 {
        let mut term = 2.0 * x * bell;
        let mut sum = term;
        let mut n = 1.0;
        while term > sum * f64::EPSILON {
            term *= 2.0 * x * x / (2.0 * n + 1.0);
            sum += term;
            n += 1.0;
        }
        return 1.0 - sum;
    }
    let tail = (1..=100).rev().fold(x, |tail, n| x + f64::from(n) / 2.0 / tail);
    bell / tail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_scipys() {
        let data = include_str!("../../tests/data/statistics.json");
        let data: serde_json::Value = serde_json::from_str(data).unwrap();
        let cases = data["erfc"].as_array().unwrap();
        assert!(cases.len() > 10);
        for case in cases {
            let (x, expected) = (case[0].as_f64().unwrap(), case[1].as_f64().unwrap());
            let error = (erfc(x) - expected).abs() / expected;
            assert!(error < 1e-11, "erfc({x}) is {}, not {expected}", erfc(x));
        }
        assert!((normal_cdf(1.959_963_984_540_054) - 0.975).abs() < 1e-15);
    }
}
