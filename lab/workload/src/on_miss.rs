//! The operation that follows a read that finds nothing.

use std::fmt;
use std::str::FromStr;

/// The operation that follows a miss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnMiss {
    /// Nothing.
    #[default]
    Skip,
    /// The value is stored.
    Fill,
    /// A value is stored under the key after the missed key. A loop that counts its keys up between get and set never
    /// reads what it stored.
    FillNext,
}

impl OnMiss {
    /// Whether a value is stored.
    pub fn fills(self) -> bool {
        self != Self::Skip
    }
}

impl fmt::Display for OnMiss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Skip => "skip",
            Self::Fill => "fill",
            Self::FillNext => "fill-next",
        })
    }
}

impl FromStr for OnMiss {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "skip" => Ok(Self::Skip),
            "fill" => Ok(Self::Fill),
            "fill-next" => Ok(Self::FillNext),
            _ => Err(format!("`{text}` is not fill, fill-next or skip")),
        }
    }
}
