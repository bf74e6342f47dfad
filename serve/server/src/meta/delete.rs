//! `md`.

use larder_protocol::meta::delete::{self, DeleteReply};
use larder_protocol::meta::request::Request;
use larder_store::{DeleteOutcome, Error};

use crate::context::{Context, ttl_of};
use crate::counts::Count;
use crate::payload::Done;

pub(super) fn run(
    request: &Request<'_>,
    key: &[u8],
    context: &mut Context,
    out: &mut Vec<u8>,
) -> Done {
    match remove(request, key, context) {
        Ok(reply) => {
            context.shared.recaches.forget(key);
            let was_there = reply == DeleteReply::Deleted;
            context.counts.add_found(was_there, Count::DeleteHits, Count::DeleteMisses);
            if !(request.flags.is_quiet && reply == DeleteReply::Deleted) {
                delete::encode_reply(out, request, reply);
            }
        }
        Err(error) => context.refuse(out, &error),
    }
    Done::Answered(0)
}

fn remove(request: &Request<'_>, key: &[u8], context: &mut Context) -> Result<DeleteReply, Error> {
    let flags = &request.flags;
    if flags.new_version.is_some() || flags.drops_value {
        let operation = "an entry that loses its value, or gets a version of the client";
        return Err(context.unsupported(operation));
    }
    match (flags.invalidates, flags.version) {
        (false, None) => context.session.delete(key).map(reply_to_delete),
        (false, Some(version))
            if let Some(token) = context.shared.client_leases.take(key, version) =>
        {
            // The client gives its lease back.
            let leases = context.session.leases();
            let was_its = leases.map_or(Ok(false), |leases| leases.release(key, &token))?;
            Ok(if was_its { DeleteReply::Deleted } else { DeleteReply::Exists })
        }
        (false, Some(version)) => context.session.delete_if(key, version).map(reply),
        (true, None) => match context.session.leases() {
            Some(leases) => leases.expire(key, flags.exptime.and_then(ttl_of)).map(reply_to_delete),
            None => Err(context.unsupported("a value that is kept as stale")),
        },
        (true, Some(_)) => Err(context.unsupported("a mark as stale on condition of a version")),
    }
}

/// The reply of a removal without a condition.
pub(crate) fn reply_to_delete(was_there: bool) -> DeleteReply {
    if was_there { DeleteReply::Deleted } else { DeleteReply::NotFound }
}

/// The outcome on the wire of a store's outcome.
pub(crate) fn reply(outcome: DeleteOutcome) -> DeleteReply {
    match outcome {
        DeleteOutcome::Deleted => DeleteReply::Deleted,
        DeleteOutcome::Exists => DeleteReply::Exists,
        DeleteOutcome::NotFound => DeleteReply::NotFound,
    }
}
