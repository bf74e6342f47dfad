//! RESP2, the protocol of Redis and Valkey: every reply begins with a byte that names its type.
//!
//! Its source is the [protocol specification](https://redis.io/docs/latest/develop/reference/protocol-spec/). A server
//! speaks RESP2 on every connection that has not asked for RESP3 by `HELLO 3`.

mod reply;

pub use reply::{MAX_ARRAY_LEN, Reply, parse_reply};
