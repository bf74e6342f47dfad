//! The rate and the regularity of operations, where the target does not set them.

use std::fmt;
use std::str::FromStr;

use super::spec::Count;

/// The spread of operations of a given rate over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ArrivalKind {
    /// At the same distance.
    #[default]
    Fixed,
    /// Independent of each other, like those of many callers: now and then several arrive at once.
    Exponential,
    /// As a trace recorded them.
    Trace,
}

impl fmt::Display for ArrivalKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Fixed => "fixed",
            Self::Exponential => "exponential",
            Self::Trace => "trace",
        })
    }
}

impl FromStr for ArrivalKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "fixed" => Ok(Self::Fixed),
            "exponential" => Ok(Self::Exponential),
            "trace" => Ok(Self::Trace),
            _ => Err(format!("`{text}` is not fixed, exponential or trace")),
        }
    }
}

/// Rates to try one after the other: `10k:50k:10k`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scan {
    from: Count,
    to: Count,
    step: Count,
}

impl Scan {
    /// The most rates of a scan: each rate is a separate point.
    const MOST: u32 = 1000;

    /// The rates, rising.
    pub fn rates(self) -> impl Iterator<Item = Count> {
        (self.from.0..=self.to.0).step_by(self.step.0 as usize).map(Count)
    }
}

impl fmt::Display for Scan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}:{}:{}", self.from, self.to, self.step))
    }
}

impl FromStr for Scan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split(':').collect();
        let [from, to, step] = parts[..] else {
            return Err(format!("`{text}`: write from:to:step, such as 10k:50k:10k"));
        };
        let (from, to, step): (Count, Count, Count) = (from.parse()?, to.parse()?, step.parse()?);
        if from > to {
            return Err(format!(
                "`{text}`: it begins above its end {to}; write the lower rate first"
            ));
        }
        let rates = (to.0 - from.0) / step.0 + 1;
        if rates > Self::MOST {
            return Err(format!(
                "`{text}`: {rates} rates, at most {}; take a larger step",
                Self::MOST
            ));
        }
        Ok(Self { from, to, step })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_has_every_rate_from_the_first_to_the_last() {
        let rates = |text: &str| {
            let scan: Scan = text.parse().unwrap();
            scan.rates().map(|rate| rate.0).collect::<Vec<_>>()
        };
        assert_eq!(rates("10k:30k:10k"), [10_000, 20_000, 30_000]);
        assert_eq!(rates("1:6:2"), [1, 3, 5]);
        assert_eq!(rates("5k:5k:1"), [5000]);
        assert_eq!("10k:30k:10k".parse::<Scan>().unwrap().to_string(), "10000:30000:10000");
    }

    #[test]
    fn a_wrong_scan_says_why() {
        for (text, why) in [
            ("10k", "from:to:step"),
            ("1:2:3:4", "from:to:step"),
            ("2k:1k:1", "the lower rate first"),
            ("1:2:0", "whole number"),
            ("1:100k:1", "a larger step"),
        ] {
            let error = text.parse::<Scan>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
