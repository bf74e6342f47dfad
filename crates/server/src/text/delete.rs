//! `delete`.

use larder_protocol::text::delete::{self, Request};

use crate::context::Desk;
use crate::counts::Count;

pub(super) fn run(request: &Request<'_>, desk: &mut Desk, out: &mut Vec<u8>) {
    match desk.session.delete(request.key) {
        Ok(was_there) => {
            desk.shared.recaches.forget(request.key);
            desk.counts.add_found(was_there, Count::DeleteHits, Count::DeleteMisses);
            if !request.is_quiet {
                delete::encode_reply(out, was_there);
            }
        }
        Err(error) if !request.is_quiet => desk.refuse(out, &error),
        Err(_) => {}
    }
}
