//! The answers to scripts that read an entry.

use std::result;

use larder_protocol::resp::Value;
use larder_store::Meta;

use super::shared::Shared;

/// The value and the metadata in an answer to [`READ`](super::scripts::READ), or the answer where it is another.
pub(super) fn whole(
    answer: Value,
    shared: &Shared,
) -> result::Result<Option<(Vec<u8>, Meta)>, Value> {
    if answer == Value::Nil {
        return Ok(None);
    }
    match three(answer)? {
        [Value::Bulk(found), Value::Integer(stale), Value::Integer(left)] => {
            let (stale, ttl) = (stale != 0, shared.remaining(left));
            Ok(Some((found, Meta { stale, ttl, ..Meta::default() })))
        }
        other => Err(Value::Array(other.into())),
    }
}

/// The three parts of an answer, or the answer where it has not three.
pub(super) fn three(answer: Value) -> result::Result<[Value; 3], Value> {
    let Value::Array(parts) = answer else { return Err(answer) };
    <[Value; 3]>::try_from(parts).map_err(Value::Array)
}
