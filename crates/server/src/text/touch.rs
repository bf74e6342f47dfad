//! `touch`.

use larder_protocol::text::touch::{self, Request};

use crate::context::{Desk, ttl_of};
use crate::counts::Count;

pub(super) fn run(request: &Request<'_>, desk: &mut Desk, out: &mut Vec<u8>) {
    desk.counts.add_one(Count::CmdTouch);
    match desk.session.touch(request.key, ttl_of(request.exptime)) {
        Ok(is_there) => {
            desk.counts.add_found(is_there, Count::TouchHits, Count::TouchMisses);
            if !request.is_quiet {
                touch::encode_reply(out, is_there);
            }
        }
        Err(error) if !request.is_quiet => desk.refuse(out, &error),
        Err(_) => {}
    }
}
