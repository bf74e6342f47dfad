//! The login of a client, as memcached's authentication by file has it: a `set` of any key whose value is the user, a
//! blank and the password.

use larder_protocol::request::Fault;
use larder_protocol::storage::StorageMode;
use larder_protocol::text::{self, Request};

use crate::behind::{Behind, Done};
use crate::context::Desk;
use crate::counts::Count;

/// The longest value with a user and a password, in bytes.
pub(crate) const MAX_LOGIN_LEN: usize = 2048;

/// Answers a request of a client that has not logged in; the second part is whether it has now.
pub(crate) fn log_in(
    line: &[u8],
    behind: &Behind<'_>,
    desk: &mut Desk,
    out: &mut Vec<u8>,
) -> (Done, bool) {
    let request = match text::parse_request(line) {
        Ok(Request::Set(request)) if request.header.mode == StorageMode::Set => request,
        Err(Fault::Http) => return (Done::End, false),
        _ => {
            out.extend_from_slice(b"CLIENT_ERROR unauthenticated\r\n");
            return (Done::Whole(0), false);
        }
    };
    let len = request.header.len;
    if len > MAX_LOGIN_LEN {
        out.extend_from_slice(b"CLIENT_ERROR unauthenticated\r\n");
        return (Done::End, false);
    }
    let len = behind.with_end(len);
    let Some(value) = behind.bytes(len) else { return (behind.needs(len), false) };
    desk.counts.add_one(Count::AuthCmds);
    let is_known = is_known(value, desk);
    if is_known {
        out.extend_from_slice(b"STORED\r\n");
    } else {
        desk.counts.add_one(Count::AuthErrors);
        out.extend_from_slice(b"CLIENT_ERROR authentication failure\r\n");
    }
    (Done::Whole(len), is_known)
}

fn is_known(value: &[u8], desk: &Desk) -> bool {
    let Some(value) = value.strip_suffix(b"\r\n") else { return false };
    let mut words = value.splitn(2, |byte| *byte == b' ');
    let (Some(user), Some(password)) = (words.next(), words.next()) else { return false };
    desk.shared.users.as_ref().is_none_or(|users| users.have(user, password))
}
