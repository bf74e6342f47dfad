//! A partition whose lock is held: everything that changes more than one word.
//!
//! In this order, so that whoever is killed between two lines leaves what others can go on from: a record is written behind
//! the end of its segment's records, where nobody looks; the end is moved behind it; one word of the index is exchanged,
//! which at once publishes the record and takes the key's older one away. Killed before the last, the record is one that no
//! slot points to, as those are that were deleted.

use std::sync::atomic::Ordering;

use crate::changes::is_changed;
use crate::index::exchange;
use crate::layout::{BUCKET_SLOTS, CLASSES};
use crate::lock::Held;
use crate::memory::{AtomicU64, fence};
use crate::namespace::Space;
use crate::number::{self, Number};
use crate::partition::{Found, LATEST, Moment, ORDER, Partition};
use crate::record::{FOREVER, Header, kind};
use crate::room::{NoRoom, Room};
use crate::slot::Slot;
use crate::tally::Count;
use crate::upkeep::Work;

/// The queues of segments: entries begin in the small one, and go on to the main one if they are used (S3-FIFO, Yang and
/// others 2023).
pub(crate) const FREE: u64 = 0;
pub(crate) const SMALL: u64 = 1;
pub(crate) const MAIN: u64 = 2;
/// Of segments that the index has grown into: they are in no queue.
pub(crate) const INDEX: u64 = 3;

/// The two buckets of a key are nearly full where no more slots are empty.
const CROWDED: u32 = 5;

/// A partition that this thread alone writes.
#[derive(Debug)]
pub(crate) struct Locked<'c> {
    pub(crate) partition: Partition<'c>,
    pub(crate) moment: Moment,
    /// Milliseconds of the region's own time, when the lock was taken.
    pub(crate) now: u64,
    pub(crate) held: Held<'c>,
    /// An entry has found its buckets of the index nearly full.
    is_crowded: bool,
    /// The record that is stored is a chunk of a large value, and whether it is the first one in this partition.
    pub(crate) is_of_large: Option<bool>,
    /// The hash of the key that is about to be stored, whose older entry is not evicted to make room for the new one.
    pub(crate) spared: Option<u64>,
    /// The work for others' room that may still be done under this hold of the lock.
    pub(crate) left: Work,
    /// What is to be done once the lock is free.
    pub(crate) doomed: Vec<Doomed>,
}

/// An entry that is there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Present<'c> {
    /// The word that its slot is in, and what it was there.
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
    /// The key was changed since the token was taken that is given back with this fill: by a delete without the lock.
    pub(crate) is_late: bool,
    /// Cut values of which a part was evicted to make room, and the one that was replaced.
    pub(crate) doomed: Vec<Doomed>,
}

/// A cut value of which the rest is to go too, once the lock is free.
#[derive(Debug)]
pub(crate) struct Doomed {
    /// The hash of the key.
    pub(crate) hash: u64,
    /// Where the chunks are.
    pub(crate) chunks: Vec<u8>,
}

/// Which slot an entry may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// The one of the key's older entry, or any.
    Any,
    /// The one of the older entry that it is made of, or depends on: where that was deleted by one who did not wait for the
    /// lock, this one is not to bring it back.
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
    /// `None` takes the one of the place where it comes to lie.
    pub(crate) version: Option<u64>,
}

impl<'c> Locked<'c> {
    pub(crate) fn new(partition: Partition<'c>, held: Held<'c>, moment: Moment) -> Self {
        #[cfg(test)]
        crate::upkeep::tests::begin();
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
        };
        if locked.held.owner_died {
            locked.count(Count::Repairs, 1);
            locked.finish_intent();
        }
        locked
    }

    /// The entry of a key, of whatever generation of its namespace.
    pub(crate) fn find(&self, hash: u64, key: &[u8], space: Space) -> Option<Present<'c>> {
        self.partition.candidates(hash).find_map(|(word, slot)| {
            let segment = self.segment_of(slot)?;
            let at = self.partition.base + slot.at();
            let header = Header::read(self.partition.memory, at, self.partition.end_of(segment))?;
            let is_it = self.partition.is_of(at, &header, key, space);
            is_it.then(|| self.present((word, slot), segment, header))
        })
    }

    /// The entry whose record with this header is at `at` of the region, if a slot points there.
    pub(crate) fn find_at(&self, hash: u64, at: usize, header: &Header) -> Option<Present<'c>> {
        self.partition.candidates(hash).find_map(|(word, slot)| {
            let is_it = self.partition.base + slot.at() == at;
            let segment = is_it.then(|| self.segment_of(slot))??;
            Some(self.present((word, slot), segment, *header))
        })
    }

    fn segment_of(&self, slot: Slot) -> Option<usize> {
        self.partition.current_segment_of(slot, self.moment)
    }

    fn present(
        &self,
        (word, slot): (&'c AtomicU64, Slot),
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

    /// Copies the value of an entry to the end of `value`, of a number its word; `false` where it is damaged.
    pub(crate) fn read(&self, hash: u64, present: &Present<'_>, value: &mut Vec<u8>) -> bool {
        let (header, from) = (present.found.header, value.len());
        let at = self.partition.base + present.slot.at() + header.len() + header.key_len;
        self.partition.memory.copy_out(at, header.value_len, value);
        let of = (hash, self.space_of(present));
        let is_whole = self.partition.places.is_whole(&header, of, &value[from..]);
        if header.kind & kind::NUMBER != 0 {
            value.extend_from_slice(&Number::of(header.number).0.to_ne_bytes());
        }
        is_whole
    }

    /// The same, of a number the text that spells it.
    pub(crate) fn text(&self, hash: u64, present: &Present<'_>, value: &mut Vec<u8>) -> bool {
        let is_whole = self.read(hash, present, value);
        let header = present.found.header;
        if header.kind & kind::NUMBER != 0 {
            value.truncate(value.len() - size_of::<u64>());
            number::spell(Number::of(header.number).value(), value);
        }
        is_whole
    }

    /// Whether an entry is there and no reader would take it. Where records have no checks, nothing of it is looked at.
    pub(crate) fn is_damaged(&self, hash: u64, present: &Present<'_>) -> bool {
        self.partition.places.is_checked && !self.read(hash, present, &mut Vec::new())
    }

    /// Stores an entry and takes away the older one of its key, which is known if there is one. Where there is no room yet,
    /// nothing has changed but that more of it was made: the caller gives the lock back and tries again.
    pub(crate) fn store(
        &mut self,
        entry: &Entry<'_>,
        known: Option<&Present<'_>>,
        takes: Takes,
        token: Option<u64>,
    ) -> Result<Stored, NoRoom> {
        let was = known.and_then(|known| self.chunks_of(entry.hash, known));
        let hash = entry.hash;
        let queue = self.queue_for(entry, known);
        let header = self.header_of(entry);
        let class = self.class_of(entry.expiry);
        let bytes = header.record_len();
        let (older, moved);
        let room = if let Some(active) = self.active(queue, class, bytes) {
            older = known;
            active
        } else {
            self.spared = known.map(|_| hash);
            let room = self.make_room((queue, class), bytes)?;
            // That may have moved the older one.
            moved = known.and_then(|_| self.find(entry.hash, entry.key, entry.space));
            older = moved.as_ref();
            room
        };
        if queue == MAIN && known.is_none() {
            self.take_ghost(hash);
        }
        let (segment, at) = (room.segment, self.append(room, &header, entry));
        if let Some(is_first) = self.is_of_large {
            self.note_large(segment, is_first);
        }
        let uses = older.map_or(0, |older| older.slot.uses());
        let slot = self.slot_of(entry.hash, segment, at, uses);
        let seen = self.partition.changes_of(hash).load(Ordering::SeqCst);
        let is_late = |now| token.is_some_and(|token| is_changed(token, now, hash));
        if is_late(seen) {
            // Making room takes long enough for a delete that does not wait for it.
            let doomed = std::mem::take(&mut self.doomed);
            return Ok(Stored { version: 0, is_there: false, is_late: true, doomed });
        }
        // A crash must not let an older token succeed, nor leave a value that was deleted meanwhile.
        self.intend_to_store(hash);
        // Before its slot is there: a segment with fewer records alive than are noted stays, one with more would be given back.
        self.count_alive(segment, &header);
        let is_there = self.publish(hash, slot, older, takes, token.map(|_| seen));
        #[cfg(test)]
        tests::published(&self.partition, hash);
        let before = self.partition.note_change(hash);
        if !is_there {
            self.count_dead(segment, &header);
        }
        let is_late = is_late(before);
        let version = header.whole_version(|| self.partition.version_of(segment, slot));
        if is_late && is_there {
            // Somebody deleted the key meanwhile, without the lock. No work comes first: readers find the value until then.
            self.take_back(hash, slot);
        }
        self.intend_nothing();
        if std::mem::take(&mut self.is_crowded) {
            self.grow();
        }
        self.work_ahead(at + bytes - self.partition.start_of(segment), bytes);
        if let Some(chunks) = was {
            self.doom(hash, chunks);
        }
        let doomed = std::mem::take(&mut self.doomed);
        Ok(Stored { version, is_there, is_late, doomed })
    }

    /// Where the chunks of an entry are, if its value lies in chunks.
    pub(crate) fn chunks_of(&self, hash: u64, present: &Present<'_>) -> Option<Vec<u8>> {
        let is_cut = present.found.header.kind & kind::CUT != 0;
        let mut chunks = Vec::new();
        (is_cut && self.read(hash, present, &mut chunks)).then_some(chunks)
    }

    /// Takes an entry away.
    pub(crate) fn remove(&mut self, present: &Present<'_>) {
        present.word.store(Slot::EMPTY.0, Ordering::Release);
        self.died(present);
    }

    /// One whose slot is gone lies in its segment for nothing.
    pub(crate) fn died(&self, present: &Present<'_>) {
        self.count_dead(present.segment, &present.found.header);
    }

    /// The slot of a record at `at` of the region.
    pub(crate) fn slot_of(&self, hash: u64, segment: usize, at: usize, uses: u64) -> Slot {
        let recycled = self.partition.segment_word(segment).load(Ordering::Relaxed);
        Slot::new(Slot::tag_of(hash), uses, recycled, at - self.partition.base)
    }

    /// The header of an entry's record.
    pub(crate) fn header_of(&self, entry: &Entry<'_>) -> Header {
        let (shape, of) = (shape_of(entry), (entry.hash, entry.space));
        let places = self.partition.places;
        let checked = Header { check: places.check_of(&shape, of, entry.value), ..shape };
        let number = Number::of(checked.number);
        let is_number = checked.kind & kind::NUMBER != 0;
        let check = if is_number { places.check_of_number(&checked, number, of) } else { 0 };
        Header { seal: places.seal_of(&checked, of), number: number.with_check(check), ..checked }
    }

    /// Which queue an entry goes to: the main one if it is there, or was evicted not long ago. Chunks go where their entry
    /// does, as far as that is known before.
    fn queue_for(&self, entry: &Entry<'_>, known: Option<&Present<'_>>) -> u64 {
        let is_for_main = if entry.space == Space::CHUNKS || entry.kind & kind::ADMITTED != 0 {
            entry.kind & kind::ADMITTED != 0
        } else if let Some(known) = known {
            self.state(known.segment).0 == MAIN
        } else {
            self.partition.has_ghost(entry.hash) && self.has_main_room()
        };
        if is_for_main { MAIN } else { SMALL }
    }

    /// Writes the record of an entry behind those of a segment that has room for it; its offset in the region.
    pub(crate) fn append(&self, room: Room, header: &Header, entry: &Entry<'_>) -> usize {
        let (memory, Room { segment, end }) = (self.partition.memory, room);
        let at = self.partition.start_of(segment) + end;
        header.write(memory, at, (entry.space, entry.key), entry.value);
        let latest = self.partition.note_at(segment, LATEST);
        memory.store(latest, memory.load(latest).max(header.expiry));
        // A process killed before this has written nothing.
        fence(Ordering::Release);
        let next = end + header.record_len();
        self.set_fill(segment, next, self.fill(segment).1);
        // The next one of this partition goes there, when others have been written meanwhile.
        memory.prefetch_to_write(self.partition.start_of(segment) + next, header.record_len());
        at
    }

    /// Makes a slot of the index point to a record: the one of the key's older record, an empty one, or the one of the
    /// entry of the two buckets that is used least. `false` where none may.
    fn publish(
        &mut self,
        hash: u64,
        slot: Slot,
        older: Option<&Present<'_>>,
        takes: Takes,
        fills: Option<u64>,
    ) -> bool {
        if let Some(seen) = fills {
            self.intend_to_fill(seen, slot);
        }
        // Where that fails, it was deleted by one who did not wait for the lock.
        if let Some(older) = older.filter(|of| exchange(of.word, of.slot, slot)) {
            self.died(older);
            return true;
        }
        if takes == Takes::Any {
            let (word, evicted) = self.place_for(hash);
            word.store(slot.0, Ordering::Release);
            if let Some(evicted) = evicted {
                self.forget(word, evicted);
            }
        }
        takes == Takes::Any
    }

    /// A slot of the index that a key may take: an empty one of the emptier bucket, one that means nothing any more, or the one
    /// of the entry that is used least, which is evicted.
    fn place_for(&mut self, hash: u64) -> (&'c AtomicU64, Option<Slot>) {
        let memory = self.partition.memory;
        let of_index = |bucket| self.of_index(bucket).unwrap_or(self.partition.index());
        let lines = self.partition.buckets_of(hash).map(|bucket| memory.line(of_index(bucket)));
        let slot_of = |word: &AtomicU64| Slot(word.load(Ordering::Relaxed));
        let [first, second] = lines.map(|line| {
            let is_empty = |word: &AtomicU64| usize::from(slot_of(word).is_empty());
            line.iter().enumerate().fold(0, |empty, (i, word)| empty | is_empty(word) << i)
        });
        let (line, empty) = if second.count_ones() > first.count_ones() {
            (lines[1], second)
        } else {
            (lines[0], first)
        };
        let all = || lines.into_iter().flatten();
        if first.count_ones() + second.count_ones() <= CROWDED {
            // What means nothing any more is as good as empty; so is what was moved to another bucket.
            let (numbers, grown) = (self.partition.numbers_of(hash), self.partition.grown());
            let is_left = |(line, number): (&'c [AtomicU64; BUCKET_SLOTS], usize)| {
                let at = |slot: Slot| self.partition.bucket_at(number, slot.tag(), grown);
                let here = at(Slot(Slot::tag_of(hash) << 50));
                line.iter().find(|word| {
                    let slot = slot_of(word);
                    !slot.is_empty() && (self.segment_of(slot).is_none() || at(slot) != here)
                })
            };
            if let Some(word) = lines.into_iter().zip(numbers).find_map(is_left) {
                return (word, None);
            }
            self.is_crowded = true;
        }
        if let Some(word) = line.get(empty.trailing_zeros() as usize) {
            return (word, None);
        }
        let order = |slot: Slot| {
            let segment = self.partition.segment_of(slot).unwrap_or(0);
            memory.load(self.partition.note_at(segment, ORDER))
        };
        let least = |word: &&AtomicU64| (slot_of(word).uses(), order(slot_of(word)));
        let word = all().min_by_key(least).unwrap_or(&lines[0][0]);
        (word, Some(slot_of(word)))
    }

    /// An entry has lost its slot: what is counted of its segment, and the chunks of its value.
    fn forget(&mut self, word: &'c AtomicU64, slot: Slot) {
        let Some(segment) = self.partition.segment_of(slot) else { return };
        let at = self.partition.base + slot.at();
        let header = Header::read(self.partition.memory, at, self.partition.end_of(segment));
        if let Some(header) = header {
            self.count_dead(segment, &header);
            self.count(Count::EvictedByIndex, u64::from(header.is_item()));
            if header.kind & kind::CUT != 0 {
                let (memory, mut key) = (self.partition.memory, Vec::new());
                memory.copy_out(at + header.len(), header.key_len, &mut key);
                let hash = self.partition.places.hash(&key) ^ header.space(memory, at).mix();
                let present = self.present((word, slot), segment, header);
                if let Some(chunks) = self.chunks_of(hash, &present) {
                    self.doom(hash, chunks);
                }
            }
        }
    }

    /// The class of an entry by how long it will live: each spans a factor of eight, from two seconds on.
    pub(crate) fn class_of(&self, expiry: u64) -> usize {
        if expiry == FOREVER {
            return 0;
        }
        let lives = expiry.saturating_sub(self.now) / 2000;
        let eighths = (u64::BITS - lives.leading_zeros()).div_ceil(3) as usize;
        (1 + eighths).min(CLASSES - 1)
    }
}

/// The header of an entry's record without the check, for which the whole value is read.
pub(crate) fn shape_of(entry: &Entry<'_>) -> Header {
    let flags = if entry.flags != 0 { kind::FLAGS } else { 0 };
    let version = if entry.version.is_some() { kind::VERSION } else { 0 };
    // The value of a number is its word.
    let is_number = entry.kind & kind::NUMBER != 0;
    let word = entry.value.first_chunk().filter(|_| is_number).copied();
    Header {
        key_len: entry.key.len(),
        value_len: if is_number { 0 } else { entry.value.len() },
        number: word.map_or(0, u64::from_ne_bytes),
        seal: 0,
        kind: entry.kind & !(kind::FLAGS | kind::VERSION) | flags | version | entry.space.kind,
        expiry: entry.expiry,
        check: 0,
        version: entry.version,
        flags: entry.flags,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::session::alive;
    use crate::{Cache, Options, Set};

    thread_local! {
        /// A change of the key that falls between the entry's slot and the second look at the key's changes.
        static IS_CHANGED_THEN: Cell<bool> = const { Cell::new(false) };
        /// The writer is killed when the entry has its slot.
        static IS_KILLED_THEN: Cell<bool> = const { Cell::new(false) };
    }

    pub(super) fn published(partition: &Partition<'_>, hash: u64) {
        assert!(!IS_KILLED_THEN.take(), "killed");
        if IS_CHANGED_THEN.take() {
            partition.note_change(hash);
        }
    }

    #[test]
    fn a_fill_that_is_too_late_is_gone_before_more_work_is_done() {
        let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
        let session = cache.session();
        let (hash, key, space) = (cache.places.hash(b"key"), &b"key"[..], Space::ROOT);
        let shape = Entry {
            hash,
            space,
            key,
            value: b"filled",
            kind: 0,
            flags: 0,
            expiry: FOREVER,
            version: None,
        };
        for is_late in [true, false] {
            let token = session.token(key).changes;
            let mut locked = session.lock(hash).unwrap();
            IS_CHANGED_THEN.set(is_late);
            let stored = locked.store(&shape, None, Takes::Any, Some(token)).unwrap();
            assert_eq!(stored.is_late, is_late);
            assert_eq!(locked.find(hash, key, space).is_none(), is_late);
            drop(locked);
            assert_eq!(cache.stats().items, u64::from(!is_late));
        }
    }

    #[test]
    fn what_is_made_of_a_deleted_entry_is_not_stored_and_what_is_new_is() {
        let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
        let mut session = cache.session();
        let (hash, key, space) = (cache.places.hash(b"key"), &b"key"[..], Space::ROOT);
        let entry = Entry {
            hash,
            space,
            key,
            value: b"new",
            kind: 0,
            flags: 0,
            expiry: FOREVER,
            version: None,
        };
        for is_made_of_it in [true, false] {
            session.set(key, b"old", &Set::default()).unwrap();
            let (partition, moment) = (cache.partition_for(hash), cache.moment());
            let mut locked = session.lock_of(partition).unwrap();
            let present = alive(&mut locked, (hash, key, space)).unwrap();
            // By one who has waited long enough.
            assert!(partition.clear_slots((hash, key, space), moment));
            let takes = if is_made_of_it { Takes::Older } else { Takes::Any };
            let stored = locked.store(&entry, Some(&present), takes, None).unwrap();
            assert_eq!(stored.is_there, !is_made_of_it);
            drop(locked);
            let mut found = Vec::new();
            assert_eq!(session.get(key, &mut found).is_none(), is_made_of_it, "{found:?}");
        }
    }

    #[test]
    fn an_entry_whose_writer_was_killed_stays_when_its_neighbours_go() {
        let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
        let mut session = cache.session();
        IS_KILLED_THEN.set(true);
        let killed = || _ = cache.session().set(b"key", b"value", &Set::default());
        assert!(catch_unwind(AssertUnwindSafe(killed)).is_err());
        session.set(b"neighbour", b"value", &Set::default()).unwrap();
        session.delete(b"neighbour").unwrap();
        let mut locked = session.lock(cache.places.hash(b"key")).unwrap();
        let segment = locked.find(cache.places.hash(b"key"), b"key", Space::ROOT).unwrap().segment;
        assert!(locked.is_active(segment));
        locked.begin(SMALL, 0).unwrap();
        locked.give_back();
        drop(locked);
        assert!(session.get(b"key", &mut Vec::new()).is_some());
        assert_eq!(cache.stats().items, 1);
    }
}
