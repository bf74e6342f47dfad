//! One write transaction: entries, their expiry index and the count of their bytes, changed together.

use std::io::Write;
use std::ops::Bound;

use heed::RwTxn;

use super::databases::Databases;
use super::record::{Header, Terms, entry_bytes};
use super::usage::Usage;

/// How many expired entries a write gives back at most. Each write adds at most one, so the expired never pile up.
const EXPIRED_PER_WRITE: usize = 16;

/// How many neighbours eviction chooses from. Five is what Redis samples; of five whose ages have nothing to do with
/// each other, the oldest is in the older half of all entries in 31 cases of 32.
const SAMPLE: usize = 5;

/// What a namespace may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Bytes of all entries.
    pub(super) bytes: u64,
    /// Pages of all entries and their index.
    pub(super) pages: usize,
    /// Bytes of one value.
    pub(super) value_len: usize,
}

/// Memory that a session lends to its write transactions, so that none is allocated for each.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    /// The namespace's usage, as it will be stored.
    pub(super) usage: Usage,
    /// The value that a new one is joined to.
    pub(super) value: Vec<u8>,
    /// The key of an entry that makes room.
    victim: Vec<u8>,
}

/// An entry as it is found before it is changed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) header: Header,
    pub(super) value_len: usize,
}

/// One write transaction.
pub(super) struct Writer<'s> {
    databases: Databases,
    usage_key: &'s str,
    limits: Limits,
    /// The time of this transaction, in milliseconds since 1970.
    now_ms: u64,
    txn: RwTxn<'s>,
    pub(super) buffers: &'s mut Buffers,
    changed: bool,
    /// Entries dropped to make room, and entries given back because they had expired.
    pub(super) evictions: u64,
    pub(super) expirations: u64,
}

impl<'s> Writer<'s> {
    pub(super) fn new(
        txn: RwTxn<'s>,
        databases: Databases,
        usage_key: &'s str,
        limits: Limits,
        now_ms: u64,
        buffers: &'s mut Buffers,
    ) -> heed::Result<Self> {
        buffers.usage.load(databases.main.get(&txn, usage_key)?);
        Ok(Self {
            databases,
            usage_key,
            limits,
            now_ms,
            txn,
            buffers,
            changed: false,
            evictions: 0,
            expirations: 0,
        })
    }

    /// The version that this transaction gives.
    fn version(&self) -> u64 {
        self.txn.id() as u64
    }

    /// The entry under `key`, expired or not.
    pub(super) fn find(&self, key: &[u8]) -> heed::Result<Option<Found>> {
        let Some(record) = self.databases.entries.get(&self.txn, key)? else {
            return Ok(None);
        };
        let (header, value) = Header::split(record)?;
        Ok(Some(Found { header, value_len: value.len() }))
    }

    /// Whether an entry is there for whoever asks now.
    pub(super) fn is_live(&self, found: Found) -> bool {
        found.header.remaining(|| self.now_ms).is_some()
    }

    /// Copies the value under `key` into the buffer for it.
    pub(super) fn read_value(&mut self, key: &[u8]) -> heed::Result<()> {
        self.buffers.value.clear();
        if let Some(record) = self.databases.entries.get(&self.txn, key)? {
            self.buffers.value.extend_from_slice(Header::split(record)?.1);
        }
        Ok(())
    }

    /// Stores an entry in place of what was found under its key. The value comes in two parts.
    pub(super) fn put(
        &mut self,
        key: &[u8],
        old: Option<Found>,
        (deadline_ms, flags): Terms,
        parts: [&[u8]; 2],
    ) -> heed::Result<()> {
        let header = Header { deadline_ms, version: self.version(), flags };
        self.put_record(key, old, header, parts)
    }

    /// Gives an entry another deadline. Its value stays, and so does its version.
    pub(super) fn set_deadline(
        &mut self,
        key: &[u8],
        old: Found,
        deadline_ms: u64,
    ) -> heed::Result<()> {
        self.read_value(key)?;
        let value = std::mem::take(&mut self.buffers.value);
        let put =
            self.put_record(key, Some(old), Header { deadline_ms, ..old.header }, [&value, &[]]);
        self.buffers.value = value;
        put
    }

    fn put_record(
        &mut self,
        key: &[u8],
        old: Option<Found>,
        header: Header,
        parts: [&[u8]; 2],
    ) -> heed::Result<()> {
        self.changed = true;
        let head = header.to_bytes();
        let value_len = parts[0].len() + parts[1].len();
        self.databases.entries.put_reserved(
            &mut self.txn,
            key,
            head.len() + value_len,
            |space| {
                space.write_all(&head)?;
                space.write_all(parts[0])?;
                space.write_all(parts[1])
            },
        )?;
        let old_deadline_ms = old.map_or(0, |old| old.header.deadline_ms);
        if old_deadline_ms != header.deadline_ms {
            self.unlist(key, old_deadline_ms)?;
            if header.deadline_ms != 0 {
                self.databases.expiry.put(&mut self.txn, &header.deadline_ms, key)?;
            }
        }
        let freed = old.map_or(0, |old| entry_bytes(key.len(), old.value_len));
        let bytes = self.buffers.usage.bytes() + entry_bytes(key.len(), value_len);
        self.buffers.usage.set_bytes(bytes.saturating_sub(freed));
        Ok(())
    }

    /// Removes the entry that was found under `key`.
    pub(super) fn remove(&mut self, key: &[u8], old: Found) -> heed::Result<()> {
        self.changed = true;
        self.databases.entries.delete(&mut self.txn, key)?;
        self.unlist(key, old.header.deadline_ms)?;
        let bytes = self.buffers.usage.bytes();
        let freed = entry_bytes(key.len(), old.value_len);
        self.buffers.usage.set_bytes(bytes.saturating_sub(freed));
        Ok(())
    }

    /// Takes an entry out of the expiry index.
    fn unlist(&mut self, key: &[u8], deadline_ms: u64) -> heed::Result<()> {
        if deadline_ms != 0 {
            self.databases.expiry.delete_one_duplicate(&mut self.txn, &deadline_ms, key)?;
        }
        Ok(())
    }

    /// Removes everything.
    pub(super) fn clear(&mut self) -> heed::Result<()> {
        self.changed = true;
        self.databases.entries.clear(&mut self.txn)?;
        self.databases.expiry.clear(&mut self.txn)?;
        self.buffers.usage.set_bytes(0);
        self.buffers.usage.set_hand(b"");
        Ok(())
    }

    /// Gives expired entries back, a bounded number of them; says how many.
    pub(super) fn expire(&mut self) -> heed::Result<usize> {
        for n in 0..EXPIRED_PER_WRITE {
            let Some((deadline_ms, key)) = self.databases.expiry.first(&self.txn)? else {
                return Ok(n);
            };
            if deadline_ms > self.now_ms {
                return Ok(n);
            }
            let mut victim = std::mem::take(&mut self.buffers.victim);
            victim.clear();
            victim.extend_from_slice(key);
            let removed = match self.find(&victim)? {
                Some(found) if found.header.deadline_ms == deadline_ms => {
                    self.expirations += 1;
                    self.remove(&victim, found)
                }
                // The index knows more than the entries: mend it, or it would stay first for ever.
                _ => self.unlist(&victim, deadline_ms),
            };
            self.buffers.victim = victim;
            removed?;
        }
        Ok(EXPIRED_PER_WRITE)
    }

    /// Drops entries until all is within the limits: the expired first, then the old.
    pub(super) fn make_room(&mut self) -> heed::Result<()> {
        self.drop_down_to(self.limits.bytes)
    }

    /// Drops entries until at least `bytes` are free that were not.
    pub(super) fn free(&mut self, bytes: u64) -> heed::Result<()> {
        self.drop_down_to(self.buffers.usage.bytes().saturating_sub(bytes))
    }

    fn drop_down_to(&mut self, bytes: u64) -> heed::Result<()> {
        while self.buffers.usage.bytes() > bytes
            || self.databases.pages(&self.txn)? > self.limits.pages
        {
            if self.expire()? == 0 && !self.evict()? {
                break;
            }
        }
        Ok(())
    }

    /// Drops the oldest of the next entries at the hand; `false` when there is none but this transaction's own.
    fn evict(&mut self) -> heed::Result<bool> {
        // The second look starts over, at the first key.
        for _ in 0..2 {
            if let Some(found) = self.sample()? {
                let victim = std::mem::take(&mut self.buffers.victim);
                let removed = self.remove(&victim, found);
                self.buffers.victim = victim;
                self.evictions += 1;
                return removed.map(|()| true);
            }
            self.buffers.usage.set_hand(b"");
        }
        Ok(false)
    }

    /// Looks at the next entries behind the hand and moves it past them. The oldest of them becomes the victim.
    fn sample(&mut self) -> heed::Result<Option<Found>> {
        let own = self.version();
        let Buffers { usage, victim, .. } = &mut *self.buffers;
        let hand = usage.hand();
        let start = if hand.is_empty() { Bound::Unbounded } else { Bound::Excluded(hand) };
        let mut oldest: Option<Found> = None;
        let mut last = &[][..];
        for entry in
            self.databases.entries.range(&self.txn, &(start, Bound::Unbounded))?.take(SAMPLE)
        {
            let (key, record) = entry?;
            let (header, value) = Header::split(record)?;
            last = key;
            if header.version != own
                && oldest.is_none_or(|oldest| header.version < oldest.header.version)
            {
                oldest = Some(Found { header, value_len: value.len() });
                victim.clear();
                victim.extend_from_slice(key);
            }
        }
        usage.set_hand(last);
        Ok(oldest)
    }

    /// Commits what was changed; a transaction that changed nothing leaves no trace.
    pub(super) fn commit(mut self) -> heed::Result<()> {
        if !self.changed {
            self.txn.abort();
            return Ok(());
        }
        self.databases.main.put(&mut self.txn, self.usage_key, self.buffers.usage.record())?;
        self.txn.commit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lmdb::config::LmdbConfig;
    use crate::lmdb::environment::Environment;
    use larder_host::scratch::{Place, ScratchDir};

    /// A deadline that stayed behind in the index would not be seen from outside: only the file would grow.
    #[test]
    fn the_index_lists_an_entry_once_or_not_at_all() {
        let place = Place::Own(ScratchDir::create("lmdb").unwrap());
        let environment = Environment::open(place, &LmdbConfig::default()).unwrap();
        let databases = Databases::open(&environment, "test").unwrap();
        let limits = Limits { bytes: 1 << 20, pages: 1 << 10, value_len: 1 << 10 };
        let mut buffers = Buffers::default();
        // Each step: a deadline (0 is never) to store under the key, or the entry's end.
        let steps = [Some(0), Some(50), Some(50), Some(70), Some(0), Some(60), None, Some(80)];
        for step in steps {
            let txn = environment.env().write_txn().unwrap();
            let mut writer =
                Writer::new(txn, databases, "test.usage", limits, 10, &mut buffers).unwrap();
            let old = writer.find(b"key").unwrap();
            match (step, old) {
                (Some(deadline_ms), old) => {
                    writer.put(b"key", old, (deadline_ms, 0), [b"value", b""]).unwrap();
                }
                (None, old) => writer.remove(b"key", old.unwrap()).unwrap(),
            }
            let listed = writer.databases.expiry.first(&writer.txn).unwrap();
            let wanted = step.filter(|deadline_ms| *deadline_ms != 0);
            assert_eq!(listed, wanted.map(|deadline_ms| (deadline_ms, &b"key"[..])), "{step:?}");
            let n_listed = writer.databases.expiry.len(&writer.txn).unwrap();
            assert_eq!(n_listed, u64::from(wanted.is_some()), "{step:?}");
            writer.commit().unwrap();
        }
    }
}
