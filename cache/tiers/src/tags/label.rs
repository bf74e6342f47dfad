//! The names of tags, and the keys of their counters.

use larder_store::{Error, MAX_TAG_LEN, Result, check_tag};
use rapidhash::v3::rapidhash_v3;

use crate::SCHEME;

/// The most tags of an entry.
pub const MAX_TAGS: usize = 16;

/// The longest label, in bytes.
pub(crate) const MAX_LABEL_LEN: usize = 24;

/// The beginning of the keys of counters, which no entry of a caller should have.
pub(crate) const PREFIX: &[u8] = b"~larder-tag-";

/// The longest key of a counter.
pub(crate) const MAX_COUNTER_KEY_LEN: usize = PREFIX.len() + MAX_LABEL_LEN;

/// What a stored value has of the name of a tag: a short name itself, or the hash of another name.
///
/// Two names with the same hash are one tag. So entries may end too early, and never too late.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Label(Box<[u8]>);

impl Label {
    /// The label of a tag.
    pub(crate) fn of(tag: &[u8]) -> Result<Self> {
        check_tag(SCHEME, tag)?;
        // A hash begins with `#`. The key of a counter must suit every store, so only such bytes stand in it.
        let is_plain = |byte: &u8| byte.is_ascii_graphic() && *byte != b'#';
        if tag.len() <= MAX_LABEL_LEN && tag.iter().all(is_plain) {
            return Ok(Self(tag.into()));
        }
        Ok(Self(format!("#{:016x}", rapidhash_v3(tag)).into_bytes().into()))
    }

    /// The labels of the tags of an entry, each once.
    pub(crate) fn of_all(tags: &[&[u8]]) -> Result<Vec<Self>> {
        if tags.len() > MAX_TAGS {
            let what = format!("{} tags > limit {MAX_TAGS} of an entry; give it fewer", tags.len());
            return Err(Error::InvalidOptions { engine: SCHEME, reason: what });
        }
        let mut labels = Vec::with_capacity(tags.len());
        for tag in tags {
            let label = Self::of(tag)?;
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        Ok(labels)
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The key of the tag's counter.
    pub(crate) fn key(&self) -> Vec<u8> {
        key_of(&self.0)
    }
}

/// The key of the counter of a label.
pub(crate) fn key_of(label: &[u8]) -> Vec<u8> {
    [PREFIX, label].concat()
}

/// Whether a key is that of a counter.
pub(crate) fn is_counter(key: &[u8]) -> bool {
    key.starts_with(PREFIX)
}

const _: () = assert!(MAX_TAG_LEN <= 250, "the documents name the limit");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_label_that_suits_every_store() {
        let long = [b'x'; MAX_TAG_LEN];
        let names = [&b"user:7"[..], b"#user", b"with space", b"\xff\x00", &[b'y'; 24], &long];
        let labels: Vec<_> = names.iter().map(|name| Label::of(name).unwrap()).collect();
        for (name, label) in names.iter().zip(&labels) {
            let key = label.key();
            assert!(key.len() <= MAX_COUNTER_KEY_LEN && key.iter().all(u8::is_ascii_graphic));
            assert!(is_counter(&key), "{name:?}");
            assert_eq!(labels.iter().filter(|other| *other == label).count(), 1, "{name:?}");
        }
        assert_eq!(labels[0].as_bytes(), b"user:7");
        assert_eq!(labels[4].as_bytes(), [b'y'; 24]);
    }

    #[test]
    fn names_that_are_empty_or_too_long_and_too_many_tags_are_refused() {
        let message = |tags: &[&[u8]]| Label::of_all(tags).unwrap_err().to_string();
        let long = [b'x'; MAX_TAG_LEN + 1];
        assert!(message(&[b""]).contains('0') && message(&[&long]).contains("251"));
        assert!(message(&[&b"t"[..]; 17]).contains("17 tags > limit 16"));
        assert_eq!(Label::of_all(&[&b"t"[..]; 16]).unwrap().len(), 1, "a tag that comes twice");
    }
}
