//! The meta protocol of memcached 1.6: two-letter commands that name exactly the parts of the answer.
//!
//! An answer begins with a code (`HD`, `VA`, `EN` …), followed by flags of one letter and perhaps a value.

use crate::line::{next_number, next_word};
use crate::number::parse_i64;
use crate::request::{Fault, Words};
use request::Request;

pub mod arithmetic;
pub mod debug;
pub mod delete;
pub mod get;
pub mod noop;
pub mod request;
pub mod set;

/// A command as a server receives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command<'a> {
    /// `mg`.
    Get(Request<'a>),
    /// `ms`; the value follows.
    Set(set::SetRequest<'a>),
    /// `md`.
    Delete(Request<'a>),
    /// `ma`.
    Arithmetic(Request<'a>),
    /// `me`.
    Debug(Request<'a>),
    /// `mn`.
    Noop,
}

/// Reads the line of a request; `None` where its verb is none of this protocol.
///
/// # Errors
///
/// The fault of the line, which [`Fault::line`] answers.
#[inline]
pub fn parse_request(line: &[u8]) -> Result<Option<Command<'_>>, Fault> {
    let mut words = Words(line);
    let Some([b'm', verb]) = words.next() else { return Ok(None) };
    Ok(Some(match verb {
        b'g' => Command::Get(Request::parse(words)?),
        b's' => Command::Set(set::parse_request(words)?),
        b'd' => Command::Delete(Request::parse(words)?),
        b'a' => Command::Arithmetic(Request::parse(words)?),
        b'e' => Command::Debug(Request::parse(words)?),
        b'n' => Command::Noop,
        _ => return Ok(None),
    }))
}

/// The flags of an answer that Larder's clients ask for; the parser skips others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReplyFlags {
    /// `f`: the client's own flags.
    pub flags: u32,
    /// `c`: the version.
    pub version: Option<u64>,
    /// `t`: seconds left; -1 is for ever.
    pub ttl_s: Option<i64>,
    /// `s`: number of bytes of the value.
    pub len: Option<usize>,
    /// `h`: whether the entry was hit before.
    pub was_hit: Option<bool>,
    /// `W`: this client is the one that is told to load the value.
    pub is_won: bool,
    /// `X`: the value is out of date.
    pub is_stale: bool,
    /// `Z`: another client was told to load the value.
    pub is_sent: bool,
}

impl ReplyFlags {
    /// Whether this is an entry without a value, for a key that somebody is about to load: see [`get::encode_or_lease`].
    pub fn is_lease(&self, len: usize) -> bool {
        len == 0 && !self.is_stale && (self.is_won || self.is_sent)
    }

    /// Reads blank-separated flags; `None` where a known flag has no number.
    #[inline]
    fn parse(mut text: &[u8]) -> Option<Self> {
        let mut flags = Self::default();
        while let Some((letter, rest)) = text.split_first() {
            text = match letter {
                b'f' => {
                    let (number, rest) = next_number(rest)?;
                    flags.flags = u32::try_from(number).ok()?;
                    rest
                }
                b'c' => {
                    let (number, rest) = next_number(rest)?;
                    flags.version = Some(number);
                    rest
                }
                b's' => {
                    let (number, rest) = next_number(rest)?;
                    flags.len = Some(usize::try_from(number).ok()?);
                    rest
                }
                b'h' => {
                    let (number, rest) = next_number(rest)?;
                    flags.was_hit = Some(number != 0);
                    rest
                }
                b't' => {
                    let (word, rest) = next_word(rest)?;
                    flags.ttl_s = Some(parse_i64(word)?);
                    rest
                }
                _ => {
                    match letter {
                        b'W' => flags.is_won = true,
                        b'X' => flags.is_stale = true,
                        b'Z' => flags.is_sent = true,
                        _ => {}
                    }
                    next_word(rest).map_or(&[][..], |(_, rest)| rest)
                }
            };
        }
        Some(flags)
    }
}
