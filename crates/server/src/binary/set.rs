//! `SET`, `ADD`, `REPLACE`, `APPEND`, `PREPEND` and their quiet variants.

use larder_protocol::binary::reply::encode_error;
use larder_protocol::binary::set::{self, Request};
use larder_protocol::binary::{Echo, Status};
use larder_protocol::storage::{StorageReply, StorageRequest};
use larder_store::{Error, SetOutcome};

use super::refuse;
use crate::behind::{Behind, Done, Refusal, Value};
use crate::conditional;
use crate::context::{Desk, NO_VERSION};
use crate::counts::Count;
use crate::text::{mode, reply, store};

pub(super) fn run(
    echo: Echo,
    request: &Request<'_>,
    behind: &Behind<'_>,
    desk: &mut Desk,
    out: &mut Vec<u8>,
) -> Done {
    let header = &request.header;
    let value = match behind.value(header.key, header.len, mode(header.mode), desk) {
        Value::Whole(value) => value,
        Value::Needs(len) => return Done::Needs(len),
        Value::Refused(refusal) => {
            encode_error(out, echo, status(refusal));
            return Done::Skip(header.len);
        }
    };
    desk.counts.add_one(Count::CmdSet);
    let outcome = match request.version {
        None => store(header, value, desk),
        Some(version) => joined(header, version, value, desk),
    };
    match outcome {
        Ok(SetOutcome::Stored(version)) => {
            let stored = StorageReply::Stored(version.or(Some(NO_VERSION)));
            set::encode_reply(out, echo, header.mode, stored);
        }
        Ok(outcome) => set::encode_reply(out, echo, header.mode, reply(outcome)),
        Err(error) => refuse(echo, &error, desk, out),
    }
    Done::Whole(header.len)
}

fn joined(
    header: &StorageRequest<'_>,
    version: u64,
    value: &[u8],
    desk: &mut Desk,
) -> Result<SetOutcome, Error> {
    let outcome = conditional::join(header.key, value, mode(header.mode), version, desk)?;
    if outcome.is_stored() {
        desk.shared.recaches.forget(header.key);
    }
    Ok(outcome)
}

fn status(refusal: Refusal) -> Status {
    match refusal {
        Refusal::TooLarge => Status::TooLarge,
        Refusal::NoRoom => Status::OutOfMemory,
        Refusal::WrongEnd => Status::InvalidArguments,
    }
}
