//! Where an entry is: the hash of its key, and its spelling as a path.

use std::ffi::CStr;

use rapidhash::v3::rapidhash_v3;

/// The most levels of folders.
pub(super) const MAX_DEPTH: u8 = 4;

/// The number of digits of a hash.
const N_DIGITS: usize = 16;

/// The length of the longest path and the zero behind it.
const MAX_LEN: usize = 3 * MAX_DEPTH as usize + N_DIGITS + 1;

/// The place of an entry in a store.
///
/// The hash has 64 bits: with a hundred million keys, one store in three thousand has two keys that share a place. The
/// key that is stored last is then found, and the other key is a miss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Name {
    hash: u64,
    depth: u8,
}

/// The path of an entry under the folder of its store: `3f/a0/91c2…`, two digits a level, then the rest.
#[derive(Debug, Clone, Copy)]
pub(super) struct EntryPath {
    /// Digits and slashes up to `len`, a zero, then anything.
    text: [u8; MAX_LEN],
    len: u8,
    depth: u8,
}

impl Name {
    /// The place of a key. The hash is part of the format on disk.
    pub(super) fn of(key: &[u8], depth: u8) -> Self {
        Self::new(rapidhash_v3(key), depth)
    }

    /// The place of a hash. No store is deeper than [`MAX_DEPTH`].
    pub(super) fn new(hash: u64, depth: u8) -> Self {
        Self { hash, depth: depth.min(MAX_DEPTH) }
    }

    /// The place with these digits, those of the folders included; `None` for a name that is not an entry's.
    pub(super) fn from_digits(digits: &[u8], depth: u8) -> Option<Self> {
        let is_digit = |digit: &u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
        if digits.len() != N_DIGITS || !digits.iter().all(is_digit) {
            return None;
        }
        let hash = u64::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
        Some(Self::new(hash, depth))
    }

    /// Spells the place. Every `get` does this between two system calls, where a branch costs more than the work it
    /// saves. So all four levels are written, and the rest of the digits overwrites the levels that the path does not
    /// have.
    #[inline]
    pub(super) fn path(&self) -> EntryPath {
        let levels = usize::from(self.depth.min(MAX_DEPTH));
        let digits = eight_digits(self.hash >> 32);
        let mut text = [b'/'; MAX_LEN];
        for level in 0..usize::from(MAX_DEPTH) {
            text[3 * level..][..2].copy_from_slice(&digits[2 * level..][..2]);
        }
        let rest = self.hash << (8 * levels);
        text[3 * levels..][..8].copy_from_slice(&eight_digits(rest >> 32));
        text[3 * levels + 8..][..8].copy_from_slice(&eight_digits(rest));
        let len = N_DIGITS + levels;
        text[len] = 0;
        EntryPath { text, len: u8::try_from(len).unwrap_or_default(), depth: self.depth }
    }

    /// A number for locks: 62 bits of the hash, so that the number and its successor are offsets in a file.
    pub(super) fn lock_offset(&self) -> i64 {
        (self.hash >> 2).cast_signed()
    }
}

impl EntryPath {
    /// The path for the system.
    #[inline]
    pub(super) fn as_c_str(&self) -> &CStr {
        // SAFETY: `Name::path` wrote digits and slashes up to `len` and a zero there.
        unsafe { CStr::from_bytes_with_nul_unchecked(&self.text[..=usize::from(self.len)]) }
    }

    /// The folders above the entry, outermost first: `3f`, `3f/a0`.
    pub(super) fn folders(&self) -> impl Iterator<Item = &str> {
        let text = str::from_utf8(&self.text[..usize::from(self.len)]).expect("digits and slashes");
        (1..=usize::from(self.depth)).map(move |level| &text[..3 * level - 1])
    }
}

/// The low 32 bits in hexadecimal. All digits are computed at once, in one register: each is spread to a byte of its
/// own, then 10 to 15 are moved on to the letters.
#[inline]
fn eight_digits(number: u64) -> [u8; 8] {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let spread = number & 0xffff_ffff;
    let spread = (spread | spread << 16) & 0x0000_ffff_0000_ffff;
    let spread = (spread | spread << 8) & 0x00ff_00ff_00ff_00ff;
    let spread = (spread | spread << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    let is_letter = ((spread + 6 * ONES) >> 4) & ONES;
    let to_letter = u64::from(b'a' - b'0' - 10);
    (spread + u64::from(b'0') * ONES + to_letter * is_letter).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(name: Name) -> String {
        name.path().as_c_str().to_str().unwrap().to_owned()
    }

    #[test]
    fn a_path_is_the_hash_cut_into_folders() {
        let name = |depth| Name::new(0x00ff_1234_5678_9abc, depth);
        assert_eq!(spelled(name(0)), "00ff123456789abc");
        assert_eq!(spelled(name(1)), "00/ff123456789abc");
        assert_eq!(spelled(name(2)), "00/ff/123456789abc");
        assert_eq!(spelled(name(4)), "00/ff/12/34/56789abc");
        assert_eq!(name(2).path().folders().collect::<Vec<_>>(), ["00", "00/ff"]);
        assert_eq!(name(0).path().folders().count(), 0);
        assert_eq!(Name::from_digits(spelled(name(0)).as_bytes(), 3), Some(name(3)));
    }

    #[test]
    fn digits_are_those_of_the_standard_library() {
        let mut hash = 1_u64;
        for _ in 0..1000 {
            hash = hash.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            assert_eq!(spelled(Name::new(hash, 0)), format!("{hash:016x}"));
        }
    }

    #[test]
    fn only_names_of_entries_are_read_back() {
        let good = b"00ff123456789abc";
        assert!(Name::from_digits(good, 2).is_some());
        assert_eq!(Name::from_digits(&good[1..], 2), None);
        assert_eq!(Name::from_digits(b"00FF123456789abc", 2), None);
        assert_eq!(Name::from_digits(b"+0ff123456789abc", 2), None);
    }

    /// A changed hash would make all stores on disk appear empty.
    #[test]
    fn the_hash_of_a_key_never_changes() {
        assert_eq!(spelled(Name::of(b"", 0)), "0338dc4be2cecdae");
        assert_eq!(spelled(Name::of(b"the key", 0)), "e9a11eed1131ed1a");
    }
}
