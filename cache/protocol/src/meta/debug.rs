//! `me <key> <flags>*`: what a server knows of an entry, for people.

use super::request::{Facts, Request};
use crate::number::{push_i64, push_u64};

/// Writes the answer: the key as the request has it, and names with values.
pub fn encode_reply(out: &mut Vec<u8>, request: &Request<'_>, facts: &Facts) {
    out.extend_from_slice(b"ME ");
    out.extend_from_slice(request.word());
    out.extend_from_slice(b" exp=");
    push_i64(out, facts.ttl_s);
    for (name, number) in [(&b" la="[..], facts.idle_s), (b" cas=", facts.version)] {
        out.extend_from_slice(name);
        push_u64(out, number);
    }
    out.extend_from_slice(if facts.was_hit { b" fetch=yes" } else { b" fetch=no" });
    // Nothing here is kept in classes of size; tools expect the name.
    out.extend_from_slice(b" cls=1 size=");
    push_u64(out, facts.len as u64);
    out.extend_from_slice(b"\r\n");
}

/// Writes the answer of a miss.
pub fn encode_miss(out: &mut Vec<u8>) {
    out.extend_from_slice(b"EN\r\n");
}
