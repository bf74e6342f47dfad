//! What stands between a client and its servers.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};

use crate::units::Span;

/// The shortest delay. A relay adds 30 microseconds by being there (as measured on a machine of 2024 with nothing else to
/// do), which are part of the delay; what is shorter cannot be had.
const SHORTEST: Duration = Duration::from_micros(50);

/// The longest delay. No client waits longer for an answer.
const LONGEST: Duration = Duration::from_secs(10);

/// What stands between a client and its servers: `delay:2ms`, a relay by which every round trip takes so much longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// A wire of this length: the time is that of a round trip, from 50 microseconds to 10 seconds.
    Delay(Span),
}

impl Via {
    /// How much longer a round trip takes.
    pub fn delay(self) -> Duration {
        let Self::Delay(Span(delay)) = self;
        delay
    }
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Delay(delay) = self;
        write!(f, "delay:{delay}")
    }
}

impl FromStr for Via {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(delay) = text.strip_prefix("delay:") else {
            return Err(format!("`{text}` is no way to a server; write delay:2ms"));
        };
        let wrong =
            || format!("`{delay}` is not a delay with its unit; write delay:2ms or delay:500us");
        // A bare number would be seconds, which nobody means who writes `delay:1`.
        let has_unit = delay.ends_with(|last: char| last.is_ascii_alphabetic());
        let delay: Span = delay.parse().ok().filter(|_| has_unit).ok_or_else(wrong)?;
        if !(SHORTEST..=LONGEST).contains(&delay.0) {
            return Err(format!("a delay of {delay} is not from 50us to 10s; write delay:2ms"));
        }
        Ok(Self::Delay(delay))
    }
}

impl<'de> Deserialize<'de> for Via {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Via;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a way to a server such as delay:2ms")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Via, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

impl JsonSchema for Via {
    fn schema_name() -> Cow<'static, str> {
        "Via".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": "a way to a server such as delay:2ms" })
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::StoreUrl;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Options {
        via: Option<Via>,
    }

    fn read(url: &str) -> crate::Result<Option<Via>> {
        let options: Options = StoreUrl::parse(url)?.options("test")?;
        Ok(options.via)
    }

    #[test]
    fn a_delay_reads_and_shows() {
        for (text, micros) in [
            ("delay:2ms", 2000),
            ("delay:500us", 500),
            ("delay:0.5ms", 500),
            ("delay:50us", 50),
            ("delay:10s", 10_000_000),
        ] {
            let via = read(&format!("test:?via={text}")).unwrap().unwrap();
            assert_eq!(via.delay(), Duration::from_micros(micros), "{text}");
            assert_eq!(via.to_string().parse(), Ok(via));
        }
        assert_eq!("delay:0.5ms".parse::<Via>().unwrap().to_string(), "delay:500us");
        assert_eq!(read("test:").unwrap(), None);
    }

    #[test]
    fn what_is_no_delay_is_told_with_what_would_be_one() {
        for (text, message) in [
            ("2ms", "`2ms` is no way to a server; write delay:2ms"),
            ("delay:", "`` is not a delay with its unit; write delay:2ms or delay:500us"),
            ("delay:soon", "`soon` is not a delay with its unit; write delay:2ms or delay:500us"),
            ("delay:1", "`1` is not a delay with its unit; write delay:2ms or delay:500us"),
            ("delay:49us", "a delay of 49us is not from 50us to 10s; write delay:2ms"),
            ("delay:11s", "a delay of 11s is not from 50us to 10s; write delay:2ms"),
        ] {
            let error = read(&format!("test:?via={text}")).unwrap_err().to_string();
            assert_eq!(error, format!("test: option `via`: {message}"));
        }
    }
}
