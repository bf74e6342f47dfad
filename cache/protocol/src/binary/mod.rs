//! The binary protocol, as a server speaks it: a header of 24 bytes, then extras, a key and a value.
//!
//! Its source is the Memcache Binary Protocol (`protocol-binary.txt`), which memcached has in its folder `doc`. Where
//! memcached 1.6 does otherwise, this module does as memcached. [`parse_request`] reads a request up to its value, so a
//! server can refuse a value before it arrives. The functions that write answers take the request's [`Echo`], and know
//! which answers a quiet command leaves out.

pub mod arithmetic;
pub mod delete;
pub mod get;
pub mod opcode;
pub mod reply;
pub mod sasl;
pub mod set;
pub mod stat;
pub mod touch;
pub mod version;

mod fault;
mod header;
mod status;

pub use fault::Fault;
pub use header::Echo;
pub use status::Status;

use header::{Extras, Lengths, RequestHeader};
use opcode::Verb;

use crate::key::MAX_KEY_LEN;

/// The first byte of every request. No request of the text and meta protocols begins with it.
pub const REQUEST_MAGIC: u8 = 0x80;

/// The first byte of every answer.
pub const REPLY_MAGIC: u8 = 0x81;

/// Number of bytes of a header.
pub const HEADER_LEN: usize = 24;

/// The longest body of a request, in bytes: memcached ends a connection that announces a longer one.
pub const MAX_BODY_LEN: u32 = 1 << 30;

/// The result of [`parse_request`] for the bytes that have arrived so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrived<'a> {
    /// A part of a request. Parse it again once this many bytes from its beginning have arrived.
    Needs(usize),
    /// A request up to its value, and the number of bytes that it takes. A value of [`Command::value_len`] bytes
    /// follows.
    Whole(Request<'a>, usize),
}

/// A request as a server receives it, up to its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// Header fields that the answer repeats.
    pub echo: Echo,
    /// The command with its parts.
    pub command: Command<'a>,
}

/// A command as a server receives it. Unlike a key of the text protocol, a key may have any bytes, blanks too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command<'a> {
    /// `GET`, `GETK`, `GAT`, `GATK` and their quiet variants.
    Get(get::Request<'a>),
    /// `TOUCH`.
    Touch(touch::Request<'a>),
    /// `SET`, `ADD`, `REPLACE`, `APPEND`, `PREPEND` and their quiet variants; the value follows.
    Set(set::Request<'a>),
    /// `DELETE`, `DELETEQ`.
    Delete(delete::Request<'a>),
    /// `INCREMENT`, `DECREMENT` and their quiet variants.
    Arithmetic(arithmetic::Request<'a>),
    /// `FLUSH`, `FLUSHQ`: the time after which all entries end, or 0. [`reply::encode_success`] answers it.
    Flush(i64),
    /// `STAT`, with the words of a group or nothing.
    Stat(&'a [u8]),
    /// `VERBOSITY`, with the level. [`reply::encode_success`] answers it.
    Verbosity(u32),
    /// `VERSION`.
    Version,
    /// `NOOP`. [`reply::encode_success`] answers it.
    Noop,
    /// `QUIT`, `QUITQ`. [`reply::encode_success`] answers it, then the connection ends.
    Quit,
    /// `SASL_LIST_MECHS`.
    SaslList,
    /// `SASL_AUTH`, `SASL_STEP`; the message follows.
    Sasl(sasl::Request<'a>),
}

impl Command<'_> {
    /// Number of bytes of the value behind the request.
    #[inline]
    pub fn value_len(&self) -> usize {
        match self {
            Self::Set(request) => request.header.len,
            Self::Sasl(request) => request.len,
            _ => 0,
        }
    }

    /// Whether a client may send the command before it has authenticated itself, where a server asks for that.
    /// memcached answers any other command by [`Status::AuthFailure`] and ends the connection.
    pub fn precedes_login(&self) -> bool {
        matches!(self, Self::Version | Self::SaslList | Self::Sasl(_))
    }
}

/// Reads the request at the beginning of `input` up to its value.
///
/// # Errors
///
/// The fault of the header, which [`reply::encode_fault`] answers. It is known as soon as the header has arrived.
#[inline]
pub fn parse_request(input: &[u8]) -> Result<Arrived<'_>, Fault> {
    if input.first().is_some_and(|magic| *magic != REQUEST_MAGIC) {
        return Err(Fault::Magic);
    }
    let Some(header) = input.first_chunk() else { return Ok(Arrived::Needs(HEADER_LEN)) };
    let header = RequestHeader::parse(header);
    let (verb, lengths) = judge(&header)?;
    let len = HEADER_LEN + lengths.extras + lengths.key;
    let Some(parts) = input.get(HEADER_LEN..len) else { return Ok(Arrived::Needs(len)) };
    let (extras, key) = parts.split_at(lengths.extras);
    let command = command(verb, &header, lengths, Extras(extras), key);
    Ok(Arrived::Whole(Request { echo: header.echo, command }, len))
}

/// The command of a header and the lengths of its parts, in memcached's order of checks.
#[inline]
fn judge(header: &RequestHeader) -> Result<(Verb, Lengths), Fault> {
    let echo = header.echo;
    let lengths = header.lengths().ok_or(Fault::Lengths(echo))?;
    if header.body_len > MAX_BODY_LEN {
        return Err(Fault::Body(echo));
    }
    let body_len = lengths.extras + lengths.key + lengths.value;
    if lengths.key > MAX_KEY_LEN {
        return Err(Fault::Arguments { echo, body_len });
    }
    let verb = Verb::of(echo.opcode).ok_or(Fault::Unknown { echo, body_len })?;
    if verb.fits(lengths) { Ok((verb, lengths)) } else { Err(Fault::Arguments { echo, body_len }) }
}

#[inline]
fn command<'a>(
    verb: Verb,
    header: &RequestHeader,
    lengths: Lengths,
    mut extras: Extras<'_>,
    key: &'a [u8],
) -> Command<'a> {
    match verb {
        Verb::Get { wants_key } => Command::Get(get::Request { key, wants_key, exptime: None }),
        Verb::GetAndTouch { wants_key } => {
            let exptime = Some(extras.next_exptime());
            Command::Get(get::Request { key, wants_key, exptime })
        }
        Verb::Touch => Command::Touch(touch::Request { key, exptime: extras.next_exptime() }),
        Verb::Set(mode) => Command::Set(set::parse_request(header, lengths, mode, extras, key)),
        Verb::Delete => Command::Delete(delete::Request { key, version: header.condition() }),
        Verb::Arithmetic { is_down } => {
            Command::Arithmetic(arithmetic::parse_request(header, is_down, extras, key))
        }
        Verb::Flush => Command::Flush(extras.next_exptime()),
        Verb::Stat => Command::Stat(key),
        Verb::Verbosity => Command::Verbosity(extras.next_u32()),
        Verb::Version => Command::Version,
        Verb::Noop => Command::Noop,
        Verb::Quit => Command::Quit,
        Verb::SaslList => Command::SaslList,
        Verb::Sasl { is_step } => {
            Command::Sasl(sasl::Request { mechanism: key, len: lengths.value, is_step })
        }
    }
}

#[cfg(test)]
mod tests;
