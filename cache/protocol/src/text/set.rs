//! `set`, `add`, `replace`, `append`, `prepend`, `cas`: a header, the value, `\r\n`.

use crate::key::MAX_KEY_LEN;
use crate::line::parse;
use crate::number::{parse_i64, parse_u64, push_i64, push_u64};
use crate::request::{Fault, Words};
use crate::storage::{StorageMode, StorageReply, StorageRequest};
use crate::{MAX_ANNOUNCED, Parse};

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

/// A request as a server receives it. The value and a `\r\n` follow its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// The request up to its value. A key may be too long, which [`Request::fault`] tells: the value is then thrown away.
    pub header: StorageRequest<'a>,
    /// Whether no answer is wanted.
    pub is_quiet: bool,
}

impl Request<'_> {
    /// The reason to refuse the request once its value has passed. A value that stayed would be read as requests.
    #[inline]
    pub fn fault(&self) -> Option<Fault> {
        (self.header.key.len() > MAX_KEY_LEN).then_some(Fault::Format)
    }
}

/// Reads the words of a request behind its verb.
#[inline]
pub fn parse_request<'a>(verb: &[u8], mut words: Words<'a>) -> Result<Request<'a>, Fault> {
    // A line with too few words is no command; that is known before any word is judged.
    let key = words.needed()?;
    let (flags, exptime, len) = (words.needed()?, words.needed()?, words.needed()?);
    let mode = match verb {
        b"set" => StorageMode::Set,
        b"add" => StorageMode::Add,
        b"replace" => StorageMode::Replace,
        b"append" => StorageMode::Append,
        b"prepend" => StorageMode::Prepend,
        _ => StorageMode::Cas(parse_u64(words.needed()?).ok_or(Fault::Format)?),
    };
    let flags =
        parse_u64(flags).and_then(|flags| u32::try_from(flags).ok()).ok_or(Fault::Format)?;
    let exptime = parse_i64(exptime).ok_or(Fault::Format)?;
    let len = parse_i64(len).ok_or(Fault::Format)?;
    let len = usize::try_from(len).ok().filter(|len| *len <= MAX_ANNOUNCED);
    let len = len.ok_or(Fault::Format)?;
    let header = StorageRequest { key, len, flags, exptime, mode };
    Ok(Request { header, is_quiet: words.is_quiet() })
}

/// Writes the answer.
#[inline]
pub fn encode_reply(out: &mut Vec<u8>, reply: StorageReply) {
    out.extend_from_slice(match reply {
        StorageReply::Stored(_) => b"STORED\r\n",
        StorageReply::NotStored => b"NOT_STORED\r\n",
        StorageReply::Exists => b"EXISTS\r\n",
        StorageReply::NotFound => b"NOT_FOUND\r\n",
    });
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
