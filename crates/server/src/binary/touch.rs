//! `TOUCH`.

use larder_protocol::binary::Echo;
use larder_protocol::binary::touch::{self, Request};
use larder_store::{Error, Facts};

use super::refuse;
use crate::context::{Desk, NO_VERSION, ttl_of};
use crate::counts::Count;

pub(super) fn run(echo: Echo, request: &Request<'_>, desk: &mut Desk, out: &mut Vec<u8>) {
    desk.counts.add_one(Count::CmdTouch);
    match touched(request, desk) {
        Ok(found) => {
            desk.counts.add_found(found.is_some(), Count::TouchHits, Count::TouchMisses);
            match found {
                Some(Facts { meta, .. }) => {
                    touch::encode_reply(out, echo, meta.flags, meta.version.unwrap_or(NO_VERSION));
                }
                None => touch::encode_miss(out, echo),
            }
        }
        Err(error) => refuse(echo, &error, desk, out),
    }
}

/// The entry with its new TTL, as far as it is still there.
fn touched(request: &Request<'_>, desk: &mut Desk) -> Result<Option<Facts>, Error> {
    if !desk.session.touch(request.key, ttl_of(request.exptime))? {
        return Ok(None);
    }
    desk.session.look(request.key)
}
