//! Sizes and spans of time as people type and read them: `4k`, `1 MiB`, `250ms`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};

/// A number of bytes. Reads `4096`, `4k`, `4kb`, `4KiB`, `1.5m`, `2g`: every unit is a power of 1024, as in memcached's
/// `-m` and `-I`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ByteSize(pub u64);

impl ByteSize {
    /// The size as it is typed, exactly: `64m`, `1000`.
    pub fn typed(self) -> String {
        let units = [(40, "t"), (30, "g"), (20, "m"), (10, "k")];
        let fits = |power: &u32| self.0 > 0 && self.0.trailing_zeros() >= *power;
        let unit = units.into_iter().find(|(power, _)| fits(power));
        unit.map_or_else(
            || self.0.to_string(),
            |(power, unit)| format!("{}{unit}", self.0 >> power),
        )
    }
}

const BYTE_UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];

impl fmt::Display for ByteSize {
    /// At most one decimal, in the largest unit that the rounded figure fills: `1 MiB`, `2.1 MiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
        let mut value = self.0 as f64;
        let mut unit = 0;
        while value >= 1023.5 && unit + 1 < BYTE_UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        let text = format!("{value:.1}");
        f.pad(&format!("{} {}", text.strip_suffix(".0").unwrap_or(&text), BYTE_UNITS[unit]))
    }
}

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = split_unit(text);
        let power = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kb" | "kib" => 1,
            "m" | "mb" | "mib" => 2,
            "g" | "gb" | "gib" => 3,
            "t" | "tb" | "tib" => 4,
            _ => return Err(format!("`{text}` is not a size; write 4096, 4k, 64m or 1g")),
        };
        scaled(number, 1024_f64.powi(power))
            .map(Self)
            .ok_or_else(|| format!("`{text}` is not a size; write 4096, 4k, 64m or 1g"))
    }
}

/// A span of time. Reads `250ms`, `1.5s`, `10m`, `2h`, `1d`, and `0`. Any other number needs its unit: some readers take a
/// bare number as seconds, and others as milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(pub Duration);

impl fmt::Display for Span {
    /// The shortest exact form: `1.5s`, `250ms`, `10m`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        let units: [(u128, &str); 6] = [
            (3_600_000_000_000, "h"),
            (60_000_000_000, "m"),
            (1_000_000_000, "s"),
            (1_000_000, "ms"),
            (1_000, "us"),
            (1, "ns"),
        ];
        if nanos == 0 {
            return f.pad("0s");
        }
        for (size, unit) in units {
            if nanos.is_multiple_of(size) {
                return f.pad(&format!("{}{unit}", nanos / size));
            }
        }
        Ok(())
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = split_unit(text);
        if unit.is_empty()
            && let Ok(bare) = number.parse::<f64>()
        {
            let has_no_unit = || format!("`{text}` has no unit; write {number}ms or {number}s");
            return if bare == 0.0 { Ok(Self::default()) } else { Err(has_no_unit()) };
        }
        let nanos = match unit {
            "ns" => 1.0,
            "us" | "µs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" | "min" => 60e9,
            "h" => 3600e9,
            "d" => 86400e9,
            _ => return Err(format!("`{text}` is not a time; write 250ms, 30s, 10m or 1h")),
        };
        scaled(number, nanos)
            .map(|nanos| Self(Duration::from_nanos(nanos)))
            .ok_or_else(|| format!("`{text}` is not a time; write 250ms, 30s, 10m or 1h"))
    }
}

/// Splits `1.5 GiB` into `1.5` and `GiB`.
fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// `number * factor` as a whole number; `None` where `number` is no number or the product does not fit.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "bounded just before"
)]
fn scaled(number: &str, factor: f64) -> Option<u64> {
    if let Ok(whole) = number.parse::<u64>() {
        let product = u128::from(whole) * (factor as u128);
        return u64::try_from(product).ok();
    }
    let value = number.parse::<f64>().ok()? * factor;
    (value.is_finite() && (0.0..u64::MAX as f64).contains(&value)).then(|| value.round() as u64)
}

/// Text in, text out, for both types; a number is read as its digits.
macro_rules! as_text {
    ($type:ident, $name:literal, $what:literal) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl Visitor<'_> for Text {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($what)
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                    fn visit_u64<E: de::Error>(self, number: u64) -> Result<$type, E> {
                        number.to_string().parse().map_err(E::custom)
                    }
                    fn visit_i64<E: de::Error>(self, number: i64) -> Result<$type, E> {
                        number.to_string().parse().map_err(E::custom)
                    }
                    fn visit_f64<E: de::Error>(self, number: f64) -> Result<$type, E> {
                        number.to_string().parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_any(Text)
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": ["string", "integer"], "description": $what })
            }
        }
    };
}

as_text!(ByteSize, "ByteSize", "a size such as 4k, 64m or 1g");
as_text!(Span, "Span", "a time such as 250ms, 30s or 10m");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_typed_as_they_are_read() {
        for text in ["0", "1000", "4k", "64m", "1536m", "1g", "2t"] {
            assert_eq!(text.parse::<ByteSize>().unwrap().typed(), text);
        }
    }

    #[test]
    fn sizes_read_as_people_write_them() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("4k", 4096),
            ("2170k", 2_222_080),
            ("1.5KiB", 1536),
            ("64 MB", 64 << 20),
            ("1g", 1 << 30),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(text.parse(), Ok(ByteSize(bytes)), "{text}");
        }
        for text in ["", "k", "-1", "4q", "1..5k", "99999999999t", "1e400"] {
            assert!(text.parse::<ByteSize>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_show_at_most_one_decimal_in_the_unit_they_fill() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1 KiB"),
            (1_048_524, "1 MiB"),
            (2_222_080, "2.1 MiB"),
            (u64::MAX, "16777216 TiB"),
        ] {
            assert_eq!(ByteSize(bytes).to_string(), text);
        }
    }

    #[test]
    fn spans_read_and_show() {
        for (text, shown) in
            [("250ms", "250ms"), ("1.5s", "1500ms"), ("30 s", "30s"), ("90m", "90m"), ("0", "0s")]
        {
            assert_eq!(text.parse::<Span>().expect(text).to_string(), shown);
        }
        assert!("10 parsecs".parse::<Span>().is_err());
        assert!("".parse::<Span>().is_err());
    }

    #[test]
    fn a_span_without_its_unit_is_asked_for_it() {
        for text in ["8", "0.5", "30"] {
            let message = text.parse::<Span>().unwrap_err();
            assert_eq!(message, format!("`{text}` has no unit; write {text}ms or {text}s"));
        }
    }
}
