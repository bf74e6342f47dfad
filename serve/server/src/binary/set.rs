//! `SET`, `ADD`, `REPLACE`, `APPEND`, `PREPEND` and their quiet variants.

use larder_protocol::binary::reply::encode_error;
use larder_protocol::binary::set::{self, Request};
use larder_protocol::binary::{Echo, Status};
use larder_protocol::storage::{StorageReply, StorageRequest};
use larder_store::{Error, SetOutcome};

use super::refusal::refuse;
use crate::conditional;
use crate::context::{Context, NO_VERSION};
use crate::counts::Count;
use crate::payload::{Done, Payload, Refusal, Value};
use crate::text::{mode, reply, store};

pub(super) fn run(
    echo: Echo,
    request: &Request<'_>,
    payload: &Payload<'_>,
    context: &mut Context,
    out: &mut Vec<u8>,
) -> Done {
    let header = &request.header;
    let value = match payload.value(header.key, header.len, mode(header.mode), context) {
        Value::Complete(value) => value,
        Value::Needs(len) => return Done::Needs(len),
        Value::Refused(refusal) => {
            encode_error(out, echo, status(refusal));
            return Done::Skip(header.len);
        }
    };
    context.counts.add_one(Count::CmdSet);
    let outcome = match request.version {
        None => store(header, value, context),
        Some(version) => join(header, version, value, context),
    };
    match outcome {
        Ok(SetOutcome::Stored(version)) => {
            let stored = StorageReply::Stored(version.or(Some(NO_VERSION)));
            set::encode_reply(out, echo, header.mode, stored);
        }
        Ok(outcome) => set::encode_reply(out, echo, header.mode, reply(outcome)),
        Err(error) => refuse(echo, &error, context, out),
    }
    Done::Answered(header.len)
}

fn join(
    header: &StorageRequest<'_>,
    version: u64,
    value: &[u8],
    context: &mut Context,
) -> Result<SetOutcome, Error> {
    let outcome = conditional::join(header.key, value, mode(header.mode), version, context)?;
    if outcome.is_stored() {
        context.shared.recaches.forget(header.key);
    }
    Ok(outcome)
}

fn status(refusal: Refusal) -> Status {
    match refusal {
        Refusal::TooLarge => Status::TooLarge,
        Refusal::NoMemory => Status::OutOfMemory,
        Refusal::WrongEnd => Status::InvalidArguments,
    }
}
