//! The rules for valid keys.

use md5::{Digest, Md5};

/// The longest key, in bytes.
pub const MAX_KEY_LEN: usize = 250;

/// The reason why a key cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyFault {
    /// The key has no bytes.
    Empty,
    /// The key is longer than [`MAX_KEY_LEN`].
    TooLong,
    /// The key has a blank or a control character, which would end it early.
    Blank,
}

/// Whether `key` can stand in a request: 1 to 250 bytes, no blank, no control character. Bytes from 128 up are
/// valid, so UTF-8 is.
#[inline]
pub fn check(key: &[u8]) -> Result<(), KeyFault> {
    if key.is_empty() {
        Err(KeyFault::Empty)
    } else if key.len() > MAX_KEY_LEN {
        Err(KeyFault::TooLong)
    } else if has_blank(key) {
        Err(KeyFault::Blank)
    } else {
        Ok(())
    }
}

/// The key of something that is kept beside `key`, under this name. It begins as `key` does, and is not longer than any key.
pub fn beside(key: &[u8], name: &str) -> Vec<u8> {
    let room = MAX_KEY_LEN - name.len();
    let mut beside = key[..key.len().min(room)].to_vec();
    if key.len() > room {
        // The end is what keys differ in, so it is not just cut off.
        beside.truncate(room - 32);
        for byte in Md5::digest(key) {
            beside.extend_from_slice(format!("{byte:02x}").as_bytes());
        }
    }
    beside.extend_from_slice(name.as_bytes());
    beside
}

/// A number that tells keys apart, the same in every build.
pub fn digest(key: &[u8]) -> u64 {
    Md5::digest(key).iter().take(8).fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// Whether there is a blank or a control character. Every request checks its key, so this takes eight bytes at a time.
#[inline]
fn has_blank(key: &[u8]) -> bool {
    let is_blank = |byte: &u8| *byte <= b' ' || *byte == 127;
    let Some(last) = key.last_chunk::<8>() else { return key.iter().any(is_blank) };
    // The last eight bytes overlap the whole words before them.
    let (words, _) = key.as_chunks::<8>();
    words.iter().chain([last]).any(|word| word_has_blank(u64::from_le_bytes(*word)))
}

/// Whether one of eight bytes is below 33 or is 127.
#[inline]
fn word_has_blank(word: u64) -> bool {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
    // A subtraction borrows where a byte is smaller than the byte subtracted from it; bytes from 128 up are masked out.
    let small = word.wrapping_sub(ONES * 33) & !word;
    let delete = word ^ (ONES * 127);
    let delete = delete.wrapping_sub(ONES) & !delete;
    (small | delete) & HIGHS != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_beside_another_is_valid_and_its_own() {
        assert_eq!(beside(b"user:1", "~lease"), b"user:1~lease");
        let long = |last: u8| [&[b'k'; MAX_KEY_LEN - 1][..], &[last]].concat();
        let [one, other] = [b'1', b'2'].map(|last| beside(&long(last), "~lease"));
        assert_ne!(one, other);
        for key in [&one, &other, &beside(&[b'k'; MAX_KEY_LEN - 6], "~lease")] {
            assert_eq!(key.len(), MAX_KEY_LEN);
            assert_eq!(check(key), Ok(()));
            assert!(key.starts_with(b"kkkk") && key.ends_with(b"~lease"));
        }
    }

    #[test]
    fn a_key_has_1_to_250_bytes_and_no_blanks() {
        assert_eq!(check(&[b'k'; 250]), Ok(()));
        assert_eq!(check("schlüssel".as_bytes()), Ok(()));
        assert_eq!(check(b""), Err(KeyFault::Empty));
        assert_eq!(check(&[b'k'; 251]), Err(KeyFault::TooLong));
        for key in [&b"a b"[..], b"a\r\nflush_all", b"a\0", b"a\x7f", b"\t"] {
            assert_eq!(check(key), Err(KeyFault::Blank), "{key:?}");
        }
    }

    #[test]
    fn every_byte_is_judged_alike_wherever_it_is() {
        for byte in 0..=u8::MAX {
            let is_valid = byte > b' ' && byte != 127;
            for (len, at) in [(1, 0), (7, 6), (8, 0), (8, 7), (9, 8), (20, 13), (20, 17), (24, 16)]
            {
                // A borrow could come from the neighbours 0x80 and 0x21.
                for filler in [b'k', 0x21, 0x80, 0xff] {
                    let mut key = vec![filler; len];
                    key[at] = byte;
                    assert_eq!(check(&key).is_ok(), is_valid, "{byte} at {at} of {len}");
                }
            }
        }
    }
}
