//! The stored form of a value in a stack with tags: the value, and then its stamps.
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
const STAMPED: [u8; 3] = [0xC1, 0xFE, 0xF7];

/// Bytes behind a value without tags.
pub(crate) const PLAIN_LEN: usize = PLAIN.len();

/// The tags of a stored value, each with the number of its counter when the write of the value began.
#[derive(Debug, Clone)]
pub(super) struct Stamps<'s> {
    bytes: &'s [u8],
    left: u8,
}

impl<'s> Iterator for Stamps<'s> {
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

impl Stamps<'_> {
    /// How many tags are left.
    pub(super) fn n_left(&self) -> usize {
        usize::from(self.left)
    }
}

/// The length of the value of a stored form, and its stamps; `None` for an unknown form.
pub(super) fn split(stored: &[u8]) -> Option<(usize, Stamps<'_>)> {
    let (rest, form) = stored.split_last_chunk()?;
    match *form {
        PLAIN => Some((rest.len(), Stamps { bytes: &[], left: 0 })),
        STAMPED => {
            let (count, bytes) = rest.split_last()?;
            let stamps = Stamps { bytes, left: *count };
            let mut end = stamps.clone();
            if end.by_ref().count() < usize::from(*count) {
                return None;
            }
            Some((end.bytes.len(), stamps))
        }
        _ => None,
    }
}

/// Writes the stored form of a value.
pub(super) fn write<'l>(
    value: &[u8],
    stamps: impl ExactSizeIterator<Item = (&'l [u8], u64)>,
    room: &mut Vec<u8>,
) {
    room.extend_from_slice(value);
    let count = u8::try_from(stamps.len()).unwrap_or(u8::MAX);
    if count == 0 {
        room.extend(PLAIN);
        return;
    }
    for (label, number) in stamps.take(usize::from(count)) {
        room.extend_from_slice(&number.to_le_bytes());
        room.extend_from_slice(label);
        room.push(u8::try_from(label.len()).unwrap_or(u8::MAX));
    }
    room.push(count);
    room.extend(STAMPED);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(value: &[u8], stamps: &[(&'static [u8], u64)]) -> Vec<u8> {
        let mut room = Vec::new();
        write(value, stamps.iter().copied(), &mut room);
        room
    }

    #[test]
    fn a_stored_form_has_the_value_and_its_stamps() {
        for value in [&b""[..], b"value", &PLAIN, &[&[0][..], &STAMPED].concat()] {
            for stamps in [&[][..], &[(&b"a"[..], 7)], &[(b"a", 0), (&[b'b'; 24], u64::MAX)]] {
                let form = stored(value, stamps);
                let (len, found) = split(&form).unwrap();
                assert_eq!(&form[..len], value);
                let mut found: Vec<_> = found.collect();
                found.reverse();
                assert_eq!(found, stamps);
            }
        }
        assert_eq!(stored(b"value", &[]).len(), 5 + PLAIN_LEN);
    }

    #[test]
    fn what_is_no_stored_form_is_unknown() {
        let whole = stored(b"", &[(b"label", 7)]);
        let one = [&[1][..], &STAMPED].concat();
        // 0xF6 is CBOR's null.
        for broken in [&b""[..], b"text", &[0xA1, 0x61, 0x61, 0xF6], &STAMPED, &one, &whole[1..]] {
            assert!(split(broken).is_none(), "{broken:?}");
        }
        let too_long = [&[0; 40][..], &[25, 1], &STAMPED].concat();
        assert!(split(&too_long).is_none(), "a label of 25 bytes");
    }
}
