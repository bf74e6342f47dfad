//! `ms <key> <len> <flags>*`: a header, the value, `\r\n`.

use super::ReplyFlags;
use crate::Parse;
use crate::line::{next_word, parse};
use crate::number::{push_i64, push_u64};
use crate::storage::{StorageMode, StorageReply, StorageRequest};

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
