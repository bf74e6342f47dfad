//! `md`.

use larder_protocol::meta::delete::{self, DeleteReply};
use larder_protocol::meta::request::Request;
use larder_store::{DeleteOutcome, Error};

use crate::behind::Done;
use crate::context::{Desk, ttl_of};
use crate::counts::Count;

pub(super) fn run(request: &Request<'_>, key: &[u8], desk: &mut Desk, out: &mut Vec<u8>) -> Done {
    match removed(request, key, desk) {
        Ok(reply) => {
            desk.shared.recaches.forget(key);
            let was_there = reply == DeleteReply::Deleted;
            desk.counts.add_found(was_there, Count::DeleteHits, Count::DeleteMisses);
            if !(request.flags.is_quiet && reply == DeleteReply::Deleted) {
                delete::encode_reply(out, request, reply);
            }
        }
        Err(error) => desk.refuse(out, &error),
    }
    Done::Whole(0)
}

fn removed(request: &Request<'_>, key: &[u8], desk: &mut Desk) -> Result<DeleteReply, Error> {
    let flags = &request.flags;
    if flags.new_version.is_some() || flags.drops_value {
        let operation = "an entry that loses its value, or gets a version of the client";
        return Err(desk.unsupported(operation));
    }
    match (flags.invalidates, flags.version) {
        (false, None) => desk.session.delete(key).map(found),
        (false, Some(version)) if let Some(token) = desk.shared.loads.take(key, version) => {
            // The client gives its lease back.
            let leases = desk.session.leases();
            let was_its = leases.map_or(Ok(false), |leases| leases.release(key, &token))?;
            Ok(if was_its { DeleteReply::Deleted } else { DeleteReply::Exists })
        }
        (false, Some(version)) => desk.session.delete_if(key, version).map(reply),
        (true, None) => match desk.session.leases() {
            Some(leases) => leases.expire(key, flags.exptime.and_then(ttl_of)).map(found),
            None => Err(desk.unsupported("a value that is kept as stale")),
        },
        (true, Some(_)) => Err(desk.unsupported("a mark as stale on condition of a version")),
    }
}

/// The reply of a removal without a condition.
pub(crate) fn found(was_there: bool) -> DeleteReply {
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
