//! `SET`, `ADD`, `REPLACE`, `APPEND`, `PREPEND` and their quiet variants.

use larder_protocol::binary::reply::encode_error;
use larder_protocol::binary::set::{self, Request};
use larder_protocol::binary::{Echo, Status};
use larder_store::{Error, SetMode, SetOptions, SetOutcome};

use super::{refuse, unsupported};
use crate::behind::{Behind, Done, Refusal, Value};
use crate::context::{Desk, ttl_of};
use crate::counts::Count;
use crate::text::{check_join, count_cas, mode, reply};

pub(super) fn run(
    echo: Echo,
    request: &Request<'_>,
    behind: &Behind<'_>,
    desk: &mut Desk,
    out: &mut Vec<u8>,
) -> Done {
    let header = &request.header;
    let mode = mode(header.mode);
    let value = match behind.value(header.key, header.len, mode, desk) {
        Value::Whole(value) => value,
        Value::Needs(len) => return Done::Needs(len),
        Value::Refused(refusal) => {
            encode_error(out, echo, status(refusal));
            return Done::Skip(header.len);
        }
    };
    desk.counts.add_one(Count::CmdSet);
    let keeps = matches!(mode, SetMode::Append | SetMode::Prepend);
    let (ttl, flags) = if keeps { (None, 0) } else { (ttl_of(header.exptime), header.flags) };
    let options = SetOptions { mode, ttl, flags };
    match stored(request, value, &options, desk) {
        Ok(outcome) => {
            count_cas(mode, outcome, desk);
            if outcome.is_stored() {
                desk.shared.recaches.forget(header.key);
            }
            set::encode_reply(out, echo, header.mode, reply(outcome));
        }
        Err(error) => refuse(echo, &error, desk, out),
    }
    Done::Whole(header.len)
}

fn stored(
    request: &Request<'_>,
    value: &[u8],
    options: &SetOptions,
    desk: &mut Desk,
) -> Result<SetOutcome, Error> {
    let key = request.header.key;
    if request.version.is_some() {
        return Err(unsupported(desk));
    }
    check_join(key, value.len(), options.mode, desk)?;
    desk.session.set(key, value, options)
}

fn status(refusal: Refusal) -> Status {
    match refusal {
        Refusal::TooLarge => Status::TooLarge,
        Refusal::NoRoom => Status::OutOfMemory,
        Refusal::WrongEnd => Status::InvalidArguments,
    }
}
