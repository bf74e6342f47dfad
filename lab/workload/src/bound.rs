//! The bound on the latency for the search of the highest rate.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use larder_store::Span;

/// A quantile of the latency that must not be longer than this: `p99:1ms`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// From 0 to 1; 1 is the slowest operation.
    pub quantile: f64,
    /// The bound, from the intended start.
    pub within: Duration,
}

impl Bound {
    /// The number of operations beyond a quantile that it needs.
    const BEYOND: f64 = 10.0;
    /// The number of operations for a `max`, though no number is enough for a maximum.
    const FOR_THE_MAX: u64 = 10_000;

    /// The name of the quantile: `p99.9`, `max`.
    pub fn name(&self) -> String {
        if self.quantile < 1.0 { format!("p{}", percent(self.quantile)) } else { "max".to_owned() }
    }

    /// The least number of operations of a trial that gives this quantile.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small number of operations"
    )]
    pub fn operations(&self) -> u64 {
        if self.quantile < 1.0 {
            (Self::BEYOND / (1.0 - self.quantile)).round() as u64
        } else {
            Self::FOR_THE_MAX
        }
    }

    /// The bound in nanoseconds.
    pub fn within_ns(&self) -> u64 {
        u64::try_from(self.within.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// A quantile in percent, without the noise of its digits.
fn percent(quantile: f64) -> f64 {
    (quantile * 1e6).round() / 1e4
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}:{}", self.name(), Span(self.within)))
    }
}

impl FromStr for Bound {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form =
            || format!("`{text}`: write a percentile and a time, such as p99:1ms or max:10ms");
        let (name, time) = text.split_once(':').ok_or_else(form)?;
        let Span(within) = time.parse().map_err(|_| form())?;
        let quantile = match name.strip_prefix('p') {
            _ if name == "max" => 1.0,
            Some(number) => number.parse::<f64>().map_err(|_| form())? / 100.0,
            None => return Err(form()),
        };
        let is_known = quantile >= 1.0 || (0.5..=0.9991).contains(&quantile);
        if within.is_zero() || !is_known || (quantile >= 1.0 && name != "max") {
            return Err(format!(
                "`{text}`: a percentile from p50 to p99.9 or max, and a time above 0"
            ));
        }
        Ok(Self { quantile, within })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_has_as_many_operations_as_its_quantile_needs() {
        for (text, operations, shown) in [
            ("p50:2ms", 20, "p50:2ms"),
            ("p99:1ms", 1000, "p99:1ms"),
            ("p99.9:500us", 10_000, "p99.9:500us"),
            ("max:1s", 10_000, "max:1s"),
        ] {
            let bound: Bound = text.parse().unwrap();
            assert_eq!((bound.operations(), bound.to_string().as_str()), (operations, shown));
        }
    }

    #[test]
    fn a_text_that_is_no_bound_is_refused() {
        for text in ["p99", "p99:", "99:1ms", "p10:1ms", "p99.99:1ms", "p100:1ms", "p99:0s", "max"]
        {
            assert!(text.parse::<Bound>().is_err(), "{text}");
        }
    }
}
