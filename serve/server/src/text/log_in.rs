//! The login of a client, as memcached's authentication by file has it: a `set` of any key whose value is the user, a
//! blank and the password.

use larder_protocol::request::Fault;
use larder_protocol::storage::StorageMode;
use larder_protocol::text::{self, Request};

use crate::context::Context;
use crate::counts::Count;
use crate::login::MAX_LOGIN_LEN;
use crate::payload::{Done, Payload};

/// Answers a request of a client that has not logged in; the second part is whether it has now.
pub(crate) fn log_in(
    line: &[u8],
    payload: &Payload<'_>,
    context: &mut Context,
    out: &mut Vec<u8>,
) -> (Done, bool) {
    let request = match text::parse_request(line) {
        Ok(Request::Set(request)) if request.header.mode == StorageMode::Set => request,
        Err(Fault::Http) => return (Done::End, false),
        _ => {
            out.extend_from_slice(b"CLIENT_ERROR unauthenticated\r\n");
            return (Done::Answered(0), false);
        }
    };
    let len = request.header.len;
    if len > MAX_LOGIN_LEN {
        out.extend_from_slice(b"CLIENT_ERROR unauthenticated\r\n");
        return (Done::End, false);
    }
    let len = payload.len_with_end(len);
    let Some(value) = payload.bytes(len) else { return (payload.needs(len), false) };
    context.counts.add_one(Count::AuthCmds);
    let is_known = is_known(value, context);
    if is_known {
        out.extend_from_slice(b"STORED\r\n");
    } else {
        context.counts.add_one(Count::AuthErrors);
        out.extend_from_slice(b"CLIENT_ERROR authentication failure\r\n");
    }
    (Done::Answered(len), is_known)
}

fn is_known(value: &[u8], context: &Context) -> bool {
    let Some(value) = value.strip_suffix(b"\r\n") else { return false };
    let mut words = value.splitn(2, |byte| *byte == b' ');
    let (Some(user), Some(password)) = (words.next(), words.next()) else { return false };
    context.shared.users.as_ref().is_none_or(|users| users.have(user, password))
}
