//! The law of Zipf that fits the popularity of keys best, and how well it fits.
//!
//! If the key of rank r has r^−s of the uses, then the share of the keys with at least x uses is x^(1−a) with
//! s = 1 / (a − 1) (Adamic and Huberman, "Zipf's law and the Internet", Glottometrics 2002). The exponent `a` of such
//! counts is estimated by maximum likelihood, and the least count from which on the law holds is the one at which the
//! distance of Kolmogorov and Smirnov is smallest (Clauset, Shalizi and Newman, "Power-Law Distributions in Empirical
//! Data", SIAM Review 2009). A straight line through logarithms, which is often drawn in place of this, is biased and
//! fits almost everything.
//!
//! Each key of a sample by hash has its full count, so the sample of counts is a fair one.

/// Fewer keys tell no law.
const LEAST_KEYS: usize = 50;

/// The least counts that are tried at most.
const TRIED: usize = 40;

/// The law that fits best.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fit {
    /// The exponent s of the share against the rank.
    pub(crate) exponent: f64,
    /// Its standard error.
    pub(crate) error: f64,
    /// The law holds for keys with this many uses and more.
    pub(crate) least: u32,
    /// The share of the keys with this many uses.
    pub(crate) keys: f64,
    /// The largest difference between the law and the counts, as a share of these keys.
    pub(crate) distance: f64,
}

/// Fits counts of uses, one a key; `None` where too few keys have different counts.
pub(crate) fn fit(counts: &[u32]) -> Option<Fit> {
    let mut sorted = counts.to_vec();
    sorted.sort_unstable();
    let tails = Tails::of(&sorted);
    let candidates = tails.candidates();
    let fits = candidates.iter().filter_map(|first| tails.fit(*first));
    fits.min_by(|one, other| one.distance.total_cmp(&other.distance))
}

/// Different counts, rising, and for each what the keys with at least that count tell.
struct Tails {
    values: Vec<u32>,
    /// Keys with at least this count.
    keys: Vec<f64>,
    /// The sum of the logarithms of their counts.
    logs: Vec<f64>,
}

impl Tails {
    fn of(sorted: &[u32]) -> Self {
        let (mut values, mut keys, mut logs) = (Vec::new(), Vec::new(), Vec::new());
        let (mut n_keys, mut log) = (0.0, 0.0);
        for same in sorted.chunk_by(|one, other| one == other).rev() {
            let Some(value) = same.first().filter(|value| **value > 0) else { continue };
            n_keys += number(same.len());
            log += number(same.len()) * f64::from(*value).ln();
            values.push(*value);
            keys.push(n_keys);
            logs.push(log);
        }
        for list in [&mut keys, &mut logs] {
            list.reverse();
        }
        values.reverse();
        Self { values, keys, logs }
    }

    /// The places of the least counts to try, from 1 on in steps that multiply, as long as enough keys are left.
    fn candidates(&self) -> Vec<usize> {
        let enough =
            |at: &usize| self.keys[*at] >= number(LEAST_KEYS) && self.values.len() - at >= 2;
        let last = (0..self.values.len()).take_while(enough).last();
        let Some(last) = last else { return Vec::new() };
        let growth = f64::from(self.values[last]).powf(1.0 / number(TRIED)).max(1.0 + 1e-9);
        let mut places = Vec::new();
        let mut wanted = 1.0;
        for (at, value) in self.values[..=last].iter().enumerate() {
            if f64::from(*value) >= wanted {
                places.push(at);
                wanted = (f64::from(*value) * growth).max(f64::from(*value) + 1.0);
            }
        }
        places
    }

    fn fit(&self, first: usize) -> Option<Fit> {
        let (least, n_keys) = (self.values[first], self.keys[first]);
        let mean_log = self.logs[first] / n_keys;
        let power = most_likely(f64::from(least), mean_log)?;
        let exponent = 1.0 / (power - 1.0);
        Some(Fit {
            exponent,
            // The error of the power is (a − 1) / √n, and s changes by s² for each unit of it.
            error: exponent / n_keys.sqrt(),
            least,
            keys: n_keys / self.keys[0],
            distance: self.distance(first, power),
        })
    }

    /// The largest difference between the shares of keys with at least some count.
    fn distance(&self, first: usize, power: f64) -> f64 {
        let all = zeta(power, f64::from(self.values[first]));
        let mut largest = 0.0_f64;
        for at in first..self.values.len() {
            let law = zeta(power, f64::from(self.values[at])) / all;
            largest = largest.max((self.keys[at] / self.keys[first] - law).abs());
        }
        largest
    }
}

/// The power a under which counts from `least` on with this mean logarithm are most likely, between 1 and 20.
///
/// The likelihood has one maximum, where the mean of the law is the mean of the counts. It is found by bisection: the
/// mean falls as the power rises.
fn most_likely(least: f64, mean_log: f64) -> Option<f64> {
    let mean_of_law = |power: f64| {
        const STEP: f64 = 1e-5;
        // The mean of the logarithms is the derivative of −ln ζ(a, least).
        (zeta(power - STEP, least).ln() - zeta(power + STEP, least).ln()) / (2.0 * STEP)
    };
    let (mut low, mut high) = (1.01, 20.0);
    if !(mean_of_law(high)..=mean_of_law(low)).contains(&mean_log) {
        return None;
    }
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if mean_of_law(middle) > mean_log { low = middle } else { high = middle }
    }
    Some(f64::midpoint(low, high))
}

/// The sum of k^−power over all whole k from `from` on: the zeta function of Hurwitz, by Euler and Maclaurin's formula.
fn zeta(power: f64, from: f64) -> f64 {
    const TERMS: i32 = 12;
    let head: f64 = (0..TERMS).map(|n| (from + f64::from(n)).powf(-power)).sum();
    let at = from + f64::from(TERMS);
    let tail = at.powf(1.0 - power) / (power - 1.0) + 0.5 * at.powf(-power);
    let first = power / 12.0 * at.powf(-power - 1.0);
    let second = power * (power + 1.0) * (power + 2.0) / 720.0 * at.powf(-power - 3.0);
    head + tail + first - second
}

#[expect(clippy::cast_precision_loss, reason = "a number of keys")]
fn number(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zeta_function_has_its_known_values() {
        let pi = std::f64::consts::PI;
        assert!((zeta(2.0, 1.0) - pi * pi / 6.0).abs() < 1e-8);
        assert!((zeta(4.0, 1.0) - pi.powi(4) / 90.0).abs() < 1e-8);
        assert!((zeta(2.0, 3.0) - (pi * pi / 6.0 - 1.25)).abs() < 1e-8);
    }

    /// The counts of keys under a law of Zipf, without chance.
    fn counts(n_keys: u32, exponent: f64, most: f64) -> Vec<u32> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let count = |rank| (most * f64::from(rank).powf(-exponent)).round() as u32;
        (1..=n_keys).map(count).collect()
    }

    #[test]
    fn the_exponent_of_a_law_is_found_again_and_fits() {
        for exponent in [0.6, 0.8, 1.0, 1.3] {
            let fit = fit(&counts(20_000, exponent, 3e6)).unwrap();
            assert!((fit.exponent - exponent).abs() < 0.03, "{exponent}: {fit:?}");
            assert!(fit.distance < 0.02, "{fit:?}");
            assert!(fit.keys > 0.5, "{fit:?}");
        }
    }

    #[test]
    fn a_sample_of_the_keys_tells_the_same() {
        let all = counts(100_000, 0.9, 1e6);
        let some: Vec<u32> = all.iter().copied().skip(17).step_by(50).collect();
        let fit = fit(&some).unwrap();
        assert!((fit.exponent - 0.9).abs() < 3.0 * fit.error.max(0.01), "{fit:?}");
    }

    #[test]
    fn counts_that_follow_another_law_fit_badly() {
        // Half of the keys have about a hundred uses, the others about ten thousand.
        let two: Vec<u32> = (0..2000)
            .map(|key| if key % 2 == 0 { 100 + key % 7 } else { 10_000 + key % 7 })
            .collect();
        let fit = fit(&two).unwrap();
        assert!(fit.distance > 0.1, "{fit:?}");
    }

    #[test]
    fn few_keys_or_equal_counts_tell_no_law() {
        assert_eq!(fit(&counts(40, 1.0, 1000.0)), None);
        assert_eq!(fit(&[3; 1000]), None);
        assert_eq!(fit(&[]), None);
    }
}
