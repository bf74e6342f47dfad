//! The requested precision of the rates.

use std::fmt;
use std::str::FromStr;

/// Rounds go on until the interval of every rate lies within this share of the rate, above 0 and below 1; written in
/// percent.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Until(pub f64);

impl Until {
    /// The precision of the ratio of two rates that are each known to this precision and vary independently.
    ///
    /// It does not hold where most rounds of a target lie close together and some far away. The median then has a
    /// narrow interval long before a test can tell it from a slightly different median.
    pub fn of_ratio(self) -> f64 {
        self.0 * std::f64::consts::SQRT_2
    }
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // To the thousandth of a percent: 0.02 is 2 %, not 2.0000000000000004 %.
        write!(f, "{}%", (self.0 * 1e5).round() / 1e3)
    }
}

impl FromStr for Until {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let percent = text.trim().strip_suffix('%').and_then(|number| number.trim().parse().ok());
        let share = percent.map(|percent: f64| percent / 100.0);
        let share = share.filter(|share| (0.001..1.0).contains(share));
        share.map(Self).ok_or_else(|| {
            format!("`{text}` is not from 0.1% to below 100%: write 2%, for example")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_analysis::statistics::half_width;

    #[test]
    fn it_is_written_in_percent() {
        for (text, share) in [("2%", 0.02), ("0.5 %", 0.005), (" 10%", 0.1)] {
            let until: Until = text.parse().unwrap();
            assert!((until.0 - share).abs() < 1e-12, "{text}");
        }
        assert_eq!("2%".parse::<Until>().unwrap().to_string(), "2%");
        assert_eq!("2.5 %".parse::<Until>().unwrap().to_string(), "2.5%");
        for text in ["2", "0.02", "0%", "0.01%", "100%", "-1%", "NaN%", "%", ""] {
            assert!(text.parse::<Until>().is_err(), "{text}");
        }
    }

    #[test]
    fn both_ends_must_be_near() {
        let near = |ci95| half_width(100.0, ci95) <= Until(0.02).0;
        assert!(near(Some([98.5, 101.5])));
        assert!(!near(Some([97.5, 100.0])));
        assert!(!near(Some([100.0, 102.5])));
        assert!(!near(None));
    }
}
