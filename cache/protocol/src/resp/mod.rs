//! RESP, the protocol of Redis and Valkey: every reply begins with a byte that names its type.
//!
//! Its source is the [protocol specification](https://redis.io/docs/latest/develop/reference/protocol-spec/). A server
//! speaks RESP2 on every connection that has not asked for RESP3 by `HELLO 3`. The types that RESP3 adds are read as
//! those of RESP2 that mean the same. Its pushes and attributes are not: a server sends them only where a client asks for them.

mod reply;
mod value;

pub use reply::{MAX_ARRAY_LEN, Reply, parse_reply};
pub use value::{ParsedValue, ServerError, Value, parse_value};
