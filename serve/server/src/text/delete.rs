//! `delete`.

use larder_protocol::text::delete::{self, Request};

use crate::context::Context;
use crate::counts::Count;

pub(super) fn run(request: &Request<'_>, context: &mut Context, out: &mut Vec<u8>) {
    match context.session.delete(request.key) {
        Ok(was_there) => {
            context.shared.recaches.forget(request.key);
            context.counts.add_found(was_there, Count::DeleteHits, Count::DeleteMisses);
            if !request.is_quiet {
                delete::encode_reply(out, was_there);
            }
        }
        Err(error) if !request.is_quiet => context.refuse(out, &error),
        Err(_) => {}
    }
}
