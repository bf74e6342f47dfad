//! `SASL_LIST_MECHS`, `SASL_AUTH`, `SASL_STEP`: authentication, by the mechanism `PLAIN`.
//!
//! Their source is the page `SASLAuthProtocol` in memcached's wiki; `PLAIN` is RFC 4616.

use std::fmt;

use super::header::Echo;
use super::{Status, reply};

/// The name of the one mechanism whose messages are read here.
pub const PLAIN: &[u8] = b"PLAIN";

/// The longest name of a mechanism, in bytes. memcached refuses a longer one by [`Status::InvalidArguments`].
pub const MAX_MECHANISM_LEN: usize = 32;

/// A request as a server receives it: `SASL_AUTH` or `SASL_STEP`. The message follows it as its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// The name of the mechanism.
    pub mechanism: &'a [u8],
    /// Number of bytes of the message.
    pub len: usize,
    /// Whether this is `SASL_STEP`, which goes on with an authentication.
    pub is_step: bool,
}

/// A message of the mechanism `PLAIN`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Credentials<'a> {
    /// The name of the user.
    pub user: &'a [u8],
    /// The password of the user.
    pub password: &'a [u8],
}

impl fmt::Debug for Credentials<'_> {
    /// Shows the user. A password is never shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("user", &format_args!("{}", self.user.escape_ascii()))
            .finish_non_exhaustive()
    }
}

/// Reads a message of `PLAIN`: `[<identity>] NUL <user> NUL <password>`; `None` where the message has another form.
///
/// The identity names the user that the client acts for. It must be absent or equal to the user, because no user acts
/// for another one.
pub fn parse_plain(message: &[u8]) -> Option<Credentials<'_>> {
    let mut parts = message.split(|byte| *byte == 0);
    let (identity, user, password) = (parts.next()?, parts.next()?, parts.next()?);
    let is_whole = parts.next().is_none() && !user.is_empty() && !password.is_empty();
    let is_own = identity.is_empty() || identity == user;
    (is_whole && is_own).then_some(Credentials { user, password })
}

/// Writes the answer to `SASL_LIST_MECHS`: the names of the mechanisms, with blanks between them.
pub fn encode_mechanisms(out: &mut Vec<u8>, echo: Echo, names: &str) {
    reply::encode_body(out, echo, Status::Success, 0, names.as_bytes());
}

/// Writes the answer of an authentication that succeeded. One that failed has [`Status::AuthFailure`].
pub fn encode_authenticated(out: &mut Vec<u8>, echo: Echo) {
    reply::encode_body(out, echo, Status::Success, 0, b"Authenticated");
}

/// Writes the answer of an authentication that needs another step, such as `PLAIN` without a message.
pub fn encode_continue(out: &mut Vec<u8>, echo: Echo, challenge: &[u8]) {
    reply::encode_body(out, echo, Status::AuthContinue, 0, challenge);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binary::opcode;

    #[test]
    fn a_message_has_a_user_and_a_password() {
        let credentials = Some(Credentials { user: b"user", password: b"pass word" });
        assert_eq!(parse_plain(b"\0user\0pass word"), credentials);
        assert_eq!(parse_plain(b"user\0user\0pass word"), credentials);
        for message in [
            &b""[..],
            b"\0",
            b"\0\0",
            b"\0user",
            b"\0user\0",
            b"\0\0pass",
            b"user\0pass",
            b"root\0user\0pass",
            b"\0user\0pass\0",
        ] {
            assert_eq!(parse_plain(message), None, "{message:?}");
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        let shown = format!("{:?}", parse_plain(b"\0user\0secret"));
        assert_eq!(shown, "Some(Credentials { user: user, .. })");
    }

    #[test]
    fn success_and_a_further_step_are_told_apart() {
        let echo = Echo { opcode: opcode::SASL_AUTH, opaque: 0 };
        let mut out = Vec::new();
        encode_authenticated(&mut out, echo);
        assert_eq!((&out[6..8], &out[24..]), (&[0, 0][..], &b"Authenticated"[..]));
        out.clear();
        encode_continue(&mut out, echo, b"");
        assert_eq!((&out[6..8], &out[24..]), (&[0, 0x21][..], &b""[..]));
    }
}
