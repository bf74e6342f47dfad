//! The header that engines without flags, versions and deadlines of their own store before each value.

use std::time::Duration;

use larder_store::{Meta, Remaining};

/// Length of a header: deadline, version, flags.
pub const HEADER_LEN: usize = 8 + 8 + 4;

/// The header before a value, in little-endian order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// When the entry expires, in milliseconds since 1970; 0 is never.
    pub deadline_ms: u64,
    /// A number that no two changes share; never 0.
    pub version: u64,
    /// The flags that the entry was set with.
    pub flags: u32,
}

impl Header {
    /// The header in these bytes; `None` for bytes that cannot be a header: a page that a disk lost reads as zeros.
    pub fn from_bytes(bytes: &[u8; HEADER_LEN]) -> Option<Self> {
        let (deadline, rest) = bytes.split_first_chunk()?;
        let (version, rest) = rest.split_first_chunk()?;
        let header = Self {
            deadline_ms: u64::from_le_bytes(*deadline),
            version: u64::from_le_bytes(*version),
            flags: u32::from_le_bytes(*rest.first_chunk()?),
        };
        (header.version != 0).then_some(header)
    }

    /// Splits a record into header and value.
    pub fn split(record: &[u8]) -> Option<(Self, &[u8])> {
        let (header, value) = record.split_first_chunk()?;
        Some((Self::from_bytes(header)?, value))
    }

    /// The header as stored.
    pub fn to_bytes(self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[..8].copy_from_slice(&self.deadline_ms.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.version.to_le_bytes());
        bytes[16..].copy_from_slice(&self.flags.to_le_bytes());
        bytes
    }

    /// The metadata of the entry; `None` when the entry has expired. Reads the clock only if there is a deadline.
    pub fn meta(self, now_ms: impl FnOnce() -> u64) -> Option<Meta> {
        let ttl = if self.deadline_ms == 0 {
            Remaining::Forever
        } else {
            let left = self.deadline_ms.checked_sub(now_ms()).filter(|left| *left > 0)?;
            Remaining::For(Duration::from_millis(left))
        };
        Some(Meta { flags: self.flags, version: Some(self.version), ttl, stale: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_splits_into_its_parts() {
        let header = Header { deadline_ms: 1 << 50, version: 7, flags: u32::MAX };
        let mut record = header.to_bytes().to_vec();
        record.extend_from_slice(b"value");
        assert_eq!(Header::split(&record), Some((header, &b"value"[..])));
    }

    #[test]
    fn bytes_that_cannot_be_a_record_are_refused() {
        for len in [0, 1, HEADER_LEN - 1, HEADER_LEN, 4096] {
            assert!(Header::split(&vec![0; len]).is_none(), "{len} zeros");
        }
    }

    #[test]
    fn an_entry_lives_until_its_deadline_and_no_longer() {
        let header = Header { deadline_ms: 1000, version: 1, flags: 0 };
        let left = |now_ms| header.meta(|| now_ms).map(|meta| meta.ttl);
        assert_eq!(left(999), Some(Remaining::For(Duration::from_millis(1))));
        assert_eq!((left(1000), left(1001)), (None, None));
        let lasting = Header { deadline_ms: 0, ..header };
        assert_eq!(lasting.meta(|| unreachable!()).unwrap().ttl, Remaining::Forever);
    }
}
