//! The clock on which a trace is replayed.

use std::fmt;
use std::str::FromStr;

/// The pace at which the operations of a trace come.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Replay {
    /// As fast as a target answers.
    #[default]
    Asap,
    /// At their recorded times, so many times as fast.
    Times(f64),
}

impl Replay {
    /// The slowest and the fastest replay, in times of the recording.
    const SPEEDS: std::ops::RangeInclusive<f64> = 0.001..=1e6;

    /// How many times as fast as the recording; `None` where the target sets the pace.
    pub fn speed(self) -> Option<f64> {
        match self {
            Self::Asap => None,
            Self::Times(speed) => Some(speed),
        }
    }
}

impl fmt::Display for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asap => f.pad("asap"),
            Self::Times(speed) => f.pad(&format!("{speed}x")),
        }
    }
}

impl FromStr for Replay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "asap" {
            return Ok(Self::Asap);
        }
        let speed = text.strip_suffix('x').and_then(|number| number.parse().ok());
        let speed = speed.filter(|speed| Self::SPEEDS.contains(speed));
        speed.map(Self::Times).ok_or_else(|| {
            format!("`{text}` is not asap, nor a speed from 0.001x to 1000000x such as 1x or 10x")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_read_as_it_is_printed() {
        for text in ["asap", "1x", "10x", "0.5x"] {
            assert_eq!(text.parse::<Replay>().unwrap().to_string(), text);
        }
        for text in ["", "x", "0x", "-1x", "NaNx", "infx", "10", "1e9x", "fast"] {
            let error = text.parse::<Replay>().unwrap_err();
            assert!(error.starts_with(&format!("`{text}` is not asap")), "{error}");
        }
    }
}
