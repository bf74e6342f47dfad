//! The limit of an assertion: its comparison, and its figure in the metric's unit.

use std::str::FromStr;

use larder_store::ByteSize;

/// The comparison of a figure with its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparator {
    Below,
    AtMost,
    Above,
    AtLeast,
}

impl Comparator {
    /// Every comparator with its sign; the signs of two characters come first, because they begin like the others.
    const SIGNS: [(&'static str, Self); 4] =
        [("<=", Self::AtMost), (">=", Self::AtLeast), ("<", Self::Below), (">", Self::Above)];

    /// Takes the sign from the beginning of a text.
    pub(super) fn split(text: &str) -> Option<(Self, &str)> {
        let known = Self::SIGNS.iter();
        known
            .into_iter()
            .find_map(|(sign, comparator)| Some((*comparator, text.strip_prefix(sign)?)))
    }

    /// Whether the limit is a lower limit.
    pub(super) fn is_lower(self) -> bool {
        matches!(self, Self::Above | Self::AtLeast)
    }

    pub(super) fn holds(self, figure: f64, limit: f64) -> bool {
        match self {
            Self::Below => figure < limit,
            Self::AtMost => figure <= limit,
            Self::Above => figure > limit,
            Self::AtLeast => figure >= limit,
        }
    }
}

/// The kind of the limited figure, which decides its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nanoseconds.
    Time,
    /// Operations a second.
    Rate,
    /// From 0 to 1.
    Share,
    /// Operations, or a share of all operations.
    Count,
    /// Bytes.
    Size,
}

/// The figure of a limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Limit {
    /// In the unit of the metric.
    Figure(f64),
    /// For a count: a share of all operations.
    ShareOfOperations(f64),
}

impl Kind {
    /// Reads a limit of this kind.
    pub(super) fn limit(self, text: &str) -> Option<Limit> {
        let text = text.trim();
        let figure = match self {
            Self::Time => {
                scaled(text, &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)])?
            }
            Self::Rate => {
                let text = text.strip_suffix("/s").map_or(text, str::trim_end);
                scaled(text, &THOUSANDS)?
            }
            Self::Share => scaled(text, &[("%", 0.01), ("", 1.0)]).filter(|share| *share <= 1.0)?,
            Self::Count => {
                if let Some(share) = scaled(text, &[("%", 0.01)]) {
                    return (share <= 1.0).then_some(Limit::ShareOfOperations(share));
                }
                scaled(text, &THOUSANDS)?
            }
            Self::Size => {
                let ByteSize(bytes) = text.parse().ok()?;
                #[expect(clippy::cast_precision_loss, reason = "a limit, of few digits")]
                let bytes = bytes as f64;
                bytes
            }
        };
        figure.is_finite().then_some(Limit::Figure(figure))
    }

    /// The expected form of a limit of this kind.
    pub(super) fn expected(self) -> &'static str {
        match self {
            Self::Time => "a time with its unit, such as 1ms or 250us",
            Self::Rate => "a rate, such as 50k or 1.2M",
            Self::Share => "a share up to 100%, such as 95% or 0.95",
            Self::Count => {
                "a number, such as 0 or 1k, or a share of the operations up to 100%, such as 0.1%"
            }
            Self::Size => "a size, such as 64M or 1GiB",
        }
    }
}

/// Units of plain numbers.
pub(super) const THOUSANDS: [(&str, f64); 7] =
    [("k", 1e3), ("K", 1e3), ("M", 1e6), ("m", 1e6), ("G", 1e9), ("g", 1e9), ("", 1.0)];

/// A number from 0 on, followed by one of these units.
pub(super) fn scaled(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim_start());
    let (_, factor) = units.iter().find(|(known, _)| *known == unit)?;
    Some(f64::from_str(number).ok()? * factor)
}
