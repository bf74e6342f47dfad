//! Storing an entry under the lock of its partition.
//!
//! In this order, so that whoever is killed between two lines leaves what others can go on from: a record is written behind
//! the end of its segment's records, where nobody looks; the end is moved behind it; one word of the index is exchanged,
//! which at once publishes the record and takes the key's older one away. Killed before the last, the record is one that no
//! slot points to, as those are that were deleted.

use std::sync::atomic::Ordering;

use crate::changes::is_changed;
use crate::index::exchange;
use crate::layout::{BUCKET_SLOTS, CLASSES};
use crate::locked::{Entry, Locked, MAIN, Present, SMALL, Stored, Takes};
use crate::memory::{AtomicU64, fence};
use crate::namespace::Space;
use crate::number::Number;
use crate::partition::{LATEST, ORDER};
use crate::record::{FOREVER, Header, kind};
use crate::room::{NoRoom, Room};
use crate::slot::Slot;
use crate::tally::Count;

/// The two buckets of a key are nearly full where no more slots are empty.
const CROWDED: u32 = 5;

impl<'c> Locked<'c> {
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
    use crate::partition::Partition;
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
        let shape = Entry::lasting(hash, key, b"filled");
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
        let entry = Entry::lasting(hash, key, b"new");
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
