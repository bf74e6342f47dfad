//! The shared part of the languages' catalogs, and options of a URL on their way into `open.json`.

use std::time::Duration;

use larder_store::{ByteSize, Durability, Engine, Medium, Reach, Recipe, Result, Span, StoreUrl};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::interpreter::schema_of;
use super::{Abilities, store};

/// An engine, with the fields that most guests share.
pub(super) const fn engine(
    scheme: &'static str,
    medium: Medium,
    recipes: &'static [Recipe],
) -> Engine {
    Engine {
        scheme,
        aliases: &[],
        summary: "",
        example: "",
        medium,
        capacity_option: None,
        connections_option: None,
        recipes,
        options: schema_of::<Nothing>,
        open: store::open,
    }
}

/// The abilities of a plain cache in the memory of its process, on which those of most languages are based.
pub(super) const IN_PROCESS: Abilities = Abilities {
    ttl: true,
    ttl_resolution: Duration::from_millis(1),
    touch: false,
    batch: false,
    evicts: false,
    reach: Reach::Process,
    durability: Durability::Volatile,
    bound: None,
    size: None,
    takes: &[],
};

/// The options of a cache without options.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Nothing {}

/// The life of a client: as long as its process or thread, or for one operation.
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Connect {
    #[default]
    Session,
    Operation,
}

/// The options of a URL for a program. Their struct reads and checks them, and they are written again.
pub(super) fn options_of<T: DeserializeOwned + Serialize>(
    engine: &'static str,
    url: &StoreUrl,
) -> Result<Value> {
    let options: T = url.options(engine)?;
    Ok(serde_json::to_value(options).expect("options are numbers, texts and switches"))
}

/// A size as a number of bytes.
#[expect(clippy::ref_option, reason = "serde hands a reference to the field")]
pub(super) fn bytes<S: Serializer>(
    size: &Option<ByteSize>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    size.map(|ByteSize(bytes)| bytes).serialize(serializer)
}

/// A span of time as seconds, with a fraction only where there is one.
#[expect(clippy::ref_option, reason = "serde hands a reference to the field")]
pub(super) fn seconds<S: Serializer>(
    span: &Option<Span>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match span {
        Some(Span(span)) if span.subsec_nanos() == 0 => span.as_secs().serialize(serializer),
        span => span.map(|Span(span)| span.as_secs_f64()).serialize(serializer),
    }
}
