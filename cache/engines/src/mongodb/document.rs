//! An entry as a document.
//!
//! ```text
//! { _id: "page:1", value: Binary, version: Int64, flags: Int64, expires: Date, tag: "news" }
//! ```
//!
//! A field that an entry does not have is left out. A key is a text of one character for each byte, U+0000 to U+00FF.
//! MongoDB compares binary data by length first, so keys with one prefix would not lie side by side; it compares a text
//! byte by byte. A key of ASCII is stored unchanged, and can be read in any client.

use std::time::Duration;

use larder_store::{Error, Meta, Remaining, Result};
use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{
    Bson, DateTime, Document, RawBinaryRef, RawBsonRef, RawDocument, RawDocumentBuf, doc,
};

use super::SCHEME;

/// The longest key, in bytes.
pub(super) const MAX_KEY_LEN: usize = 1024;

/// Room for everything but the value in a document and in the command that carries it. The command is a document, too,
/// and some servers allow it no larger size. The room covers a tag, numbers, names, and twice the key, whose bytes may
/// take two each.
pub(super) const OVERHEAD: usize = 8192;

/// The end of an entry that is long past, also for a server whose clock is behind.
pub(super) const LONG_PAST_MS: i64 = 1;

pub(super) const ID: &str = "_id";
pub(super) const VALUE: &str = "value";
pub(super) const VERSION: &str = "version";
pub(super) const FLAGS: &str = "flags";
pub(super) const EXPIRES: &str = "expires";
pub(super) const TAG: &str = "tag";

/// The metadata with which an entry is stored.
#[derive(Debug, Clone, Copy)]
pub(super) struct EntryMetadata<'a> {
    pub(super) version: i64,
    pub(super) flags: u32,
    /// Milliseconds since 1970 at which it expires.
    pub(super) deadline_ms: Option<i64>,
    pub(super) tag: Option<&'a [u8]>,
}

/// An entry as it was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found<'a> {
    pub(super) key: &'a str,
    pub(super) value: &'a [u8],
    pub(super) version: i64,
    flags: u32,
    deadline_ms: Option<i64>,
}

/// Bytes as a text that is ordered as they are.
pub(super) fn text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// The bytes of such a text; `None` where a character stands for no byte.
pub(super) fn bytes(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|c| u8::try_from(c).ok()).collect()
}

/// The first key behind all keys that begin with `prefix`; `None` where no key can be there.
pub(super) fn behind(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut behind = prefix[..=last].to_vec();
    behind[last] += 1;
    Some(behind)
}

/// The document of an entry.
pub(super) fn of(key: &[u8], value: &[u8], terms: &EntryMetadata<'_>) -> RawDocumentBuf {
    let mut document = RawDocumentBuf::new();
    document.append_ref(ID, text(key).as_str());
    document.append_ref(VALUE, RawBinaryRef { subtype: BinarySubtype::Generic, bytes: value });
    document.append_ref(VERSION, RawBsonRef::Int64(terms.version));
    if terms.flags != 0 {
        document.append_ref(FLAGS, RawBsonRef::Int64(terms.flags.into()));
    }
    if let Some(deadline_ms) = terms.deadline_ms {
        document.append_ref(EXPIRES, RawBsonRef::DateTime(DateTime::from_millis(deadline_ms)));
    }
    if let Some(tag) = terms.tag {
        document.append_ref(TAG, text(tag).as_str());
    }
    document
}

/// A filter for entries that have not expired, in addition to the given conditions.
pub(super) fn live(mut filter: Document, now_ms: i64) -> Document {
    // A field without a date is not below one.
    filter.insert(EXPIRES, doc! { "$not": { "$lte": date(now_ms) } });
    filter
}

/// Milliseconds since 1970 as MongoDB has them.
pub(super) fn date(millis: i64) -> Bson {
    Bson::DateTime(DateTime::from_millis(millis))
}

impl<'a> Found<'a> {
    /// Reads a document that was found.
    pub(super) fn read(document: &'a RawDocument) -> Result<Self> {
        let corrupted = |what: &str| Error::Corrupted { engine: SCHEME, what: what.into() };
        let (mut key, mut value) = (None, None);
        let (mut version, mut flags, mut deadline_ms) = (0, 0, None);
        for element in document {
            let (name, field) =
                element.map_err(|error| corrupted(&format!("not a document: {error}")))?;
            match (name, field) {
                (ID, RawBsonRef::String(text)) => key = Some(text),
                (VALUE, RawBsonRef::Binary(binary)) => value = Some(binary.bytes),
                (VERSION, RawBsonRef::Int64(number)) => version = number,
                (FLAGS, RawBsonRef::Int64(number)) => flags = number,
                (EXPIRES, RawBsonRef::DateTime(date)) => {
                    deadline_ms = Some(date.timestamp_millis());
                }
                _ => {}
            }
        }
        let (Some(key), Some(value)) = (key, value) else {
            return Err(corrupted("a document without the key or the value of an entry"));
        };
        let flags = u32::try_from(flags).map_err(|_| corrupted("flags of more than 32 bits"))?;
        Ok(Self { key, value, version, flags, deadline_ms })
    }

    /// Whether it has not expired.
    pub(super) fn is_live(&self, now_ms: i64) -> bool {
        self.deadline_ms.is_none_or(|deadline_ms| deadline_ms > now_ms)
    }

    /// Its metadata.
    pub(super) fn meta(&self, now_ms: i64) -> Meta {
        let left = |deadline_ms: i64| {
            Duration::from_millis(u64::try_from(deadline_ms.saturating_sub(now_ms)).unwrap_or(0))
        };
        Meta {
            flags: self.flags,
            version: Some(self.version.cast_unsigned()),
            ttl: self.deadline_ms.map_or(Remaining::Forever, |at| Remaining::For(left(at))),
            stale: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_the_order_of_its_bytes() {
        let keys: [&[u8]; 8] = [b"", b"\0", b"a", b"a\0", b"ab", b"a\x7f", b"a\x80", b"\xff\xff"];
        let texts: Vec<String> = keys.iter().map(|key| text(key)).collect();
        assert!(texts.is_sorted_by(|a, b| a.as_bytes() < b.as_bytes()), "{texts:?}");
        assert!(keys.iter().zip(&texts).all(|(key, text)| bytes(text).as_deref() == Some(*key)));
        assert_eq!(bytes("\u{100}"), None);
    }

    #[test]
    fn behind_a_prefix_is_the_next_that_does_not_begin_with_it() {
        for (prefix, next) in [
            (&b"a"[..], Some(&b"b"[..])),
            (b"a\xff", Some(b"b")),
            (b"ab\xff\xff", Some(b"ac")),
            (b"\xff", None),
            (b"", None),
        ] {
            assert_eq!(behind(prefix).as_deref(), next, "{prefix:?}");
        }
    }

    #[test]
    fn the_longest_key_and_tag_leave_room_for_the_largest_value() {
        let tag = [0xff; larder_store::MAX_TAG_LEN];
        let terms =
            EntryMetadata { version: -1, flags: u32::MAX, deadline_ms: Some(1), tag: Some(&tag) };
        let document = of(&[0xff; MAX_KEY_LEN], &[7; 1000], &terms);
        assert!(document.as_bytes().len() - 1000 <= OVERHEAD / 2, "{}", document.as_bytes().len());
        let found = Found::read(&document).unwrap();
        assert_eq!((found.value.len(), found.meta(0).version), (1000, Some(u64::MAX)));
        assert_eq!(
            (found.meta(0).flags, found.is_live(0), found.is_live(1)),
            (u32::MAX, true, false)
        );
    }
}
