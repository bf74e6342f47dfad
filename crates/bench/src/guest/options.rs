//! Options of a URL on their way into `open.json`.

use larder_store::{ByteSize, Result, Span, StoreUrl};
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::Value;

/// The options of a URL as a program gets them: read into their struct, so that they are checked, and written again.
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
