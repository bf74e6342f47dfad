//! `VERSION`.
//!
//! Its source is section 4.9 of the Memcache Binary Protocol (`protocol-binary.txt`).

use super::header::Echo;
use super::{Status, reply};

/// Writes the answer.
pub fn encode_reply(out: &mut Vec<u8>, echo: Echo, version: &str) {
    reply::encode_body(out, echo, Status::Success, 0, version.as_bytes());
}
