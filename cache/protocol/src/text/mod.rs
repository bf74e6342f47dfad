//! The classic text protocol: one line asks, one or more lines answer.

pub mod delete;
pub mod flush_all;
pub mod get;
pub mod incr;
pub mod set;
pub mod stats;
pub mod touch;
pub mod verbosity;
pub mod version;

use crate::request::{Fault, Words};

/// A request as a server receives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request<'a> {
    /// `get`, `gets`, `gat`, `gats`.
    Get(get::Request<'a>),
    /// `set`, `add`, `replace`, `append`, `prepend`, `cas`; the value follows.
    Set(set::Request<'a>),
    /// `delete`.
    Delete(delete::Request<'a>),
    /// `incr`, `decr`.
    Incr(incr::Request<'a>),
    /// `touch`.
    Touch(touch::Request<'a>),
    /// `flush_all`.
    FlushAll(flush_all::Request),
    /// `stats`, with the words behind it.
    Stats(Words<'a>),
    /// `verbosity`, and whether no answer is wanted.
    Verbosity(bool),
    /// `version`.
    Version,
    /// `quit`.
    Quit,
    /// `shutdown`, and whether its word is a way to end: none, or `graceful`. [`Fault::Shutdown`] answers it where clients
    /// may not end the server, [`Fault::ShutdownMode`] another word.
    Shutdown(bool),
}

/// Whether the answer to a wrong line of a request may be left out: it ends in `noreply`, which its command understands.
pub fn is_quiet(line: &[u8]) -> bool {
    let mut words = Words(line);
    let verb = words.next().unwrap_or_default();
    !verb.starts_with(b"get") && !verb.starts_with(b"gat") && words.is_quiet()
}

/// Reads the line of a request, as [`line`](crate::request::line) takes it.
///
/// # Errors
///
/// The fault of the line, which [`Fault::line`] answers.
#[inline]
pub fn parse_request(line: &[u8]) -> Result<Request<'_>, Fault> {
    let mut words = Words(line);
    let verb = words.next().ok_or(Fault::Unknown)?;
    Ok(match verb {
        b"get" | b"gets" | b"gat" | b"gats" => Request::Get(get::parse_request(verb, words)?),
        b"set" | b"add" | b"replace" | b"append" | b"prepend" | b"cas" => {
            Request::Set(set::parse_request(verb, words)?)
        }
        b"delete" => Request::Delete(delete::parse_request(words)?),
        b"incr" | b"decr" => Request::Incr(incr::parse_request(verb, words)?),
        b"touch" => Request::Touch(touch::parse_request(words)?),
        b"flush_all" => Request::FlushAll(flush_all::parse_request(words)?),
        b"stats" => Request::Stats(words),
        b"verbosity" => Request::Verbosity(verbosity::parse_request(words)?),
        b"version" => Request::Version,
        b"quit" => Request::Quit,
        b"shutdown" => {
            let (way, more) = (words.next(), words.next());
            Request::Shutdown(matches!(way, None | Some(b"graceful")) && more.is_none())
        }
        _ if words.last().is_some_and(|last| last.starts_with(b"HTTP/")) => {
            return Err(Fault::Http);
        }
        _ => return Err(Fault::Unknown),
    })
}
