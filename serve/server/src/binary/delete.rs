//! `DELETE`, `DELETEQ`.

use larder_protocol::binary::Echo;
use larder_protocol::binary::delete::{self, Request};
use larder_protocol::meta::delete::DeleteReply;
use larder_store::Error;

use super::refusal::refuse;
use crate::context::Context;
use crate::counts::Count;
use crate::meta::delete::{reply, reply_to_delete};

pub(super) fn run(echo: Echo, request: &Request<'_>, context: &mut Context, out: &mut Vec<u8>) {
    match delete_entry(request, context) {
        Ok(reply) => {
            let was_there = reply == DeleteReply::Deleted;
            if was_there {
                context.shared.recaches.forget(request.key);
            }
            context.counts.add_found(was_there, Count::DeleteHits, Count::DeleteMisses);
            delete::encode_reply(out, echo, reply);
        }
        Err(error) => refuse(echo, &error, context, out),
    }
}

fn delete_entry(request: &Request<'_>, context: &mut Context) -> Result<DeleteReply, Error> {
    match request.version {
        Some(version) => context.session.delete_if(request.key, version).map(reply),
        None => context.session.delete(request.key).map(reply_to_delete),
    }
}
