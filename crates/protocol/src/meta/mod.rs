//! The meta protocol of memcached 1.6: two-letter commands that name exactly what is to be returned.
//!
//! An answer begins with a code (`HD`, `VA`, `EN` …), followed by flags of one letter and perhaps a value.

use crate::line::next_word;
use crate::number::{parse_i64, parse_u64};

pub mod arithmetic;
pub mod delete;
pub mod get;
pub mod noop;
pub mod set;

/// The flags of an answer that a client of ours asks for; others are passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReplyFlags {
    /// `f`: the client's own flags.
    pub flags: u32,
    /// `c`: the version.
    pub version: Option<u64>,
    /// `t`: seconds left; -1 is for ever.
    pub ttl_s: Option<i64>,
    /// `O`: the number that the request carried.
    pub opaque: Option<u32>,
}

impl ReplyFlags {
    /// Reads blank-separated flags; `None` where one that we know has no number.
    fn parse(mut text: &[u8]) -> Option<Self> {
        let mut flags = Self::default();
        while let Some((word, rest)) = next_word(text) {
            text = rest;
            let Some((letter, number)) = word.split_first() else { continue };
            match letter {
                b'f' => flags.flags = u32::try_from(parse_u64(number)?).ok()?,
                b'c' => flags.version = Some(parse_u64(number)?),
                b't' => flags.ttl_s = Some(parse_i64(number)?),
                b'O' => flags.opaque = Some(u32::try_from(parse_u64(number)?).ok()?),
                _ => {}
            }
        }
        Some(flags)
    }
}
