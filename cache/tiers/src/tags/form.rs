//! The stored form of a value in a stack with tags: the value, and then its tag versions.
//!
//! | bytes | meaning |
//! |---|---|
//! | any | the value |
//! | for each tag: 8, little-endian; 1 to 24; 1 | the number of its counter as of the start of the write; its label; the length of the label |
//! | 1 | how many tags; absent without tags |
//! | 3 | the form: 0xC1 0xFE 0xF6 without tags, 0xC1 0xFE 0xF7 with tags |
//!
//! The form stands at the end, so that a hit is the value as it was read, made shorter: nothing is copied. No text in UTF-8
//! ends so, and no common binary format. So a value that a program without tags has stored is hardly ever taken for a stored
//! form: of values of random bytes, one in eight million.

use super::label::MAX_LABEL_LEN;

const PLAIN: [u8; 3] = [0xC1, 0xFE, 0xF6];
const TAGGED: [u8; 3] = [0xC1, 0xFE, 0xF7];

/// Bytes behind a value without tags.
pub(crate) const PLAIN_LEN: usize = PLAIN.len();

/// The tags of a stored value, each with the number of its counter when the write of the value began.
#[derive(Debug, Clone)]
pub(crate) struct TagVersions<'s> {
    bytes: &'s [u8],
    left: u8,
}

impl<'s> Iterator for TagVersions<'s> {
    /// The label of a tag, and the number.
    type Item = (&'s [u8], u64);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let (len, rest) = self.bytes.split_last()?;
        let len = usize::from(*len);
        if !(1..=MAX_LABEL_LEN).contains(&len) {
            return None;
        }
        let (rest, label) = rest.split_at_checked(rest.len().checked_sub(len)?)?;
        let (rest, number) = rest.split_last_chunk::<8>()?;
        self.bytes = rest;
        Some((label, u64::from_le_bytes(*number)))
    }
}

impl TagVersions<'_> {
    /// How many tags are left.
    pub(crate) fn n_left(&self) -> usize {
        usize::from(self.left)
    }
}

/// The length of the value of a stored form, and its tag versions; `None` for an unknown form.
pub(crate) fn split(stored: &[u8]) -> Option<(usize, TagVersions<'_>)> {
    let (rest, form) = stored.split_last_chunk()?;
    match *form {
        PLAIN => Some((rest.len(), TagVersions { bytes: &[], left: 0 })),
        TAGGED => {
            let (count, bytes) = rest.split_last()?;
            let tag_versions = TagVersions { bytes, left: *count };
            let mut end = tag_versions.clone();
            if end.by_ref().count() < usize::from(*count) {
                return None;
            }
            Some((end.bytes.len(), tag_versions))
        }
        _ => None,
    }
}

/// Writes the stored form of a value.
pub(crate) fn write<'l>(
    value: &[u8],
    tag_versions: impl ExactSizeIterator<Item = (&'l [u8], u64)>,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(value);
    let count = u8::try_from(tag_versions.len()).unwrap_or(u8::MAX);
    if count == 0 {
        out.extend(PLAIN);
        return;
    }
    for (label, number) in tag_versions.take(usize::from(count)) {
        out.extend_from_slice(&number.to_le_bytes());
        out.extend_from_slice(label);
        out.push(u8::try_from(label.len()).unwrap_or(u8::MAX));
    }
    out.push(count);
    out.extend(TAGGED);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(value: &[u8], tag_versions: &[(&'static [u8], u64)]) -> Vec<u8> {
        let mut out = Vec::new();
        write(value, tag_versions.iter().copied(), &mut out);
        out
    }

    #[test]
    fn a_stored_form_has_the_value_and_its_stamps() {
        for value in [&b""[..], b"value", &PLAIN, &[&[0][..], &TAGGED].concat()] {
            for tag_versions in [&[][..], &[(&b"a"[..], 7)], &[(b"a", 0), (&[b'b'; 24], u64::MAX)]]
            {
                let form = stored(value, tag_versions);
                let (len, found) = split(&form).unwrap();
                assert_eq!(&form[..len], value);
                let mut found: Vec<_> = found.collect();
                found.reverse();
                assert_eq!(found, tag_versions);
            }
        }
        assert_eq!(stored(b"value", &[]).len(), 5 + PLAIN_LEN);
    }

    #[test]
    fn what_is_no_stored_form_is_unknown() {
        let whole = stored(b"", &[(b"label", 7)]);
        let one = [&[1][..], &TAGGED].concat();
        // 0xF6 is CBOR's null.
        for broken in [&b""[..], b"text", &[0xA1, 0x61, 0x61, 0xF6], &TAGGED, &one, &whole[1..]] {
            assert!(split(broken).is_none(), "{broken:?}");
        }
        let too_long = [&[0; 40][..], &[25, 1], &TAGGED].concat();
        assert!(split(&too_long).is_none(), "a label of 25 bytes");
    }
}
