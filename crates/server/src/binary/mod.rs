//! The commands of the binary protocol, one file each.

mod arithmetic;
mod delete;
mod get;
mod sasl;
mod set;
mod stat;
mod touch;

use larder_protocol::binary::reply::{encode_error, encode_error_text, encode_success};
use larder_protocol::binary::{Command, Echo, Request, Status, version};
use larder_store::Error;

use crate::behind::{Behind, Done};
use crate::conversation::Login;
use crate::counts::Count;
use crate::{context::Desk, text};

/// Does what a request asks for.
#[inline]
pub(crate) fn run(
    request: &Request<'_>,
    behind: &Behind<'_>,
    login: &mut Login,
    desk: &mut Desk,
    out: &mut Vec<u8>,
) -> Done {
    let echo = request.echo;
    if !login.is_known && !request.command.precedes_login() {
        encode_error(out, echo, Status::AuthFailure);
        return Done::End;
    }
    match &request.command {
        Command::Get(request) => get::run(echo, request, desk, out),
        Command::Set(request) => return set::run(echo, request, behind, desk, out),
        Command::Touch(request) => touch::run(echo, request, desk, out),
        Command::Delete(request) => delete::run(echo, request, desk, out),
        Command::Arithmetic(request) => arithmetic::run(echo, request, desk, out),
        Command::Stat(group) => stat::run(echo, group, desk, out),
        Command::Sasl(request) => return sasl::run(echo, request, behind, login, desk, out),
        Command::SaslList => sasl::list(echo, desk, out),
        Command::Flush(delay) => flush(echo, *delay, desk, out),
        Command::Noop => encode_success(out, echo, 0),
        Command::Version => version::encode_reply(out, echo, &text::own_version()),
        // memcached does not know it any more.
        Command::Verbosity(_) => encode_error(out, echo, Status::UnknownCommand),
        Command::Quit => {
            encode_success(out, echo, 0);
            return Done::End;
        }
    }
    Done::Whole(0)
}

fn flush(echo: Echo, delay: i64, desk: &mut Desk, out: &mut Vec<u8>) {
    if !desk.shared.settings.allows_flush {
        return encode_error(out, echo, Status::AuthFailure);
    }
    match text::flush(delay, desk) {
        Ok(()) => encode_success(out, echo, 0),
        Err(error) => refuse(echo, &error, desk, out),
    }
}

/// Answers an operation that the store could not do.
#[cold]
fn refuse(echo: Echo, error: &Error, desk: &Desk, out: &mut Vec<u8>) {
    let status = match error {
        Error::ValueTooLarge { .. } => {
            desk.counts.add_one(Count::StoreTooLarge);
            Status::TooLarge
        }
        Error::Full { .. } => {
            desk.counts.add_one(Count::StoreNoMemory);
            Status::OutOfMemory
        }
        Error::NotANumber { .. } => Status::NonNumeric,
        Error::KeyTooLong { .. } | Error::InvalidKey { .. } => Status::InvalidArguments,
        Error::Unsupported { .. } => Status::NotSupported,
        _ if error.is_retryable() => Status::TemporaryFailure,
        _ => Status::Internal,
    };
    match status {
        Status::NotSupported | Status::TemporaryFailure | Status::Internal => {
            encode_error_text(out, echo, status, error.to_string().as_bytes());
        }
        _ => encode_error(out, echo, status),
    }
}
