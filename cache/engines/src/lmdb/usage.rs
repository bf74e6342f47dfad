//! The size of a namespace and the progress of its eviction: one small record, written with every change.

/// The usage record: the bytes of all entries, then the key at which the eviction hand stands.
#[derive(Debug)]
pub(super) struct UsageRecord(Vec<u8>);

const BYTES_LEN: usize = 8;

impl Default for UsageRecord {
    fn default() -> Self {
        Self(vec![0; BYTES_LEN])
    }
}

impl UsageRecord {
    /// Loads a stored record; `None` means an empty namespace.
    pub(super) fn load(&mut self, record: Option<&[u8]>) {
        self.0.clear();
        self.0.extend_from_slice(record.unwrap_or_default());
        self.0.resize(self.0.len().max(BYTES_LEN), 0);
    }

    /// The record as stored.
    pub(super) fn record(&self) -> &[u8] {
        &self.0
    }

    /// The bytes that all entries count.
    pub(super) fn bytes(&self) -> u64 {
        bytes(&self.0)
    }

    pub(super) fn set_bytes(&mut self, bytes: u64) {
        self.0[..BYTES_LEN].copy_from_slice(&bytes.to_le_bytes());
    }

    /// The last key that eviction looked at; empty before the first.
    pub(super) fn hand(&self) -> &[u8] {
        &self.0[BYTES_LEN..]
    }

    pub(super) fn set_hand(&mut self, key: &[u8]) {
        self.0.truncate(BYTES_LEN);
        self.0.extend_from_slice(key);
    }
}

/// The bytes in a stored record.
pub(super) fn bytes(record: &[u8]) -> u64 {
    record.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_record_is_taken_over() {
        let mut usage = UsageRecord::default();
        usage.set_bytes(1 << 40);
        usage.set_hand(b"a key");
        let mut other = UsageRecord::default();
        other.set_hand(b"another, longer key");
        other.load(Some(usage.record()));
        assert_eq!((other.bytes(), other.hand()), (1 << 40, &b"a key"[..]));
        other.load(None);
        assert_eq!((other.bytes(), other.hand()), (0, &b""[..]));
    }
}
