//! `verbosity <level>`: how much a server logs.

use crate::number::parse_u64;
use crate::request::{Fault, Words};

/// Reads the words of a request behind its verb: whether no answer is wanted.
pub fn parse_request(mut words: Words<'_>) -> Result<bool, Fault> {
    let (level, second, third) = (words.needed()?, words.next(), words.next());
    match (level, second, third) {
        (_, _, Some(_)) => Err(Fault::Unknown),
        (b"noreply", None, None) => Ok(true),
        (level, second, None) => match parse_u64(level) {
            Some(_) => Ok(second == Some(b"noreply")),
            None => Err(Fault::Format),
        },
    }
}

/// Writes the answer.
pub fn encode_reply(out: &mut Vec<u8>) {
    out.extend_from_slice(b"OK\r\n");
}
