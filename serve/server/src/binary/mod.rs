//! The commands of the binary protocol, one file each.

mod arithmetic;
mod delete;
mod get;
mod refusal;
mod sasl;
mod set;
mod stat;
mod touch;

use larder_protocol::binary::reply::{encode_error, encode_success};
use larder_protocol::binary::{Command, Echo, Request, Status, version};

use crate::context::Context;
use crate::login::Login;
use crate::payload::{Done, Payload};
use crate::text;
use crate::version::own_version;
use refusal::refuse;

/// Carries out a request.
#[inline]
pub(crate) fn run(
    request: &Request<'_>,
    payload: &Payload<'_>,
    login: &mut Login,
    context: &mut Context,
    out: &mut Vec<u8>,
) -> Done {
    let echo = request.echo;
    if !login.is_known && !request.command.precedes_login() {
        encode_error(out, echo, Status::AuthFailure);
        return Done::End;
    }
    match &request.command {
        Command::Get(request) => get::run(echo, request, context, out),
        Command::Set(request) => return set::run(echo, request, payload, context, out),
        Command::Touch(request) => touch::run(echo, request, context, out),
        Command::Delete(request) => delete::run(echo, request, context, out),
        Command::Arithmetic(request) => arithmetic::run(echo, request, context, out),
        Command::Stat(group) => stat::run(echo, group, context, out),
        Command::Sasl(request) => return sasl::run(echo, request, payload, login, context, out),
        Command::SaslList => sasl::list(echo, context, out),
        Command::Flush(delay) => flush(echo, *delay, context, out),
        Command::Noop => encode_success(out, echo, 0),
        Command::Version => version::encode_reply(out, echo, &own_version()),
        // memcached does not know it any more.
        Command::Verbosity(_) => encode_error(out, echo, Status::UnknownCommand),
        Command::Quit => {
            encode_success(out, echo, 0);
            return Done::End;
        }
    }
    Done::Answered(0)
}

fn flush(echo: Echo, delay: i64, context: &mut Context, out: &mut Vec<u8>) {
    if !context.shared.settings.allows_flush {
        return encode_error(out, echo, Status::AuthFailure);
    }
    match text::flush(delay, context) {
        Ok(()) => encode_success(out, echo, 0),
        Err(error) => refuse(echo, &error, context, out),
    }
}
