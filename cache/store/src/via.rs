//! The link between a client and its servers.

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};

use crate::units::{ByteSize, Span};

/// The shortest delay. A relay alone adds 30 microseconds (measured on an idle machine of 2024), which are part of the
/// delay; a shorter delay is not possible.
const SHORTEST: Duration = Duration::from_micros(50);

/// The longest delay. No client waits longer for an answer.
const LONGEST: Duration = Duration::from_secs(10);

/// The slowest and the fastest rate, in bytes a second.
const RATES: RangeInclusive<u64> = 1 << 10..=10 << 30;

/// The link between a client and its servers. `delay:2ms` is a relay that makes every round trip longer by this time.
/// With `delay:2ms,rate:20m` answers also come at no more than this many bytes a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Via {
    /// The time that is added to a round trip, from 50 microseconds to 10 seconds.
    delay: Span,
    /// Bytes a second to the client on one connection; `None` for no limit.
    rate: Option<ByteSize>,
}

impl Via {
    /// The additional time of a round trip.
    pub fn delay(self) -> Duration {
        self.delay.0
    }

    /// The limit of bytes a second to the client on one connection; `None` for no limit.
    pub fn rate(self) -> Option<u64> {
        self.rate.map(|rate| rate.0)
    }
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "delay:{}", self.delay)?;
        self.rate.map_or(Ok(()), |rate| write!(f, ",rate:{}", rate.typed()))
    }
}

impl FromStr for Via {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (delay, rate) = match text.split_once(',') {
            Some((delay, rate)) => (delay, Some(read_rate(rate)?)),
            None => (text, None),
        };
        let Some(delay) = delay.strip_prefix("delay:") else {
            return Err(format!("`{text}` is not a link to a server; write delay:2ms"));
        };
        let wrong =
            || format!("`{delay}` is not a delay with its unit; write delay:2ms or delay:500us");
        let delay: Span = delay.parse().map_err(|_| wrong())?;
        if !(SHORTEST..=LONGEST).contains(&delay.0) {
            return Err(format!("a delay of {delay} is not from 50us to 10s; write delay:2ms"));
        }
        Ok(Self { delay, rate })
    }
}

/// A rate, as it stands behind the delay.
fn read_rate(text: &str) -> Result<ByteSize, String> {
    let rate = text.strip_prefix("rate:").and_then(|rate| rate.parse::<ByteSize>().ok());
    rate.filter(|rate| RATES.contains(&rate.0)).ok_or_else(|| {
        format!("`{text}` is not a rate from 1k to 10g bytes a second; write delay:2ms,rate:20m")
    })
}

impl<'de> Deserialize<'de> for Via {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Via;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a link to a server such as delay:2ms or delay:2ms,rate:20m")
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
        json_schema!({ "type": "string", "description": "a link to a server such as delay:2ms or delay:2ms,rate:20m" })
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
        let via: Via = "delay:550us,rate:20m".parse().unwrap();
        assert_eq!((via.delay(), via.rate()), (Duration::from_micros(550), Some(20 << 20)));
        assert_eq!(via.to_string(), "delay:550us,rate:20m");
        assert_eq!("delay:0.5ms".parse::<Via>().unwrap().to_string(), "delay:500us");
        assert_eq!(read("test:").unwrap(), None);
    }

    #[test]
    fn a_wrong_delay_is_refused_with_a_right_example() {
        for (text, message) in [
            ("2ms", "`2ms` is not a link to a server; write delay:2ms"),
            ("delay:", "`` is not a delay with its unit; write delay:2ms or delay:500us"),
            ("delay:soon", "`soon` is not a delay with its unit; write delay:2ms or delay:500us"),
            ("delay:1", "`1` is not a delay with its unit; write delay:2ms or delay:500us"),
            ("delay:49us", "a delay of 49us is not from 50us to 10s; write delay:2ms"),
            (
                "delay:2ms,20m",
                "`20m` is not a rate from 1k to 10g bytes a second; write delay:2ms,rate:20m",
            ),
            (
                "delay:2ms,rate:1",
                "`rate:1` is not a rate from 1k to 10g bytes a second; write delay:2ms,rate:20m",
            ),
            ("delay:11s", "a delay of 11s is not from 50us to 10s; write delay:2ms"),
        ] {
            let error = read(&format!("test:?via={text}")).unwrap_err().to_string();
            assert_eq!(error, format!("test: option `via`: {message}"));
        }
    }
}
