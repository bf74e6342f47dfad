//! `set`, `add`, `replace`, `append`, `prepend`, `cas`: a header, the value, `\r\n`.

use crate::Parse;
use crate::line::parse;
use crate::number::{push_i64, push_u64};
use crate::storage::{StorageMode, StorageReply, StorageRequest};

/// Writes the header; the value and a `\r\n` must follow.
pub fn encode_header(out: &mut Vec<u8>, request: &StorageRequest<'_>) {
    let (verb, version): (&[u8], _) = match request.mode {
        StorageMode::Set => (b"set ", None),
        StorageMode::Add => (b"add ", None),
        StorageMode::Replace => (b"replace ", None),
        StorageMode::Append => (b"append ", None),
        StorageMode::Prepend => (b"prepend ", None),
        StorageMode::Cas(version) => (b"cas ", Some(version)),
    };
    out.extend_from_slice(verb);
    out.extend_from_slice(request.key);
    out.push(b' ');
    push_u64(out, u64::from(request.flags));
    out.push(b' ');
    push_i64(out, request.exptime);
    out.push(b' ');
    push_u64(out, request.len as u64);
    if let Some(version) = version {
        out.push(b' ');
        push_u64(out, version);
    }
    out.extend_from_slice(b"\r\n");
}

/// Reads the answer.
pub fn parse_reply(input: &[u8]) -> Parse<'_, StorageReply> {
    parse(input, "set", |line| match line {
        b"STORED" => Some(StorageReply::Stored(None)),
        b"NOT_STORED" => Some(StorageReply::NotStored),
        b"EXISTS" => Some(StorageReply::Exists),
        b"NOT_FOUND" => Some(StorageReply::NotFound),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Parsed, Refusal};

    #[test]
    fn headers_have_the_order_of_the_protocol() {
        let request =
            StorageRequest { key: b"k", len: 5, flags: 7, exptime: -1, mode: StorageMode::Add };
        let mut out = Vec::new();
        encode_header(&mut out, &request);
        encode_header(&mut out, &StorageRequest { mode: StorageMode::Cas(12), ..request });
        assert_eq!(out, b"add k 7 -1 5\r\ncas k 7 -1 5 12\r\n");
    }

    #[test]
    fn outcomes_and_refusals_are_told_apart() {
        let stored = Ok(Parsed::Complete(Ok(StorageReply::Stored(None)), 8));
        assert_eq!(parse_reply(b"STORED\r\n"), stored);
        let reason = b"object too large for cache";
        let refused = Ok(Parsed::Complete(Err(Refusal::Server(reason)), 41));
        assert_eq!(parse_reply(b"SERVER_ERROR object too large for cache\r\n"), refused);
    }
}
