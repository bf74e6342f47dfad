//! `me`.

use larder_protocol::meta::debug;
use larder_protocol::meta::request::{Facts, Request};

use crate::context::{Context, NO_VERSION, seconds_left};
use crate::payload::Done;

pub(super) fn run(
    request: &Request<'_>,
    key: &[u8],
    context: &mut Context,
    out: &mut Vec<u8>,
) -> Done {
    match context.session.look(key) {
        Ok(Some(found)) => {
            let facts = Facts {
                client_flags: found.meta.flags,
                version: found.meta.version.unwrap_or(NO_VERSION),
                ttl_s: seconds_left(found.meta.ttl),
                len: found.value_len,
                idle_s: found.idle.map_or(0, |idle| idle.as_secs()),
                was_hit: found.was_hit.unwrap_or(false),
            };
            debug::encode_reply(out, request, &facts);
        }
        Ok(None) => debug::encode_miss(out),
        Err(error) => context.refuse(out, &error),
    }
    Done::Answered(0)
}
