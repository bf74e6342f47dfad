//! `TOUCH`.

use larder_protocol::binary::Echo;
use larder_protocol::binary::touch::{self, Request};
use larder_store::{Error, Facts};

use super::refusal::refuse;
use crate::context::{Context, NO_VERSION, ttl_of};
use crate::counts::Count;

pub(super) fn run(echo: Echo, request: &Request<'_>, context: &mut Context, out: &mut Vec<u8>) {
    context.counts.add_one(Count::CmdTouch);
    match touch_entry(request, context) {
        Ok(found) => {
            context.counts.add_found(found.is_some(), Count::TouchHits, Count::TouchMisses);
            match found {
                Some(Facts { meta, .. }) => {
                    touch::encode_reply(out, echo, meta.flags, meta.version.unwrap_or(NO_VERSION));
                }
                None => touch::encode_miss(out, echo),
            }
        }
        Err(error) => refuse(echo, &error, context, out),
    }
}

/// The entry with its new TTL, as far as it is still there.
fn touch_entry(request: &Request<'_>, context: &mut Context) -> Result<Option<Facts>, Error> {
    if !context.session.touch(request.key, ttl_of(request.exptime))? {
        return Ok(None);
    }
    context.session.look(request.key)
}
