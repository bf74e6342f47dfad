//! `SASL_LIST_MECHS`, `SASL_AUTH`, `SASL_STEP`: the login of a client, by the mechanism `PLAIN`.

use larder_protocol::binary::reply::encode_error;
use larder_protocol::binary::sasl::{
    MAX_MECHANISM_LEN, PLAIN, Request, encode_authenticated, encode_continue, encode_mechanisms,
    parse_plain,
};
use larder_protocol::binary::{Echo, Status};

use crate::behind::{Behind, Done};
use crate::context::Desk;
use crate::conversation::Login;
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
    login: &mut Login,
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
    // A new login ends the earlier one, also where it fails.
    let has_begun = std::mem::take(&mut login.has_begun);
    login.is_known = false;
    if request.mechanism == PLAIN && message.is_empty() && !request.is_step {
        // The message comes with the next step.
        login.has_begun = true;
        encode_continue(out, echo, b"");
        return Done::Whole(0);
    }
    desk.counts.add_one(Count::AuthCmds);
    let is_expected = request.mechanism == PLAIN && (has_begun || !request.is_step);
    let credentials = is_expected.then(|| parse_plain(message)).flatten();
    if credentials.is_some_and(|given| users.have(given.user, given.password)) {
        login.is_known = true;
        encode_authenticated(out, echo);
    } else {
        desk.counts.add_one(Count::AuthErrors);
        encode_error(out, echo, Status::AuthFailure);
    }
    Done::Whole(request.len)
}
