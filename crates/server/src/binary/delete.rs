//! `DELETE`, `DELETEQ`.

use larder_protocol::binary::Echo;
use larder_protocol::binary::delete::{self, Request};
use larder_protocol::meta::delete::DeleteReply;
use larder_store::Error;

use super::refuse;
use crate::context::Desk;
use crate::counts::Count;
use crate::meta::delete::{found, reply};

pub(super) fn run(echo: Echo, request: &Request<'_>, desk: &mut Desk, out: &mut Vec<u8>) {
    match deleted(request, desk) {
        Ok(reply) => {
            let was_there = reply == DeleteReply::Deleted;
            if was_there {
                desk.shared.recaches.forget(request.key);
            }
            desk.counts.add_found(was_there, Count::DeleteHits, Count::DeleteMisses);
            delete::encode_reply(out, echo, reply);
        }
        Err(error) => refuse(echo, &error, desk, out),
    }
}

fn deleted(request: &Request<'_>, desk: &mut Desk) -> Result<DeleteReply, Error> {
    match request.version {
        Some(version) => desk.session.delete_if(request.key, version).map(reply),
        None => desk.session.delete(request.key).map(found),
    }
}
