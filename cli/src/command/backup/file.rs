//! The file of a backup: a line that names the format, the entries, and a record that ends them.
//!
//! ```text
//! larder backup 1\n
//! key's length u32 | value's length u32 | flags u32 | deadline u64 | key | value | check u64     each entry
//! 0 u32 | number of entries u64 | check u64                                                       the end
//! ```
//!
//! Numbers are little-endian. A deadline is in milliseconds since 1970, and 0 means none. A check is the rapidhash of the bytes
//! of its record before it. No key is empty, so a length of 0 marks the end: a file without an end was cut off.

use std::io::{self, BufRead, Error, Read, Write};

use rapidhash::v3::{DEFAULT_RAPID_SECRETS, rapidhash_v3_inline};

const FORMAT: &[u8] = b"larder backup 1\n";

/// The longest key and value that a file may have.
const MAX_KEY_LEN: usize = 1 << 20;
const MAX_VALUE_LEN: usize = 1 << 30;

/// Bytes of a record before its key.
const HEAD: usize = 4 + 4 + 4 + 8;

/// An entry of a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: Vec<u8>,
    pub(super) value: Vec<u8>,
    pub(super) flags: u32,
    /// When it expires, in milliseconds since 1970; 0 is never.
    pub(super) deadline_ms: u64,
}

/// Writes a backup.
#[derive(Debug)]
pub(super) struct Writer<W> {
    out: W,
    n_entries: u64,
    record: Vec<u8>,
}

impl<W: Write> Writer<W> {
    pub(super) fn new(mut out: W) -> io::Result<Self> {
        out.write_all(FORMAT)?;
        Ok(Self { out, n_entries: 0, record: Vec::new() })
    }

    /// Adds an entry.
    pub(super) fn add(
        &mut self,
        key: &[u8],
        value: &[u8],
        flags: u32,
        deadline_ms: u64,
    ) -> io::Result<()> {
        let too_long = |_| Error::other("an entry is too long for a backup");
        let [key_len, value_len] = [key, value].map(|part| u32::try_from(part.len()));
        self.record.clear();
        self.record.extend_from_slice(&key_len.map_err(too_long)?.to_le_bytes());
        self.record.extend_from_slice(&value_len.map_err(too_long)?.to_le_bytes());
        self.record.extend_from_slice(&flags.to_le_bytes());
        self.record.extend_from_slice(&deadline_ms.to_le_bytes());
        self.record.extend_from_slice(key);
        self.record.extend_from_slice(value);
        self.n_entries += 1;
        self.put()
    }

    /// Ends the backup; returns the number of its entries.
    pub(super) fn end(mut self) -> io::Result<u64> {
        self.record.clear();
        self.record.extend_from_slice(&0_u32.to_le_bytes());
        self.record.extend_from_slice(&self.n_entries.to_le_bytes());
        self.put()?;
        self.out.flush()?;
        Ok(self.n_entries)
    }

    fn put(&mut self) -> io::Result<()> {
        self.out.write_all(&self.record)?;
        self.out.write_all(&check(&self.record).to_le_bytes())
    }
}

/// Reads a backup.
#[derive(Debug)]
pub(super) struct Reader<R> {
    from: R,
    n_entries: u64,
    is_over: bool,
}

impl<R: BufRead> Reader<R> {
    pub(super) fn new(mut from: R) -> io::Result<Self> {
        let mut format = vec![0; FORMAT.len()];
        if from.read_exact(&mut format).is_err() || format != FORMAT {
            return Err(Error::other("it is no backup of larder"));
        }
        Ok(Self { from, n_entries: 0, is_over: false })
    }

    /// The next entry; `None` behind the last one.
    pub(super) fn next(&mut self) -> io::Result<Option<Entry>> {
        if self.is_over {
            return Ok(None);
        }
        let mut record = self.bytes(4)?;
        let key_len = number(&record, 0);
        if key_len == 0 {
            record.extend(self.bytes(8)?);
            self.check(&record)?;
            let n_entries: [u8; 8] = record[4..].try_into().map_err(Error::other)?;
            self.is_over = true;
            if u64::from_le_bytes(n_entries) != self.n_entries {
                return Err(damaged());
            }
            return Ok(None);
        }
        record.extend(self.bytes(HEAD - 4)?);
        let value_len = number(&record, 4);
        if key_len > MAX_KEY_LEN || value_len > MAX_VALUE_LEN {
            return Err(damaged());
        }
        record.extend(self.bytes(key_len + value_len)?);
        self.check(&record)?;
        self.n_entries += 1;
        let deadline: [u8; 8] = record[12..HEAD].try_into().map_err(Error::other)?;
        let flags = u32::try_from(number(&record, 8)).map_err(Error::other)?;
        let value = record.split_off(HEAD + key_len);
        let key = record.split_off(HEAD);
        Ok(Some(Entry { key, value, flags, deadline_ms: u64::from_le_bytes(deadline) }))
    }

    /// This many bytes. Memory is taken as they come, because a damaged length may be anything.
    fn bytes(&mut self, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.from.by_ref().take(len as u64).read_to_end(&mut bytes)?;
        if bytes.len() < len { Err(Error::other("it was cut off")) } else { Ok(bytes) }
    }

    fn check(&mut self, record: &[u8]) -> io::Result<()> {
        let there = self.bytes(8)?;
        if there == check(record).to_le_bytes() { Ok(()) } else { Err(damaged()) }
    }
}

fn damaged() -> Error {
    Error::other("it is damaged")
}

fn check(record: &[u8]) -> u64 {
    rapidhash_v3_inline::<true, false, false>(record, &DEFAULT_RAPID_SECRETS)
}

/// The number of 32 bits at a place of a record.
fn number(record: &[u8], at: usize) -> usize {
    let bytes = record[at..].first_chunk().copied().unwrap_or_default();
    usize::try_from(u32::from_le_bytes(bytes)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<Entry> {
        let entry = |key: &[u8], value: &[u8], flags, deadline_ms| Entry {
            key: key.to_vec(),
            value: value.to_vec(),
            flags,
            deadline_ms,
        };
        vec![
            entry(b"a", b"", 0, 0),
            entry(b"key", &[7; 70_000], u32::MAX, u64::MAX),
            entry(&[0; 300], b"\r\n", 1, 2),
        ]
    }

    fn written() -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes).unwrap();
        for Entry { key, value, flags, deadline_ms } in entries() {
            writer.add(&key, &value, flags, deadline_ms).unwrap();
        }
        writer.end().unwrap();
        bytes
    }

    fn read(bytes: &[u8]) -> io::Result<Vec<Entry>> {
        let mut reader = Reader::new(bytes)?;
        let mut entries = Vec::new();
        while let Some(entry) = reader.next()? {
            entries.push(entry);
        }
        Ok(entries)
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(read(&written()).unwrap(), entries());
        let mut empty = Vec::new();
        Writer::new(&mut empty).unwrap().end().unwrap();
        assert_eq!(read(&empty).unwrap(), []);
    }

    #[test]
    fn a_file_that_was_cut_off_or_changed_anywhere_is_refused() {
        let written = written();
        for len in (0..written.len()).step_by(7) {
            assert!(read(&written[..len]).is_err(), "{len} bytes");
        }
        for at in (0..written.len()).step_by(11) {
            let mut changed = written.clone();
            changed[at] ^= 0x10;
            assert!(read(&changed).is_err(), "byte {at}");
        }
    }
}
