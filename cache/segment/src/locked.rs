//! A partition whose lock is held: its entries are found, read and removed. Every change of more than one word happens under
//! the lock.

use std::sync::atomic::Ordering;

use crate::kind;
use crate::lock::LockGuard;
use crate::memory::AtomicU64;
use crate::number::{self, Number};
use crate::partition::{Found, Moment, Partition};
use crate::record::Header;
use crate::slot::Slot;
use crate::space::{HashedKey, Space};
use crate::tally::Count;
use crate::work::Work;

/// A partition that only this thread writes.
#[derive(Debug)]
pub(crate) struct Locked<'c> {
    pub(crate) partition: Partition<'c>,
    pub(crate) moment: Moment,
    /// The time at which the lock was taken, in milliseconds of the region's own time.
    pub(crate) now: u64,
    pub(crate) held: LockGuard<'c>,
    /// An entry has found its buckets of the index nearly full.
    pub(crate) is_crowded: bool,
    /// `Some` where the stored record is a chunk of a large value; `true` where it is the first one in this
    /// partition.
    pub(crate) is_of_large: Option<bool>,
    /// The hash of the key that is about to be stored. Its older entry is not evicted to make room for the new one.
    pub(crate) spared: Option<u64>,
    /// The work on room for other entries that this hold of the lock may still do.
    pub(crate) left: Work,
    /// The values whose chunks must be removed once the lock is free.
    pub(crate) doomed: Vec<Doomed>,
    /// A segment was begun under this hold of the lock.
    pub(crate) has_begun: bool,
}

/// An existing entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Present<'c> {
    /// The word with the entry's slot, and the slot as it was read.
    pub(crate) word: &'c AtomicU64,
    pub(crate) slot: Slot,
    pub(crate) segment: usize,
    pub(crate) found: Found,
}

/// The metadata of an entry that has been stored.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) version: u64,
    /// The entry got an index slot: its key's own slot where [`Takes::Older`] asked for that.
    pub(crate) is_there: bool,
    /// A delete without the lock changed the key after this fill's token was taken.
    pub(crate) is_late: bool,
}

/// A cut value whose remaining chunks must be removed once the lock is free.
#[derive(Debug)]
pub(crate) struct Doomed {
    /// The hash of the key.
    pub(crate) hash: u64,
    /// The entry's list of chunks.
    pub(crate) chunks: Vec<u8>,
}

/// The slots that an entry may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// The slot of the key's older entry, or any other.
    Any,
    /// Only the slot of the older entry from which this entry was made, or on which it depends. If a delete without the
    /// lock has removed the older entry, this entry must not bring it back.
    Older,
}

/// An entry to be stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'e> {
    pub(crate) hash: u64,
    pub(crate) space: Space,
    pub(crate) key: &'e [u8],
    pub(crate) value: &'e [u8],
    pub(crate) kind: u8,
    pub(crate) flags: u32,
    pub(crate) expiry: u64,
    /// `None` takes the version that follows from the record's place.
    pub(crate) version: Option<u64>,
}

impl<'e> Entry<'e> {
    pub(crate) fn hashed_key(&self) -> HashedKey<'e> {
        HashedKey { hash: self.hash, key: self.key, space: self.space }
    }
}

#[cfg(test)]
impl<'e> Entry<'e> {
    /// An entry without a namespace and without expiry.
    pub(crate) fn lasting(hash: u64, key: &'e [u8], value: &'e [u8]) -> Self {
        let (space, expiry) = (Space::ROOT, crate::record::FOREVER);
        Self { hash, space, key, value, kind: 0, flags: 0, expiry, version: None }
    }
}

impl<'c> Locked<'c> {
    #[inline]
    pub(crate) fn new(partition: Partition<'c>, held: LockGuard<'c>, moment: Moment) -> Self {
        #[cfg(test)]
        crate::work::counted::begin();
        let locked = Self {
            partition,
            moment,
            now: moment.now(),
            held,
            is_crowded: false,
            is_of_large: None,
            spared: None,
            left: Work::most(),
            doomed: Vec::new(),
            has_begun: false,
        };
        if locked.held.owner_died {
            locked.count(Count::Repairs, 1);
            locked.finish_intent();
        }
        locked
    }

    /// The entry of a key, in any generation of its namespace.
    pub(crate) fn find(&self, hash: u64, key: &[u8], space: Space) -> Option<Present<'c>> {
        self.partition.candidates(hash).find_map(|(word, slot)| {
            let segment = self.segment_of(slot)?;
            let at = self.partition.base + slot.at();
            let header = Header::read(self.partition.memory, at, self.partition.end_of(segment))?;
            let is_it = self.partition.is_of(at, &header, key, space);
            is_it.then(|| self.present(word, slot, segment, header))
        })
    }

    /// The entry whose record, with this header, lies at `at` of the region, if a slot points
    /// there.
    pub(crate) fn find_at(&self, hash: u64, at: usize, header: &Header) -> Option<Present<'c>> {
        self.partition.candidates(hash).find_map(|(word, slot)| {
            let is_it = self.partition.base + slot.at() == at;
            let segment = is_it.then(|| self.segment_of(slot))??;
            Some(self.present(word, slot, segment, *header))
        })
    }

    pub(crate) fn segment_of(&self, slot: Slot) -> Option<usize> {
        self.partition.current_segment_of(slot, self.moment)
    }

    pub(crate) fn present(
        &self,
        word: &'c AtomicU64,
        slot: Slot,
        segment: usize,
        header: Header,
    ) -> Present<'c> {
        let version = header.whole_version(|| self.partition.version_of(segment, slot));
        Present { word, slot, segment, found: Found { header, version } }
    }

    /// The namespace of an entry's key, with the generation in which it was stored.
    pub(crate) fn space_of(&self, present: &Present<'_>) -> Space {
        let at = self.partition.base + present.slot.at();
        present.found.header.space(self.partition.memory, at)
    }

    /// Appends the value of an entry to `value`, or the word of a number; `false` where the value is damaged.
    pub(crate) fn read(&self, hash: u64, present: &Present<'_>, value: &mut Vec<u8>) -> bool {
        let (header, from) = (present.found.header, value.len());
        let at = self.partition.base + present.slot.at() + header.len() + header.key_len;
        self.partition.memory.copy_out(at, header.value_len, value);
        let space = self.space_of(present);
        let is_whole = self.partition.places.is_whole(&header, hash, space, &value[from..]);
        if header.kind & kind::NUMBER != 0 {
            value.extend_from_slice(&Number::of(header.number).0.to_ne_bytes());
        }
        is_whole
    }

    /// The same, but with a number as its text.
    pub(crate) fn text(&self, hash: u64, present: &Present<'_>, value: &mut Vec<u8>) -> bool {
        let is_whole = self.read(hash, present, value);
        let header = present.found.header;
        if header.kind & kind::NUMBER != 0 {
            value.truncate(value.len() - size_of::<u64>());
            number::spell(Number::of(header.number).value(), value);
        }
        is_whole
    }

    /// Whether an existing entry is damaged, so that no reader would accept it. Where records have no checks, nothing
    /// is read.
    pub(crate) fn is_damaged(&self, hash: u64, present: &Present<'_>) -> bool {
        self.partition.places.is_checked && !self.read(hash, present, &mut Vec::new())
    }

    /// The list of an entry's chunks, if its value lies in chunks.
    pub(crate) fn chunks_of(&self, hash: u64, present: &Present<'_>) -> Option<Vec<u8>> {
        let is_cut = present.found.header.kind & kind::CHUNKED != 0;
        let mut chunks = Vec::new();
        (is_cut && self.read(hash, present, &mut chunks)).then_some(chunks)
    }

    /// Removes an entry.
    pub(crate) fn remove(&mut self, present: &Present<'_>) {
        present.word.store(Slot::EMPTY.0, Ordering::Release);
        self.died(present);
    }

    /// Notes that an entry has lost its slot, so that its record is dead.
    pub(crate) fn died(&self, present: &Present<'_>) {
        self.count_dead(present.segment, &present.found.header);
    }

    /// The slot of a record at `at` of the region.
    pub(crate) fn slot_of(&self, hash: u64, segment: usize, at: usize, uses: u64) -> Slot {
        let recycled = self.partition.segment_word(segment).load(Ordering::Relaxed);
        Slot::new(Slot::tag_of(hash), uses, recycled, at - self.partition.base)
    }
}
