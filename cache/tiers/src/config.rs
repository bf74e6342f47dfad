//! Options of `tiered:`, which stand behind its last `|`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use larder_store::{ByteSize, Error, Result, Span, StoreUrl};
use schemars::{JsonSchema, Schema, SchemaGenerator, schema_for};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::SCHEME;
use crate::layer::spans;

/// The settings of a stack: the options of its URL.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The longest time for which the tiers above the lowest keep a value, or `off`. It bounds how long this process
    /// still sees a value that another process has overwritten or deleted below. It also bounds how long an entry may
    /// outlive its TTL above a tier that does not tell the remaining TTL. `off` is for a stack below which no other
    /// process ever writes. A tier above that once could not drop a key is then left out for good, and the contents of
    /// a persistent tier at its opening are taken as they are.
    pub l1_ttl: Cap,
    /// The share of `l1_ttl`, in percent, by which it is shortened at random for each entry. So entries that were read at
    /// the same moment do not end at the same moment.
    pub jitter: u8,
    /// The time for which an entry is kept after its TTL. A plain read then misses it. But a caller that loads it anew
    /// has it, while another caller loads, and where the load or the lowest tier fails.
    pub grace: Span,
    /// The answer to a read that the lowest tier fails, where no tier above answers: `miss` or `error`. Either way the
    /// failure is counted.
    pub on_error: OnError,
    /// The longest time of a read in each tier below the nearest, such as `50ms`, or `off`. A read that takes longer is a
    /// failure of that tier, as if its server were dead. Writes wait for the tier's own `timeout`. The option needs
    /// `memcached:` or `redis:` in each of these tiers.
    pub soft_timeout: Cap,
    /// What follows a write that the lowest tier fails: `invalidate` removes the key there as soon as that tier answers
    /// again, because the value there is old, or nobody knows which one it is; `keep` leaves it as it is.
    pub on_write_error: OnWriteError,
    /// The order of sets: `through` to the lowest tier and then above it; `around` the tiers above, which only drop the key;
    /// `behind`: above at once, and to the lowest tier a little later. What a killed process has not written behind is
    /// lost.
    pub write: WriteOrder,
    /// Entries may have tags, and end with them. Each value then has 3 bytes more in all tiers. A value with tags has another
    /// byte, and 10 to 33 for each. Programs that read the lowest tier without Larder see these bytes. All stacks above one
    /// lowest tier need the same setting. There is no `append`, `prepend` or `incr`.
    pub tags: bool,
    /// The most bytes of writes that wait for the lowest tier.
    pub queue: ByteSize,
    /// `on` makes a span of OpenTelemetry of each call on the stack. The calls on its tiers are children of that span: they show
    /// which tier answered, and how long each took. `keys` tells the keys too, which may be personal.
    pub spans: spans::Settings,
    /// Byte limit of each tier that has such a limit and whose own URL does not set it. External servers are left as
    /// they are.
    pub room: Option<ByteSize>,
    /// The URL of the store on which hosts tell each other of changed keys, such as `redis://h1`, with each `%`, `|`
    /// and `&` in it written `%25`, `%7C` and `%26`. Or `tracking`: the lowest tier, a Redis or Valkey, tells of each changed key
    /// itself. With a channel, `l1_ttl` may be minutes. While the channel is broken, no value stays above for more than
    /// 10s.
    pub channel: Option<String>,
    /// The name of the channel, where `channel` is a URL. All stacks above one lowest tier use one name.
    pub channel_name: String,
}

/// The answer to a read that the lowest tier fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// A miss: the caller loads the value elsewhere.
    #[default]
    Miss,
    /// The error.
    Error,
}

/// What follows a write that the lowest tier fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnWriteError {
    /// The removal of the key, tried until it succeeds.
    #[default]
    Invalidate,
    /// Nothing.
    Keep,
}

/// The order of sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WriteOrder {
    /// The lowest tier first, and then those above it.
    #[default]
    Through,
    /// The lowest tier alone; those above drop the key.
    Around,
    /// The tiers above at once, and the lowest a little later.
    Behind,
}

/// A time, or `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cap(pub Option<Duration>);

impl Default for Config {
    fn default() -> Self {
        Self {
            l1_ttl: Cap(Some(Duration::from_secs(10))),
            jitter: 10,
            grace: Span(Duration::ZERO),
            on_error: OnError::default(),
            soft_timeout: Cap(None),
            on_write_error: OnWriteError::default(),
            write: WriteOrder::default(),
            tags: false,
            queue: ByteSize(16 << 20),
            spans: spans::Settings::default(),
            room: None,
            channel: None,
            channel_name: "tiers".into(),
        }
    }
}

pub(crate) fn schema() -> Schema {
    schema_for!(Config)
}

impl Config {
    /// The options of a stack.
    pub(crate) fn from_url(url: &StoreUrl) -> Result<Self> {
        let config: Self = url.options(SCHEME)?;
        config.check()?;
        Ok(config)
    }

    /// The settings as text, by their names.
    pub(crate) fn settings(&self) -> BTreeMap<String, String> {
        let on_error = match self.on_error {
            OnError::Miss => "miss",
            OnError::Error => "error",
        };
        let on_write_error = match self.on_write_error {
            OnWriteError::Invalidate => "invalidate",
            OnWriteError::Keep => "keep",
        };
        let write = match self.write {
            WriteOrder::Through => "through",
            WriteOrder::Around => "around",
            WriteOrder::Behind => "behind",
        };
        let settings = [
            ("l1_ttl", self.l1_ttl.to_string()),
            ("jitter", format!("{} %", self.jitter)),
            ("grace", self.grace.to_string()),
            ("on_error", on_error.to_owned()),
            ("soft_timeout", self.soft_timeout.to_string()),
            ("on_write_error", on_write_error.to_owned()),
            ("write", write.to_owned()),
            ("tags", if self.tags { "on" } else { "off" }.to_owned()),
            ("queue", self.queue.to_string()),
            ("spans", self.spans.to_string()),
        ];
        settings.map(|(name, text)| (name.to_owned(), text)).into()
    }

    /// Refuses settings that mean nothing.
    pub(crate) fn check(&self) -> Result<()> {
        if self.l1_ttl.0.is_some_and(|ttl| ttl.is_zero()) {
            let reason = "option `l1_ttl`: 0s keeps nothing above; write 10s, or off for no bound";
            return Err(Error::InvalidOptions { engine: SCHEME, reason: reason.into() });
        }
        if self.soft_timeout.0.is_some_and(|longest| longest < Duration::from_millis(1)) {
            let reason = format!(
                "option `soft_timeout`: {} is too short for any answer; write 50ms, or off",
                self.soft_timeout
            );
            return Err(Error::InvalidOptions { engine: SCHEME, reason });
        }
        if self.jitter > 100 {
            let reason = format!("option `jitter`: {} % > 100 %, the whole time", self.jitter);
            return Err(Error::InvalidOptions { engine: SCHEME, reason });
        }
        if self.channel.is_some() && self.l1_ttl.0.is_none() {
            return Err(no_bound());
        }
        if !(1..=128).contains(&self.channel_name.len()) {
            let reason = "option `channel_name`: a name has 1 to 128 bytes";
            return Err(Error::InvalidOptions { engine: SCHEME, reason: reason.into() });
        }
        Ok(())
    }
}

/// The error of a channel in a stack without a bound.
pub(crate) fn no_bound() -> Error {
    let reason = "option `l1_ttl`: a channel may break, so a stack with one has a bound; write 5m";
    Error::InvalidOptions { engine: SCHEME, reason: reason.into() }
}

impl fmt::Display for Cap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.pad("off"),
            Some(ttl) => Span(ttl).fmt(f),
        }
    }
}

impl FromStr for Cap {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self(None));
        }
        let ttl = text.parse::<Span>().map_err(|problem| format!("{problem}, or off"))?;
        Ok(Self(Some(ttl.0)))
    }
}

impl<'de> Deserialize<'de> for Cap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl Serialize for Cap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Cap {
    fn schema_name() -> Cow<'static, str> {
        "Cap".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(options: &str) -> Result<Config> {
        Config::from_url(&StoreUrl::parse(&format!("tiered:a:|b:|?{options}")).unwrap())
    }

    #[test]
    fn the_bound_is_a_time_or_off() {
        for (text, cap) in [("", Some(10)), ("l1_ttl=off", None), ("l1_ttl=2m", Some(120))] {
            assert_eq!(read(text).unwrap().l1_ttl.0, cap.map(Duration::from_secs), "{text}");
        }
        for (text, needle) in [
            ("l1_ttl=0", "write 10s, or off"),
            ("jitter=101", "101 % > 100 %"),
            ("l1_ttl=off&channel=tracking", "a stack with one has a bound; write 5m"),
            ("soft_timeout=10us", "10us is too short for any answer; write 50ms, or off"),
            ("channel_name=", "a name has 1 to 128 bytes"),
            ("l1_ttl=never", "`never` is not a time; write 250ms, 30s, 10m or 1h, or off"),
            (
                "size=1m",
                "unknown option `size`; known: l1_ttl, jitter, grace, on_error, soft_timeout, on_write_error, write, tags, queue, spans, room, channel",
            ),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(needle), "{text}: {error}");
        }
    }
}
