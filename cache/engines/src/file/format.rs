//! An entry in its file: the value, the key, and a trailer of 40 bytes.
//!
//! | bytes of the trailer | content, little-endian |
//! |---|---|
//! | 0..8 | version |
//! | 8..16 | deadline, in milliseconds since 1970; 0 for no deadline |
//! | 16..24 | length of the value |
//! | 24..28 | length of the key |
//! | 28..32 | flags |
//! | 32..36 | check: the low half of the hash of the trailer up to here |
//! | 36..40 | `Ldr1` |
//!
//! The value comes first, so that one plain read puts it at the start of the caller's buffer; the rest behind it is cut
//! off. The last bytes written prove that the file is whole: after a loss of power a file may be shorter than it was,
//! or end in zeros. The check guards the trailer, and the key guards itself. Hashing a large value would cost a reader
//! more than reading it. So only its length and the file system guard the value.

use rapidhash::v3::{RapidSecrets, rapidhash_v3_inline};

/// Length of the trailer.
pub(super) const TRAILER_LEN: usize = 40;

const MAGIC: &[u8; 4] = b"Ldr1";

/// The length of the checked part of the trailer, and the offset of the check.
const CHECKED_LEN: usize = 32;

/// The trailer of a file: the data of its entry without value and key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Trailer {
    pub(super) version: u64,
    /// 0 for no deadline.
    pub(super) deadline_ms: u64,
    pub(super) value_len: u64,
    pub(super) flags: u32,
}

/// The result of reading a file for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadEntry {
    /// The entry of the key.
    Entry(Trailer),
    /// No entry of the key: the entry of another key with the same hash, or no file.
    Nothing,
    /// The file is not whole.
    Broken,
}

impl Trailer {
    /// Writes key and trailer into `tail`, which is cleared first.
    pub(super) fn write(&self, key: &[u8], tail: &mut Vec<u8>) {
        let key_len = u32::try_from(key.len()).expect("keys are checked against their limit");
        tail.clear();
        tail.extend_from_slice(key);
        tail.extend_from_slice(&self.version.to_le_bytes());
        tail.extend_from_slice(&self.deadline_ms.to_le_bytes());
        tail.extend_from_slice(&self.value_len.to_le_bytes());
        tail.extend_from_slice(&key_len.to_le_bytes());
        tail.extend_from_slice(&self.flags.to_le_bytes());
        let check = tail.last_chunk().map_or(0, check);
        tail.extend_from_slice(&check.to_le_bytes());
        tail.extend_from_slice(MAGIC);
    }

    /// Reads the end of a file of `file_len` bytes; `end` should be at least as long as `key` and the trailer.
    #[inline]
    pub(super) fn read(end: &[u8], file_len: u64, key: &[u8]) -> ReadEntry {
        let Some((before, trailer)) = end.split_last_chunk::<TRAILER_LEN>() else {
            return ReadEntry::Broken;
        };
        let u64_at = |at: usize| u64::from_le_bytes(*trailer[at..].first_chunk().expect("inside"));
        let u32_at = |at: usize| u32::from_le_bytes(*trailer[at..].first_chunk().expect("inside"));
        let (value_len, key_len) = (u64_at(16), u32_at(24));
        let whole = value_len.checked_add(u64::from(key_len) + TRAILER_LEN as u64);
        let checked = trailer.first_chunk().map(check);
        if trailer[CHECKED_LEN + 4..] != *MAGIC
            || whole != Some(file_len)
            || checked != Some(u32_at(CHECKED_LEN))
        {
            return ReadEntry::Broken;
        }
        if key_len as usize != key.len() || !before.ends_with(key) {
            return ReadEntry::Nothing;
        }
        let (version, deadline_ms, flags) = (u64_at(0), u64_at(8), u32_at(28));
        ReadEntry::Entry(Self { version, deadline_ms, value_len, flags })
    }

    /// Whether the entry's time has passed.
    pub(super) fn is_expired(&self, now_ms: impl FnOnce() -> u64) -> bool {
        self.deadline_ms != 0 && self.deadline_ms <= now_ms()
    }
}

#[inline]
fn check(trailer: &[u8; CHECKED_LEN]) -> u32 {
    const SECRETS: RapidSecrets = RapidSecrets::seed_cpp(0);
    let hash = rapidhash_v3_inline::<true, true, false>(trailer, &SECRETS);
    u32::try_from(hash & u64::from(u32::MAX)).expect("the low half")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRAILER: Trailer = Trailer { version: 1, deadline_ms: 2, value_len: 5, flags: u32::MAX };

    fn file() -> Vec<u8> {
        let mut tail = b"left from before".to_vec();
        TRAILER.write(b"key", &mut tail);
        [b"value", &tail[..]].concat()
    }

    fn read(file: &[u8], key: &[u8]) -> ReadEntry {
        Trailer::read(file, file.len() as u64, key)
    }

    #[test]
    fn an_entry_reads_back_for_its_key_only() {
        let file = file();
        assert_eq!(file.len(), 5 + 3 + TRAILER_LEN);
        assert_eq!(read(&file, b"key"), ReadEntry::Entry(TRAILER));
        for other in
            [&b"kez"[..], b"", b"y", b"ekey", b"a longer key than there is room for, and more"]
        {
            assert_eq!(read(&file, other), ReadEntry::Nothing);
        }
        // The end of the file alone is enough.
        assert_eq!(Trailer::read(&file[5..], file.len() as u64, b"key"), ReadEntry::Entry(TRAILER));
    }

    #[test]
    fn every_changed_byte_behind_the_value_is_noticed() {
        let mut file = file();
        for at in 5..file.len() {
            file[at] ^= 0x40;
            assert!(!matches!(read(&file, b"key"), ReadEntry::Entry(_)), "byte {at}");
            file[at] ^= 0x40;
        }
    }

    #[test]
    fn a_file_that_was_cut_or_zeroed_is_broken() {
        let file = file();
        for len in 0..file.len() {
            assert_eq!(read(&file[..len], b"key"), ReadEntry::Broken, "{len} bytes");
        }
        assert_eq!(read(&[0; 4096], b"key"), ReadEntry::Broken);
        assert_eq!(read(&[&file[..], b"more"].concat(), b"key"), ReadEntry::Broken);
        assert_eq!(read(&[b"more", &file[..]].concat(), b"key"), ReadEntry::Broken);
    }
}
