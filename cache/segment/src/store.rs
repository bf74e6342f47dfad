//! Storing an entry under the lock of its partition.
//!
//! The order of the steps lets other processes go on if the writer is killed between two of them. First a record is written
//! behind the end of its segment's records, where no reader looks. Then the end is moved behind it. Last one word of the
//! index is exchanged, which publishes the record and removes the key's older one at once. If the writer is killed before
//! that, no slot points to the record, as with a deleted one.

use std::sync::atomic::Ordering;

use crate::api::Fence;
use crate::changes::is_changed;
use crate::free_space::{NoSpace, WritePlace};
use crate::kind;
use crate::layout::{BUCKET_SLOTS, CLASSES};
use crate::lease_table::Leases;
use crate::locked::{Entry, Locked, Present, Stored, Takes};
use crate::memory::{AtomicU64, fence};
use crate::number::Number;
use crate::partition::{LATEST, MAIN, ORDER, SMALL};
use crate::record::{FOREVER, Header};
use crate::slot::Slot;
use crate::slot::exchange;
use crate::space::Space;
use crate::tally::Count;

/// The two buckets of a key are nearly full when at most this many slots are empty.
const CROWDED: u32 = 4;

impl<'c> Locked<'c> {
    /// Stores an entry and removes the key's older one, which is known if there is one. If there is no room yet, nothing
    /// has changed but that more room was made: the caller releases the lock and tries again.
    pub(crate) fn store(
        &mut self,
        entry: &Entry<'_>,
        known: Option<&Present<'_>>,
        takes: Takes,
        token: Option<Fence>,
    ) -> Result<Stored, NoSpace> {
        let hash = entry.hash;
        let was = known.and_then(|known| self.chunks_of(hash, known));
        let queue = self.queue_for(entry, known);
        let header = self.header_of(entry);
        let class = self.class_of(entry.expiry);
        let bytes = header.record_len();
        let (older, moved);
        let place = if let Some(active) = self.active(queue, class, bytes) {
            older = known;
            active
        } else {
            self.spared = known.map(|_| hash);
            let place = self.make_room(queue, class, bytes)?;
            // Making room may have moved the older entry.
            moved = known.and_then(|_| self.find(entry.hash, entry.key, entry.space));
            older = moved.as_ref();
            place
        };
        if queue == MAIN && known.is_none() {
            self.take_ghost(hash);
        }
        let (segment, at) = (place.segment, self.append(place, &header, entry));
        if let Some(is_first) = self.is_of_large {
            self.note_large(segment, is_first);
        }
        let uses = older.map_or(0, |older| older.slot.uses());
        let slot = self.slot_of(entry.hash, segment, at, uses);
        // Chunks are nobody's keys. Elsewhere the leases of the key end with this change.
        let has_leases = entry.space != Space::CHUNKS && self.partition.has_given_leases();
        let leases = has_leases.then(|| self.leases_of(entry));
        // This comes before the look at the lease. Who changes the key ends the lease before it notes the change.
        // So the lease is seen as void here, or the note differs from this one after a crash.
        let seen = self.partition.changes_of(hash).load(Ordering::SeqCst);
        if token.is_some_and(|token| self.is_void(token, hash, entry.space)) {
            // While room was made, a delete may have given up waiting and removed the key without
            // the lock.
            return Ok(Stored { version: 0, is_there: false, is_late: true });
        }
        // After a crash no older token may succeed, and no deleted value may be left.
        self.intend_to_store(hash, leases);
        // The record is counted before its slot exists. A segment with fewer live records than noted stays; one with more would
        // be given back.
        self.count_alive(segment, &header);
        let is_there = self.publish(hash, slot, older, takes, token.map(|_| seen));
        #[cfg(test)]
        tests::published(&self.partition, hash);
        // The second look: the loader's own end of its lease fails if another thread has ended it.
        let is_over = |lease| leases.is_none_or(|leases| !leases.end_one(lease));
        let has_lost_lease = matches!(token, Some(Fence::Lease(lease)) if is_over(lease));
        if let Some(leases) = leases {
            leases.end();
        }
        let (before, _) = self.partition.note_change(hash);
        if !is_there {
            self.count_dead(segment, &header);
        }
        let is_late = match token {
            Some(Fence::Changes(then)) => is_changed(then, before, hash),
            Some(Fence::Lease(_)) => has_lost_lease,
            None => false,
        };
        let version = header.whole_version(|| self.partition.version_of(segment, slot));
        if is_late && is_there {
            // A delete without the lock has come in between. The value is removed before any other work, because readers
            // find it until then.
            self.take_back(hash, slot);
        }
        self.intend_nothing();
        if std::mem::take(&mut self.is_crowded) || self.partition.grown().is_doubling() {
            self.grow();
        }
        self.work_ahead(at + bytes - self.partition.start_of(segment), bytes);
        if let Some(chunks) = was {
            self.doom(hash, chunks);
        }
        Ok(Stored { version, is_there, is_late })
    }

    /// Whether a token of a key is void.
    pub(crate) fn is_void(&self, token: Fence, hash: u64, space: Space) -> bool {
        match token {
            Fence::Changes(then) => {
                is_changed(then, self.partition.changes_of(hash).load(Ordering::SeqCst), hash)
            }
            Fence::Lease(lease) => {
                !self.partition.leases_of(hash, space, self.moment).has(lease, self.now)
            }
        }
    }

    fn leases_of(&self, entry: &Entry<'_>) -> Leases<'c> {
        self.partition.leases_of(entry.hash, entry.space, self.moment)
    }

    /// The header of an entry's record.
    pub(crate) fn header_of(&self, entry: &Entry<'_>) -> Header {
        let (shape, hash, space) = (shape_of(entry), entry.hash, entry.space);
        let places = self.partition.places;
        let checked = Header { check: places.check_of(&shape, hash, space, entry.value), ..shape };
        let number = Number::of(checked.number);
        let is_number = checked.kind & kind::NUMBER != 0;
        let check =
            if is_number { places.check_of_number(&checked, number, hash, space) } else { 0 };
        Header {
            seal: places.seal_of(&checked, hash, space),
            number: number.with_check(check),
            ..checked
        }
    }

    /// The queue for an entry: the main queue if the key is present, or was evicted not long ago. Chunks go to the queue
    /// of their entry, as far as it is known before.
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

    /// Writes the record of an entry behind the others of a segment that has room for it; returns its offset
    /// in the region.
    pub(crate) fn append(&self, place: WritePlace, header: &Header, entry: &Entry<'_>) -> usize {
        let (memory, WritePlace { segment, end }) = (self.partition.memory, place);
        let at = self.partition.start_of(segment) + end;
        header.write(memory, at, entry.space, entry.key, entry.value);
        let latest = self.partition.note_at(segment, LATEST);
        memory.store(latest, memory.load(latest).max(header.expiry));
        // A process that is killed before this has written no record.
        fence(Ordering::Release);
        let next = end + header.record_len();
        self.set_fill(segment, next, self.fill(segment).1);
        // The next record of this partition goes there, probably after writes to other partitions.
        memory.prefetch_to_write(self.partition.start_of(segment) + next, header.record_len());
        at
    }

    /// Makes a slot of the index point to a record: the slot of the key's older record, an empty slot, or the slot of
    /// the least used entry of the two buckets. `false` where no slot may be taken.
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
        // If this fails, a delete without the lock has removed the older entry.
        if let Some(older) = older.filter(|of| exchange(of.word, of.slot, slot)) {
            self.died(older);
            return true;
        }
        if takes == Takes::Any {
            let (mut word, mut evicted) = self.place_for(hash);
            if evicted.is_some() && self.grow_for_one() {
                (word, evicted) = self.place_for(hash);
            }
            word.store(slot.0, Ordering::Release);
            if let Some(evicted) = evicted {
                self.forget(word, evicted);
            }
        }
        takes == Takes::Any
    }

    /// A slot of the index that a key may take: an empty slot of the emptier bucket, or a slot of an earlier life. Otherwise it
    /// is the slot of the least used entry, which is evicted.
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
        self.is_crowded = first.count_ones() + second.count_ones() <= CROWDED;
        if let Some(word) = line.get(empty.trailing_zeros() as usize) {
            return (word, None);
        }
        let (numbers, grown) = (self.partition.numbers_of(hash), self.partition.grown());
        // A slot of an earlier life is as good as empty, and so is a slot that was moved to another bucket.
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
        let all = || lines.into_iter().flatten();
        let order = |slot: Slot| {
            let segment = self.partition.segment_of(slot).unwrap_or(0);
            memory.load(self.partition.note_at(segment, ORDER))
        };
        let least = |word: &&AtomicU64| (slot_of(word).uses(), order(slot_of(word)));
        let word = all().min_by_key(least).unwrap_or(&lines[0][0]);
        (word, Some(slot_of(word)))
    }

    /// Counts an entry that has lost its slot, and the chunks of its value.
    fn forget(&mut self, word: &'c AtomicU64, slot: Slot) {
        let Some(segment) = self.partition.segment_of(slot) else { return };
        let at = self.partition.base + slot.at();
        let header = Header::read(self.partition.memory, at, self.partition.end_of(segment));
        if let Some(header) = header {
            self.count_dead(segment, &header);
            self.count(Count::EvictedByIndex, u64::from(header.is_item()));
            if header.kind & kind::CHUNKED != 0 {
                let (memory, mut key) = (self.partition.memory, Vec::new());
                memory.copy_out(at + header.len(), header.key_len, &mut key);
                let hash = self.partition.places.hash(&key) ^ header.space(memory, at).mix();
                let present = self.present(word, slot, segment, header);
                if let Some(chunks) = self.chunks_of(hash, &present) {
                    self.doom(hash, chunks);
                }
            }
        }
    }

    /// The class of an entry by its time to live. Each class spans a factor of eight, from two seconds
    /// on.
    pub(crate) fn class_of(&self, expiry: u64) -> usize {
        if expiry == FOREVER {
            return 0;
        }
        let lives = expiry.saturating_sub(self.now) / 2000;
        let eighths = (u64::BITS - lives.leading_zeros()).div_ceil(3) as usize;
        (1 + eighths).min(CLASSES - 1)
    }
}

/// The header of an entry's record without the check, because the check needs the whole value.
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
    use crate::space::HashedKey;
    use crate::{Cache, Options, Set};

    thread_local! {
        /// The key is changed between the publication of the entry's slot and the second look at the key's
        /// changes.
        static IS_CHANGED_THEN: Cell<bool> = const { Cell::new(false) };
        /// The writer is killed once the entry has its slot.
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
            let token = session.token(key).of;
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
        let of = HashedKey { hash: cache.places.hash(b"key"), key: b"key", space: Space::ROOT };
        let entry = Entry::lasting(of.hash, of.key, b"new");
        for is_made_of_it in [true, false] {
            session.set(of.key, b"old", &Set::default()).unwrap();
            let (partition, moment) = (cache.partition_for(of.hash), cache.moment());
            let mut locked = session.lock_of(partition).unwrap();
            let present = alive(&mut locked, of).unwrap();
            // A delete that has waited long enough does this.
            assert!(partition.clear_slots(of, moment));
            let takes = if is_made_of_it { Takes::Older } else { Takes::Any };
            let stored = locked.store(&entry, Some(&present), takes, None).unwrap();
            assert_eq!(stored.is_there, !is_made_of_it);
            drop(locked);
            let mut found = Vec::new();
            assert_eq!(session.get(of.key, &mut found).is_none(), is_made_of_it, "{found:?}");
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
