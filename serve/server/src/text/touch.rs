//! `touch`.

use larder_protocol::text::touch::{self, Request};

use crate::context::{Context, ttl_of};
use crate::counts::Count;

pub(super) fn run(request: &Request<'_>, context: &mut Context, out: &mut Vec<u8>) {
    context.counts.add_one(Count::CmdTouch);
    match context.session.touch(request.key, ttl_of(request.exptime)) {
        Ok(is_there) => {
            context.counts.add_found(is_there, Count::TouchHits, Count::TouchMisses);
            if !request.is_quiet {
                touch::encode_reply(out, is_there);
            }
        }
        Err(error) if !request.is_quiet => context.refuse(out, &error),
        Err(_) => {}
    }
}
