//! The record of an entry: a header of fixed size, the tag if there is one, then the value.

use std::time::Duration;

use larder_store::{MAX_TAG_LEN, Remaining};

/// Length of the header: deadline, version with the length of the tag, flags.
pub(super) const HEADER_LEN: usize = 8 + 8 + 4;

/// The highest byte of the version field is the length of the tag, the rest is the version. An entry without a tag is
/// stored as before tags existed.
const VERSION_BITS: u32 = 56;

/// The lowest bits of a version count the entries that one transaction writes; the bits above are the transaction. A
/// disk wears out before 2^44 transactions, each of which writes some pages.
const COUNT_BITS: u32 = 12;

/// The most entries that one transaction may write.
pub(super) const VERSIONS_PER_TRANSACTION: usize = 1 << COUNT_BITS;

/// The version of the entry that a transaction writes after `n_before` others.
///
/// A file from before batches has versions without the count. They are below every version that is made from their
/// transaction or a later one, so no version repeats.
pub(super) fn version(transaction: u64, n_before: u64) -> u64 {
    debug_assert!(n_before < VERSIONS_PER_TRANSACTION as u64, "a transaction has no more versions");
    transaction << COUNT_BITS | n_before
}

const _: () = assert!(MAX_TAG_LEN <= u8::MAX as usize, "the length of a tag is one byte");

/// The size of an entry beside its key and its value: the header, and the node and slot of LMDB's page.
pub(super) const ENTRY_OVERHEAD: usize = HEADER_LEN + 8 + 2;

/// The metadata with which an entry is stored: its deadline (0 is never) and flags.
pub(super) type Terms = (u64, u32);

/// The header before the value, in little-endian order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordHeader {
    /// When the entry expires, in milliseconds since 1970; 0 is never.
    pub(super) deadline_ms: u64,
    /// The [`version`] of the value. LMDB counts transactions from 1, so it is never 0, and no two changes share one.
    pub(super) version: u64,
    /// The flags that the entry was set with.
    pub(super) flags: u32,
    /// Length of the tag; 0 for an entry without a tag.
    pub(super) tag_len: u8,
}

/// A record and its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record<'a> {
    pub(super) header: RecordHeader,
    pub(super) tag: &'a [u8],
    pub(super) value: &'a [u8],
}

impl<'a> Record<'a> {
    /// Splits a stored record into its parts.
    pub(super) fn split(stored: &'a [u8]) -> heed::Result<Self> {
        let parts = || {
            let (deadline, rest) = stored.split_first_chunk()?;
            let (version, rest) = rest.split_first_chunk()?;
            let (flags, rest) = rest.split_first_chunk()?;
            let version = u64::from_le_bytes(*version);
            let header = RecordHeader {
                deadline_ms: u64::from_le_bytes(*deadline),
                version: version & ((1 << VERSION_BITS) - 1),
                flags: u32::from_le_bytes(*flags),
                tag_len: (version >> VERSION_BITS) as u8,
            };
            let (tag, value) = rest.split_at_checked(header.tag_len.into())?;
            // A page that the disk lost reads as zeros.
            (header.version != 0).then_some(Self { header, tag, value })
        };
        parts().ok_or_else(|| heed::Error::Decoding("a record without its header".into()))
    }
}

impl RecordHeader {
    /// The header as stored.
    pub(super) fn to_bytes(self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[..8].copy_from_slice(&self.deadline_ms.to_le_bytes());
        let version = self.version | u64::from(self.tag_len) << VERSION_BITS;
        bytes[8..16].copy_from_slice(&version.to_le_bytes());
        bytes[16..].copy_from_slice(&self.flags.to_le_bytes());
        bytes
    }

    /// The metadata with which the entry was set.
    pub(super) fn terms(self) -> Terms {
        (self.deadline_ms, self.flags)
    }

    /// The remaining lifetime of the entry; `None` when it has expired. Reads the clock only if there is a deadline.
    pub(super) fn remaining(self, now_ms: impl FnOnce() -> u64) -> Option<Remaining> {
        if self.deadline_ms == 0 {
            return Some(Remaining::Forever);
        }
        let left = self.deadline_ms.checked_sub(now_ms()).filter(|left| *left > 0)?;
        Some(Remaining::For(Duration::from_millis(left)))
    }
}

/// The bytes by which an entry counts towards the byte limit: its key, its tag and value, and the overhead.
pub(super) fn entry_bytes(key_len: usize, stored_len: usize) -> u64 {
    (key_len + stored_len + ENTRY_OVERHEAD) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_splits_into_its_parts() {
        let longest = [b't'; MAX_TAG_LEN];
        for tag in [&b""[..], b"t", &longest] {
            let tag_len = u8::try_from(tag.len()).unwrap();
            let version = (1 << VERSION_BITS) - 1;
            let header = RecordHeader { deadline_ms: 1 << 50, version, flags: u32::MAX, tag_len };
            let stored = [&header.to_bytes(), tag, b"value"].concat();
            let record = Record { header, tag, value: b"value" };
            assert_eq!(Record::split(&stored).unwrap(), record);
        }
    }

    /// The format of records before tags existed.
    #[test]
    fn a_record_without_a_tag_has_the_format_from_before_tags() {
        let header = RecordHeader { deadline_ms: 1, version: 2, flags: 3, tag_len: 0 };
        let stored = [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0];
        assert_eq!(header.to_bytes(), stored);
    }

    #[test]
    fn no_version_repeats_and_later_versions_are_larger() {
        let last = VERSIONS_PER_TRANSACTION as u64 - 1;
        // A file from before batches has its transactions as versions.
        let versions = [7, version(7, 0), version(7, 1), version(7, last), version(8, 0)];
        assert!(versions.is_sorted_by(|one, next| one < next), "{versions:?}");
        assert!(version((1 << (VERSION_BITS - COUNT_BITS)) - 1, last) < 1 << VERSION_BITS);
    }

    #[test]
    fn bytes_that_cannot_be_a_record_are_refused() {
        for len in [0, 1, HEADER_LEN - 1, HEADER_LEN, 4096] {
            assert!(Record::split(&vec![0; len]).is_err(), "{len} zeros");
        }
        let header = RecordHeader { deadline_ms: 0, version: 1, flags: 0, tag_len: 3 };
        let cut_off = [&header.to_bytes()[..], b"ta"].concat();
        assert!(Record::split(&cut_off).is_err());
    }

    #[test]
    fn an_entry_lives_until_its_deadline_and_no_longer() {
        let header = RecordHeader { deadline_ms: 1000, version: 1, flags: 0, tag_len: 0 };
        let left = |now_ms| header.remaining(|| now_ms);
        assert_eq!(left(999), Some(Remaining::For(Duration::from_millis(1))));
        assert_eq!((left(1000), left(1001)), (None, None));
        let lasting = RecordHeader { deadline_ms: 0, ..header };
        assert_eq!(lasting.remaining(|| unreachable!()), Some(Remaining::Forever));
    }
}
