//! `SASL_LIST_MECHS`, `SASL_AUTH`, `SASL_STEP`: the login of a client, by the mechanism `PLAIN`.

use larder_protocol::binary::reply::encode_error;
use larder_protocol::binary::sasl::{
    MAX_MECHANISM_LEN, PLAIN, Request, encode_authenticated, encode_continue, encode_mechanisms,
    parse_plain,
};
use larder_protocol::binary::{Echo, Status};

use crate::context::Context;
use crate::counts::Count;
use crate::login::{Login, MAX_LOGIN_LEN};
use crate::payload::{Done, Payload};

pub(super) fn list(echo: Echo, context: &Context, out: &mut Vec<u8>) {
    if context.shared.users.is_some() {
        encode_mechanisms(out, echo, "PLAIN");
    } else {
        encode_error(out, echo, Status::UnknownCommand);
    }
}

pub(super) fn run(
    echo: Echo,
    request: &Request<'_>,
    payload: &Payload<'_>,
    login: &mut Login,
    context: &mut Context,
    out: &mut Vec<u8>,
) -> Done {
    let Some(users) = &context.shared.users else {
        encode_error(out, echo, Status::UnknownCommand);
        return Done::Skip(request.len);
    };
    if request.mechanism.len() > MAX_MECHANISM_LEN || request.len > MAX_LOGIN_LEN {
        encode_error(out, echo, Status::InvalidArguments);
        return Done::Skip(request.len);
    }
    let Some(message) = payload.bytes(request.len) else { return payload.needs(request.len) };
    // A new login ends the earlier one, also where it fails.
    let has_begun = std::mem::take(&mut login.has_begun);
    login.is_known = false;
    if request.mechanism == PLAIN && message.is_empty() && !request.is_step {
        // The message comes with the next step.
        login.has_begun = true;
        encode_continue(out, echo, b"");
        return Done::Answered(0);
    }
    context.counts.add_one(Count::AuthCmds);
    let is_expected = request.mechanism == PLAIN && (has_begun || !request.is_step);
    let credentials = is_expected.then(|| parse_plain(message)).flatten();
    if credentials.is_some_and(|given| users.have(given.user, given.password)) {
        login.is_known = true;
        encode_authenticated(out, echo);
    } else {
        context.counts.add_one(Count::AuthErrors);
        encode_error(out, echo, Status::AuthFailure);
    }
    Done::Answered(request.len)
}
