//! Room for new entries: expired entries go first, then entries that were not read lately.

use std::ops::Bound;

use super::record::Record;
use super::writer::{Buffers, OldEntry, WriteTransaction};

/// The most expired entries that a write removes. Each write adds at most one, so expired entries never pile up.
pub(super) const EXPIRED_PER_WRITE: usize = 16;

/// The number of neighbours from which eviction chooses. Redis samples five too. Of five unrelated ages, the oldest is
/// in the older half of all entries in 31 cases of 32.
const SAMPLE: usize = 5;

/// The most samples of which all entries are spared before one of them makes room all the same: so a write never looks at
/// more entries than it can in a moment.
const MOST_SPARED: usize = 8;

/// The outcome of a look at some entries.
enum Sample {
    /// The one that makes room, whose key is in the buffer for victims.
    Victim(OldEntry),
    /// All of them were read lately.
    Spared,
    /// There are none behind the hand but the entry that was just written.
    End,
}

impl WriteTransaction<'_> {
    /// Removes expired entries, a bounded number of them; returns how many index entries it handled.
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
                // The index has a pair without an entry: remove the pair, or it would stay first for ever.
                _ => self.reserve(None, true).and_then(|()| self.unlist(&victim, deadline_ms)),
            };
            self.buffers.victim = victim;
            removed?;
        }
        Ok(EXPIRED_PER_WRITE)
    }

    /// Drops entries until the namespace is within its limits: expired entries first, then old ones.
    pub(super) fn make_room(&mut self) -> heed::Result<()> {
        self.drop_down_to(self.limits.bytes)
    }

    /// Drops entries until at least `bytes` more are free.
    pub(super) fn free(&mut self, bytes: u64) -> heed::Result<()> {
        self.drop_down_to(self.buffers.usage.bytes().saturating_sub(bytes))
    }

    fn drop_down_to(&mut self, bytes: u64) -> heed::Result<()> {
        while self.buffers.usage.bytes() > bytes
            || self.databases.exceed(&self.txn, self.limits.pages)?
        {
            if self.expire()? == 0 && !self.evict()? {
                break;
            }
        }
        Ok(())
    }

    /// Drops the oldest of the next entries at the hand, but for those that were read since the hand came by last. `false`
    /// when only the entry that was just written is left.
    fn evict(&mut self) -> heed::Result<bool> {
        let (mut n_spared, mut n_ends) = (0, 0);
        // At the end of the keys the hand starts over once, at the first key.
        while n_ends < 2 {
            match self.sample(n_spared < MOST_SPARED)? {
                Sample::Victim(found) => {
                    let victim = std::mem::take(&mut self.buffers.victim);
                    let removed = self.remove(&victim, found);
                    self.buffers.victim = victim;
                    self.evictions += 1;
                    return removed.map(|()| true);
                }
                Sample::Spared => n_spared += 1,
                Sample::End => {
                    n_ends += 1;
                    self.buffers.usage.set_hand(b"");
                }
            }
        }
        Ok(false)
    }

    /// Reads the next entries behind the hand and moves the hand past them. The oldest becomes the victim, unless the
    /// transaction has just written it: a batch may evict its earlier entries, but never the entry that needs the room.
    /// With `spares`, entries that were read lately lose their marks and stay.
    fn sample(&mut self, spares: bool) -> heed::Result<Sample> {
        let (own, used) = (self.last_version(), self.used);
        let Buffers { usage, victim, .. } = &mut *self.buffers;
        let hand = usage.hand();
        let start = if hand.is_empty() { Bound::Unbounded } else { Bound::Excluded(hand) };
        let mut oldest: Option<OldEntry> = None;
        let mut has_spared = false;
        let mut last = &[][..];
        for entry in
            self.databases.entries.range(&self.txn, &(start, Bound::Unbounded))?.take(SAMPLE)
        {
            let (key, stored) = entry?;
            let found = OldEntry::new(Record::split(stored)?);
            let version = found.header.version;
            last = key;
            if Some(version) == own {
                continue;
            }
            if spares && used.take(key) {
                has_spared = true;
            } else if oldest.is_none_or(|oldest| version < oldest.header.version) {
                oldest = Some(found);
                victim.clear();
                victim.extend_from_slice(key);
            }
        }
        usage.set_hand(last);
        Ok(match oldest {
            Some(oldest) => Sample::Victim(oldest),
            None if has_spared => Sample::Spared,
            None => Sample::End,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::lmdb::space::Space;
    use crate::lmdb::writer::tests::{begun, bounded, opened};
    use crate::lmdb::writer::{Buffers, NamespaceLimits, Tag};

    #[test]
    fn a_transaction_evicts_its_earlier_entries_but_never_the_one_that_it_just_wrote() {
        let (environment, databases, used) = opened();
        let limits = NamespaceLimits { bytes: 3 * 100, pages: 1 << 10, value_len: 1 << 10 };
        let (mut buffers, mut space) = (Buffers::default(), Space::of_calls());
        let mut writer =
            begun(&environment, databases, bounded(limits, &used, &mut space), &mut buffers);
        for i in 0..50_u8 {
            // Together with its overhead, an entry has between 50 and 100 bytes.
            let key = [i.wrapping_mul(37)];
            let old = writer.find(&key).unwrap();
            writer.put(&key, old, (0, 0), Tag::New(b""), [&[i; 50], b""]).unwrap();
            writer.make_room().unwrap();
            assert!(writer.find(&key).unwrap().is_some(), "entry {i}");
            assert!(writer.buffers.usage.bytes() <= limits.bytes);
        }
        assert_eq!(writer.evictions, 47);
        let alone = [&[7; 200][..], &[7; 200]];
        writer.put(b"alone", None, (0, 0), Tag::New(b""), alone).unwrap();
        writer.make_room().unwrap();
        assert_eq!((writer.evictions, writer.databases.entries.len(&writer.txn).unwrap()), (50, 1));
    }
}
