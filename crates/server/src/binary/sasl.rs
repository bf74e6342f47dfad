//! `SASL_LIST_MECHS`, `SASL_AUTH`, `SASL_STEP`: a client says who it is, by the mechanism `PLAIN`.

use larder_protocol::binary::reply::encode_error;
use larder_protocol::binary::sasl::{
    MAX_MECHANISM_LEN, PLAIN, Request, encode_authenticated, encode_continue, encode_mechanisms,
    parse_plain,
};
use larder_protocol::binary::{Echo, Status};

use crate::context::Desk;
use crate::conversation::{Behind, Done};
use crate::counts::Count;
use crate::text::MAX_LOGIN_LEN;

pub(super) fn list(echo: Echo, desk: &Desk, out: &mut Vec<u8>) {
    if desk.shared.users.is_some() {
        encode_mechanisms(out, echo, "PLAIN");
    } else {
        encode_error(out, echo, Status::UnknownCommand);
    }
}

pub(super) fn run(
    echo: Echo,
    request: &Request<'_>,
    behind: &Behind<'_>,
    is_known: &mut bool,
    desk: &mut Desk,
    out: &mut Vec<u8>,
) -> Done {
    let Some(users) = &desk.shared.users else {
        encode_error(out, echo, Status::UnknownCommand);
        return Done::Skip(request.len);
    };
    if request.mechanism.len() > MAX_MECHANISM_LEN || request.len > MAX_LOGIN_LEN {
        encode_error(out, echo, Status::InvalidArguments);
        return Done::Skip(request.len);
    }
    let Some(message) = behind.bytes(request.len) else { return behind.needs(request.len) };
    if request.mechanism == PLAIN && message.is_empty() && !request.is_step {
        // The message comes with the next step.
        encode_continue(out, echo, b"");
        return Done::Whole(0);
    }
    desk.counts.add_one(Count::AuthCmds);
    let credentials = (request.mechanism == PLAIN).then(|| parse_plain(message)).flatten();
    if credentials.is_some_and(|login| users.have(login.user, login.password)) {
        *is_known = true;
        encode_authenticated(out, echo);
    } else {
        desk.counts.add_one(Count::AuthErrors);
        encode_error(out, echo, Status::AuthFailure);
    }
    Done::Whole(request.len)
}
