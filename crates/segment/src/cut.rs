//! Values that are too long for a record: cut into parts, each an entry by itself, with one entry that tells where they are.
//!
//! The parts are there before anybody is told of them, under a number that no other value of the region ever has. So a value
//! is read whole, or, where a part was evicted meanwhile, not at all. Parts lie in all partitions in turn.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::Failed;
use crate::api::{Condition, Outcome};
use crate::cache::Cache;
use crate::locked::{self, Takes};
use crate::namespace::Space;
use crate::partition::{Moment, Partition};
use crate::record::kind;
use crate::session::{PATIENCE, Session, lock_of, lock_within};
use crate::superblock::CUTS;

/// Header and key of a part, with room to spare.
const BESIDE: usize = 64;

/// A value is large that takes more than a quarter of the small queue, which is a tenth of the region: its last parts would
/// push the first ones out.
const LARGE_SHARE: usize = 40;

/// Where the parts of a value are, as its entry tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Parts {
    number: u64,
    /// The bytes of the whole, and of each part but the last.
    len: u64,
    each: u64,
}

impl Parts {
    fn bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        for (to, word) in
            bytes.as_chunks_mut::<8>().0.iter_mut().zip([self.number, self.len, self.each])
        {
            *to = word.to_ne_bytes();
        }
        bytes
    }

    fn of(bytes: &[u8], most: usize) -> Option<Self> {
        let (words, []) = bytes.as_chunks::<8>() else { return None };
        let [number, len, each] = words else { return None };
        let [number, len, each] = [number, len, each].map(|word| u64::from_ne_bytes(*word));
        (each >= 1024 && len <= most as u64).then_some(Self { number, len, each })
    }

    fn count(self) -> u64 {
        self.len.div_ceil(self.each)
    }

    fn key(self, part: u64) -> [u8; 12] {
        let mut key = [0; 12];
        key[..8].copy_from_slice(&self.number.to_ne_bytes());
        key[8..].copy_from_slice(&u32::try_from(part).unwrap_or(u32::MAX).to_ne_bytes());
        key
    }

    /// The partition of a part: the next after that of the part before.
    fn partition(cache: &Cache, hash: u64, part: u64) -> Partition<'_> {
        let all = cache.places.geometry.partitions;
        let home = cache.places.partition_of(hash);
        let turn = usize::try_from(part % all as u64).unwrap_or(0);
        cache.partition((home + 1 + turn) & (all - 1))
    }
}

impl Session {
    /// Puts the value together whose entry `value` is; `false` where a part is missing.
    pub(crate) fn join(&self, hash: u64, moment: Moment, value: &mut Vec<u8>) -> bool {
        let Some(parts) = Parts::of(value, self.cache.max_value()) else { return false };
        value.clear();
        value.reserve(usize::try_from(parts.len).unwrap_or(0));
        (0..parts.count()).all(|part| {
            let key = parts.key(part);
            let of = self.cache.places.hash(&key);
            let partition = Parts::partition(&self.cache, hash, part);
            let found = partition.get(of, &key, Space::PARTS, moment, value);
            let there = (part + 1).saturating_mul(parts.each).min(parts.len);
            found.is_some() && value.len() as u64 == there
        })
    }

    /// Stores an entry whose value is cut.
    pub(crate) fn put_in_parts(
        &mut self,
        entry: &locked::Entry<'_>,
        condition: Condition,
    ) -> Result<Outcome, Failed> {
        let number = self.cache.memory().word(CUTS).fetch_add(1, Ordering::Relaxed);
        let each = self.cache.places.geometry.longest_record() - BESIDE;
        let parts = Parts { number, len: entry.value.len() as u64, each: each as u64 };
        let outcome = self.put_parts(entry, parts, each).and_then(|()| {
            let bytes = parts.bytes();
            let head = locked::Entry { value: &bytes, kind: entry.kind | kind::CUT, ..*entry };
            self.put(&head, condition)
        });
        if !matches!(outcome, Ok(Outcome::Stored(_))) {
            // Who has waited in vain waits no more.
            let is_busy = outcome == Err(Failed::Busy);
            let patience = if is_busy { Duration::ZERO } else { PATIENCE };
            self.drop_parts(entry.hash, &parts.bytes(), patience);
        }
        outcome
    }

    fn put_parts(
        &self,
        entry: &locked::Entry<'_>,
        parts: Parts,
        each: usize,
    ) -> Result<(), Failed> {
        let is_large = entry.value.len() > self.cache.size() / LARGE_SHARE;
        let large = if is_large { kind::LARGE } else { 0 };
        for (part, value) in (0..).zip(entry.value.chunks(each)) {
            let key = parts.key(part);
            let of = locked::Entry {
                hash: self.cache.places.hash(&key),
                space: Space::PARTS,
                key: &key,
                value,
                kind: large,
                flags: 0,
                expiry: entry.expiry,
                version: None,
            };
            let partition = Parts::partition(&self.cache, entry.hash, part);
            let mut locked = lock_of(&self.cache, partition)?;
            if locked.store(&of, None, Takes::Any).is_none() {
                let most = self.cache.max_value();
                return Err(Failed::TooLarge { size: entry.value.len(), most });
            }
        }
        Ok(())
    }

    /// Takes the parts of a value away that nobody is told of any more. Those whose lock is not had in time go as others do
    /// that nobody reads; once it has waited in vain it waits for no other.
    pub(crate) fn drop_parts(&self, hash: u64, parts: &[u8], mut patience: Duration) {
        let Some(parts) = Parts::of(parts, self.cache.max_value()) else { return };
        for part in 0..parts.count() {
            let key = parts.key(part);
            let of = self.cache.places.hash(&key);
            let partition = Parts::partition(&self.cache, hash, part);
            let Ok(mut locked) = lock_within(&self.cache, partition, patience) else {
                patience = Duration::ZERO;
                continue;
            };
            if let Some(present) = locked.find(of, &key, Space::PARTS) {
                locked.remove(&present);
            }
        }
    }
}
