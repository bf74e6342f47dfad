//! `ms <key> <len> <flags>*`: a header, the value, `\r\n`.

use super::ReplyFlags;
use super::request::{Facts, Request, RequestFlags};
use crate::line::{next_word, parse};
use crate::number::{parse_i64, push_i64, push_u64};
use crate::request::{Fault, Words};
use crate::storage::{StorageMode, StorageReply, StorageRequest};
use crate::{MAX_ANNOUNCED, Parse};

/// Writes the header, which asks for the version of the new entry; the value and a `\r\n` must follow.
pub fn encode_header(out: &mut Vec<u8>, request: &StorageRequest<'_>) {
    out.extend_from_slice(b"ms ");
    out.extend_from_slice(request.key);
    out.push(b' ');
    push_u64(out, request.len as u64);
    if request.flags != 0 {
        out.extend_from_slice(b" F");
        push_u64(out, u64::from(request.flags));
    }
    if request.exptime != 0 {
        out.extend_from_slice(b" T");
        push_i64(out, request.exptime);
    }
    match request.mode {
        StorageMode::Set => {}
        StorageMode::Add => out.extend_from_slice(b" ME"),
        StorageMode::Replace => out.extend_from_slice(b" MR"),
        StorageMode::Append => out.extend_from_slice(b" MA"),
        StorageMode::Prepend => out.extend_from_slice(b" MP"),
        StorageMode::Cas(version) => {
            out.extend_from_slice(b" C");
            push_u64(out, version);
        }
    }
    out.extend_from_slice(b" c\r\n");
}

/// Reads the answer.
pub fn parse_reply(input: &[u8]) -> Parse<'_, StorageReply> {
    parse(input, "ms", |line| {
        let (code, flags) = next_word(line)?;
        match code {
            b"HD" => Some(StorageReply::Stored(ReplyFlags::parse(flags)?.version)),
            b"NS" => Some(StorageReply::NotStored),
            b"EX" => Some(StorageReply::Exists),
            b"NF" => Some(StorageReply::NotFound),
            _ => None,
        }
    })
}

/// A request as a server receives it. The value and a `\r\n` follow its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetRequest<'a> {
    /// The key and the flags, or why they cannot be right.
    pub request: Result<Request<'a>, Fault>,
    /// Number of bytes of the value.
    pub len: usize,
}

/// Reads the words of a request behind its verb. A fault of the key or of a flag is told behind the value.
pub fn parse_request(mut words: Words<'_>) -> Result<SetRequest<'_>, Fault> {
    let key = words.needed()?;
    let len = words.next().ok_or(Fault::Format)?;
    let len = parse_i64(len).ok_or(Fault::Format)?;
    let len = usize::try_from(len).ok().filter(|len| *len <= MAX_ANNOUNCED);
    let len = len.ok_or(Fault::Format)?;
    Ok(SetRequest { request: Request::of(key, words), len })
}

/// The mode that the flags name. Of modes other than set and replace, the version is a condition beside it.
pub fn mode(flags: &RequestFlags) -> Result<StorageMode, Fault> {
    match (flags.mode, flags.version) {
        // A replacement on condition of a version is a set on that condition: the entry must exist.
        (None | Some(b'S' | b's' | b'R' | b'r'), Some(version)) => Ok(StorageMode::Cas(version)),
        (None | Some(b'S' | b's'), None) => Ok(StorageMode::Set),
        (Some(b'E' | b'e'), _) => Ok(StorageMode::Add),
        (Some(b'R' | b'r'), None) => Ok(StorageMode::Replace),
        (Some(b'A' | b'a'), _) => Ok(StorageMode::Append),
        (Some(b'P' | b'p'), _) => Ok(StorageMode::Prepend),
        (Some(_), _) => Err(Fault::Mode),
    }
}

/// Writes the answer.
pub fn encode_reply(out: &mut Vec<u8>, request: &Request<'_>, reply: StorageReply, facts: &Facts) {
    out.extend_from_slice(match reply {
        StorageReply::Stored(_) => b"HD",
        StorageReply::NotStored => b"NS",
        StorageReply::Exists => b"EX",
        StorageReply::NotFound => b"NF",
    });
    request.encode_flags(out, b"cs", facts);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parsed;

    #[test]
    fn the_version_of_a_stored_value_is_told() {
        for (answer, reply) in [
            ("HD c7\r\n", StorageReply::Stored(Some(7))),
            ("HD\r\n", StorageReply::Stored(None)),
            ("NS c0\r\n", StorageReply::NotStored),
            ("EX c0\r\n", StorageReply::Exists),
            ("NF c0\r\n", StorageReply::NotFound),
        ] {
            let parsed = parse_reply(answer.as_bytes());
            assert_eq!(parsed, Ok(Parsed::Complete(Ok(reply), answer.len())));
        }
        assert!(parse_reply(b"HD cx\r\n").is_err());
    }

    #[test]
    fn fields_that_are_not_asked_for_are_not_sent() {
        let mode = StorageMode::Set;
        let request = StorageRequest { key: b"k", len: 5, flags: 0, exptime: 0, mode };
        let mut out = Vec::new();
        encode_header(&mut out, &request);
        let mode = StorageMode::Cas(12);
        encode_header(&mut out, &StorageRequest { flags: 7, exptime: -1, mode, ..request });
        assert_eq!(out, b"ms k 5 c\r\nms k 5 F7 T-1 C12 c\r\n");
    }
}
