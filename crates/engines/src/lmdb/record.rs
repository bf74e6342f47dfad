//! The record of an entry: a header of fixed size, then the value.

use std::time::Duration;

use larder_store::Remaining;

/// Length of the header: deadline, version, flags.
pub(super) const HEADER_LEN: usize = 8 + 8 + 4;

/// What an entry takes beside its key and its value: the header, and the node and slot of LMDB's page.
pub(super) const ENTRY_OVERHEAD: usize = HEADER_LEN + 8 + 2;

/// What an entry is stored with: its deadline (0 is never) and flags.
pub(super) type Terms = (u64, u32);

/// What is stored before the value, in little-endian order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// When the entry expires, in milliseconds since 1970; 0 is never.
    pub(super) deadline_ms: u64,
    /// The transaction that wrote the value. LMDB counts them from 1 and a transaction writes an entry once, so
    /// that no two changes share a version.
    pub(super) version: u64,
    /// The flags it was set with.
    pub(super) flags: u32,
}

impl Header {
    /// Splits a record into header and value.
    pub(super) fn split(record: &[u8]) -> heed::Result<(Self, &[u8])> {
        let parts = || {
            let (deadline, rest) = record.split_first_chunk()?;
            let (version, rest) = rest.split_first_chunk()?;
            let (flags, value) = rest.split_first_chunk()?;
            let header = Self {
                deadline_ms: u64::from_le_bytes(*deadline),
                version: u64::from_le_bytes(*version),
                flags: u32::from_le_bytes(*flags),
            };
            // A page that the disk lost reads as zeros.
            (header.version != 0).then_some((header, value))
        };
        parts().ok_or_else(|| heed::Error::Decoding("a record without its header".into()))
    }

    /// As it is stored.
    pub(super) fn to_bytes(self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[..8].copy_from_slice(&self.deadline_ms.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.version.to_le_bytes());
        bytes[16..].copy_from_slice(&self.flags.to_le_bytes());
        bytes
    }

    /// What the entry was set with.
    pub(super) fn terms(self) -> Terms {
        (self.deadline_ms, self.flags)
    }

    /// How long the entry will live; `None` when its time has passed. The clock is asked only if there is a
    /// deadline.
    pub(super) fn remaining(self, now_ms: impl FnOnce() -> u64) -> Option<Remaining> {
        if self.deadline_ms == 0 {
            return Some(Remaining::Forever);
        }
        let left = self.deadline_ms.checked_sub(now_ms()).filter(|left| *left > 0)?;
        Some(Remaining::For(Duration::from_millis(left)))
    }
}

/// What an entry counts towards the byte limit.
pub(super) fn entry_bytes(key_len: usize, value_len: usize) -> u64 {
    (key_len + value_len + ENTRY_OVERHEAD) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_splits_into_what_it_was_made_of() {
        let header = Header { deadline_ms: 1 << 50, version: 7, flags: u32::MAX };
        let mut record = header.to_bytes().to_vec();
        record.extend_from_slice(b"value");
        assert_eq!(Header::split(&record).unwrap(), (header, &b"value"[..]));
    }

    #[test]
    fn what_cannot_be_a_record_is_refused() {
        for len in [0, 1, HEADER_LEN - 1, HEADER_LEN, 4096] {
            assert!(Header::split(&vec![0; len]).is_err(), "{len} zeros");
        }
    }

    #[test]
    fn an_entry_lives_until_its_deadline_and_no_longer() {
        let header = Header { deadline_ms: 1000, version: 1, flags: 0 };
        let left = |now_ms| header.remaining(|| now_ms);
        assert_eq!(left(999), Some(Remaining::For(Duration::from_millis(1))));
        assert_eq!((left(1000), left(1001)), (None, None));
        let lasting = Header { deadline_ms: 0, ..header };
        assert_eq!(lasting.remaining(|| unreachable!()), Some(Remaining::Forever));
    }
}
