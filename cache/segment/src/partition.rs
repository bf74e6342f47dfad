//! A partition: a piece of the region with a lock of its own, as a process without that lock sees it.
//!
//! A reader follows a slot to a record, copies it, and then compares the record's segment with the slot again. A segment is
//! used anew only after its word has changed, so a copy from before that is whole. A writer that dies leaves no state in
//! between: each read finds a word from before the change or from after it.

use std::sync::atomic::Ordering;

use rapidhash::v3::{RapidSecrets, rapidhash_v3_inline};

use crate::layout::{self, Geometry, NOTES};
use crate::memory::{AtomicU64, Memory, fence, size};
use crate::number::Number;
use crate::record::Header;
use crate::slot::{Slot, count_use, exchange, is_still};
use crate::space::{HashedKey, Space, entry_at};
use crate::{clock, epoch, kind, number};

/// How often a reader looks again where a segment was used anew under its hands.
pub(crate) const LOOKS: usize = 3;

/// The bits of a version that count changes of a number in place, and that tell whether the value is stale.
const IN_PLACE_BITS: u32 = 9;

/// The queues of segments. Entries begin in the small queue, and go on to the main queue if they are used (S3-FIFO, Yang
/// and others 2023).
pub(crate) const FREE: u64 = 0;
pub(crate) const SMALL: u64 = 1;
pub(crate) const MAIN: u64 = 2;
/// The mark of segments into which the index has grown: they are in no queue.
pub(crate) const INDEX: u64 = 3;

/// The state of the whole region, as a session knows it during one operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    /// The number of clears of the region.
    pub(crate) cleared: u64,
    /// The time since the machine was started, minus the region's time.
    pub(crate) epoch: u64,
}

impl Moment {
    /// Milliseconds of the region's own time.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        epoch::since(self.epoch, clock::now_ms())
    }
}

/// The offsets of a region's partitions, computed once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places {
    pub(crate) geometry: Geometry,
    first: usize,
    len: usize,
    notes: usize,
    times: usize,
    pub(crate) ghosts: usize,
    pub(crate) index: usize,
    pub(crate) segments: usize,
    secrets: RapidSecrets,
    pub(crate) is_checked: bool,
}

impl Places {
    /// The offsets of a region with or without checked records. Records in private memory need no check, because no other
    /// process can have written there.
    pub(crate) fn of(geometry: Geometry, seed: u64, is_checked: bool) -> Self {
        Self {
            is_checked,
            geometry,
            secrets: RapidSecrets::seed(seed),
            first: geometry.partition_at(0),
            len: geometry.partition_len(),
            notes: geometry.notes_at(),
            times: geometry.times_at(),
            ghosts: geometry.ghosts_at(),
            index: geometry.index_at(),
            segments: geometry.segments_at(),
        }
    }

    /// The hash of a key. Each decision about the key takes other bits of it.
    #[inline]
    pub(crate) fn hash(&self, key: &[u8]) -> u64 {
        rapidhash_v3_inline::<true, false, false>(key, &self.secrets)
    }

    /// The check that a record must have; a constant where records are not checked.
    #[inline]
    pub(crate) fn check_of(&self, header: &Header, hash: u64, space: Space, value: &[u8]) -> u64 {
        if self.is_checked { header.check_of(hash ^ space.sum(), value) } else { 0 }
    }

    /// The check of expiry and stale mark, likewise.
    #[inline]
    pub(crate) fn seal_of(&self, header: &Header, hash: u64, space: Space) -> u64 {
        if self.is_checked { header.seal_of(hash ^ space.sum()) } else { 0 }
    }

    /// The check of a number, likewise.
    pub(crate) fn check_of_number(
        &self,
        header: &Header,
        number: Number,
        hash: u64,
        space: Space,
    ) -> u64 {
        if self.is_checked { header.check_of_number(hash ^ space.sum(), number) } else { 0 }
    }

    /// Whether a record has the right checks.
    #[inline]
    pub(crate) fn is_whole(&self, header: &Header, hash: u64, space: Space, value: &[u8]) -> bool {
        !self.is_checked
            || self.check_of(header, hash, space, value) == header.check
                && self.is_sealed(header, hash, space)
    }

    /// Whether the checks of expiry, stale mark and number are right, without a look at the value.
    #[inline]
    pub(crate) fn is_sealed(&self, header: &Header, hash: u64, space: Space) -> bool {
        let is_right = |number: u64| {
            let number_of = Number::of(number);
            number_of.with_check(self.check_of_number(header, number_of, hash, space)) == number
        };
        self.seal_of(header, hash, space) == header.seal
            && (header.kind & kind::NUMBER == 0 || is_right(header.number))
    }

    /// The partition of a key with this hash. It uses the uppermost bits, which nothing else uses.
    #[inline]
    pub(crate) fn partition_of(&self, hash: u64) -> usize {
        size(hash >> 57) & (self.geometry.partitions - 1)
    }
}

/// A partition.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Partition<'c> {
    pub(crate) memory: &'c Memory,
    pub(crate) places: &'c Places,
    pub(crate) base: usize,
}

/// A record that a reader has found and copied.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    pub(crate) header: Header,
    pub(crate) version: u64,
}

/// The outcome of following a slot.
enum Followed {
    Found(Found),
    /// The record is another key's, or the slot has changed meanwhile.
    NotIt,
    /// The segment was used anew meanwhile: the key now has another slot, or no slot.
    Again,
}

impl<'c> Partition<'c> {
    pub(crate) fn new(memory: &'c Memory, places: &'c Places, partition: usize) -> Self {
        Self { memory, places, base: places.first + partition * places.len }
    }

    /// Appends the value of a key to `value`; `None` leaves it unchanged.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "what is found stays in registers: a tenth of a hit's time"
    )]
    pub(crate) fn get(
        &self,
        hash: u64,
        key: &[u8],
        space: Space,
        moment: Moment,
        value: &mut Vec<u8>,
    ) -> Option<Found> {
        let (of, length) = (HashedKey { hash, key, space }, value.len());
        'looks: for _ in 0..LOOKS {
            let grown = self.grown();
            for (word, slot) in self.candidates_at(hash, grown) {
                match self.follow(slot, of, moment, value) {
                    Followed::Found(found) => {
                        count_use(word, slot);
                        return Some(found);
                    }
                    Followed::NotIt if is_still(word, slot) => value.truncate(length),
                    Followed::NotIt | Followed::Again => {
                        value.truncate(length);
                        continue 'looks;
                    }
                }
            }
            // The slot may have been moved to another bucket meanwhile. The reads above must not come after the one below.
            fence(Ordering::Acquire);
            if self.grown() == grown {
                return None;
            }
        }
        None
    }

    #[inline]
    fn follow(
        &self,
        slot: Slot,
        HashedKey { hash, key, space }: HashedKey<'_>,
        moment: Moment,
        value: &mut Vec<u8>,
    ) -> Followed {
        let Some(segment) = self.segment_of(slot) else { return Followed::NotIt };
        let word = self.segment_word(segment).load(Ordering::Acquire);
        if !is_current(word, slot, moment) {
            return Followed::NotIt;
        }
        let at = self.base + slot.at();
        let Some(header) = Header::read(self.memory, at, self.end_of(segment)) else {
            return Followed::NotIt;
        };
        let is_cleared = || header.space(self.memory, at) != space;
        if !self.is_of(at, &header, key, space) || space.kind & kind::NAMED != 0 && is_cleared() {
            return Followed::NotIt;
        }
        let from = value.len();
        self.memory.copy_out(at + header.len() + key.len(), header.value_len, value);
        let version = header.whole_version(|| self.version_of(segment, slot));
        // The reads of the copy above must not move behind the read of the word below.
        fence(Ordering::Acquire);
        if self.segment_word(segment).load(Ordering::Relaxed) != word {
            return Followed::Again;
        }
        if header.has_expired(|| moment.now())
            || !self.places.is_whole(&header, hash, space, &value[from..])
        {
            return Followed::NotIt;
        }
        if header.kind & kind::NUMBER != 0 {
            number::spell(Number::of(header.number).value(), value);
        }
        Followed::Found(Found { header, version })
    }

    /// Removes the slots of a key without the lock; returns whether there was one. The holder of the lock may be moving a
    /// slot to another bucket, and checks afterwards whether the old slot still exists.
    pub(crate) fn clear_slots(&self, of: HashedKey<'_>, moment: Moment) -> bool {
        let (numbers, tag) = (self.numbers_of(of.hash), Slot::tag_of(of.hash));
        let mut any = false;
        loop {
            let grown = self.grown();
            let buckets = |at| numbers.map(|number| self.bucket_at(number, tag, at));
            let now = buckets(grown);
            for bucket in now.into_iter().flatten() {
                any |= self.clear_bucket(bucket, of, moment);
            }
            // Either the holder of the lock sees the removals above, or this thread sees the moved slot below.
            fence(Ordering::SeqCst);
            let next = buckets(grown.next());
            let is_new =
                |at: &Option<usize>| !now.contains(at) && at.is_some_and(|at| self.is_index(at));
            for bucket in next.into_iter().filter(is_new).flatten() {
                any |= self.clear_bucket(bucket, of, moment);
            }
            if self.grown() == grown {
                return any;
            }
        }
    }

    /// Whether a place belongs to the index. Elsewhere the bytes of a record could look like a slot.
    pub(crate) fn is_index(&self, at: usize) -> bool {
        let within = at.checked_sub(self.start_of(0));
        let shift = self.places.geometry.segment_len.trailing_zeros();
        within.is_none_or(|within| {
            self.memory.load(self.note_at(within >> shift, STATE)) >> 56 == INDEX
        })
    }

    fn clear_bucket(&self, bucket: usize, of: HashedKey<'_>, moment: Moment) -> bool {
        let words = self.memory.line(bucket).iter();
        words.filter(|word| self.clear_slot(word, of, moment)).count() > 0
    }

    /// Removes a slot if it is the key's. If the holder of the lock has changed the slot meanwhile, it looks again, because a
    /// record that is moved keeps its slot.
    fn clear_slot(&self, word: &AtomicU64, of: HashedKey<'_>, moment: Moment) -> bool {
        let mut value = Vec::new();
        loop {
            let slot = Slot(word.load(Ordering::Acquire));
            if slot.is_empty() || slot.tag() != Slot::tag_of(of.hash) {
                return false;
            }
            value.clear();
            match self.follow(slot, of, moment, &mut value) {
                Followed::Found(_) if exchange(word, slot, Slot::EMPTY) => return true,
                Followed::NotIt => {
                    // The reads above must not come after the read of the slot below.
                    fence(Ordering::Acquire);
                    let now = Slot(word.load(Ordering::Acquire));
                    if now.is_of(slot) {
                        return false;
                    }
                }
                Followed::Found(_) | Followed::Again => {}
            }
        }
    }

    /// Whether the record at `at` of the region, with this header, belongs to this key and space, in any generation.
    #[inline]
    pub(crate) fn is_of(&self, at: usize, header: &Header, key: &[u8], space: Space) -> bool {
        header.key_len == key.len()
            && header.kind & (kind::CHUNK | kind::NAMED) == space.kind
            && (space.kind & kind::NAMED == 0 || header.space(self.memory, at).is_of(space))
            && self.memory.is(at + header.len(), key)
    }

    /// The segment into which a slot points, if there is one.
    #[inline]
    pub(crate) fn segment_of(&self, slot: Slot) -> Option<usize> {
        let geometry = &self.places.geometry;
        let within = slot.at().checked_sub(self.places.segments)?;
        let segment = within >> geometry.segment_len.trailing_zeros();
        (segment < geometry.segments).then_some(segment)
    }

    /// The word of a segment: the region's clears at its beginning 32 | the number of its lives 32.
    #[inline]
    pub(crate) fn segment_word(&self, segment: usize) -> &'c AtomicU64 {
        self.memory.word(self.base + layout::SEGMENT_WORDS + segment * 8)
    }

    /// The offset of one of the notes on a segment.
    #[inline]
    pub(crate) fn note_at(&self, segment: usize, note: usize) -> usize {
        self.base + self.places.notes + (segment * NOTES + note) * 8
    }

    /// The offset of the time at which a segment was begun, in milliseconds of the region's own
    /// time.
    #[inline]
    pub(crate) fn time_at(&self, segment: usize) -> usize {
        self.base + self.places.times + segment * 8
    }

    /// The offset of a segment's first record, in the region.
    #[inline]
    pub(crate) fn start_of(&self, segment: usize) -> usize {
        self.base + self.places.segments + segment * self.places.geometry.segment_len
    }

    #[inline]
    pub(crate) fn end_of(&self, segment: usize) -> usize {
        self.start_of(segment) + self.places.geometry.segment_len
    }

    /// The version of a record that has not been moved. No two records of a partition ever had the same place in the same
    /// life of a segment. The lowest bits tell the changes in place.
    #[inline]
    pub(crate) fn version_of(&self, segment: usize, slot: Slot) -> u64 {
        let order = self.memory.load(self.note_at(segment, ORDER));
        let words = self.places.geometry.segment_len as u64 / 8;
        let place = (self.base + slot.at() - self.start_of(segment)) as u64 / 8;
        order.wrapping_mul(words).wrapping_add(place) << IN_PLACE_BITS
    }

    /// The segment of a slot, if the slot belongs to the segment's present life; `None` for an
    /// empty slot.
    #[inline]
    pub(crate) fn current_segment_of(&self, slot: Slot, moment: Moment) -> Option<usize> {
        let segment = self.segment_of(slot)?;
        let word = self.segment_word(segment).load(Ordering::Relaxed);
        is_current(word, slot, moment).then_some(segment)
    }
}

/// Notes on a segment: `end of its records 32 | live records 32`.
pub(crate) const FILL: usize = 0;
/// `queue 8 | class 8 | live records that are no entries by themselves 16 | live bytes of keys and values 32`.
pub(crate) const STATE: usize = 1;
/// The segment's number among all segments that the partition has begun.
pub(crate) const ORDER: usize = 2;
/// The expiry of its last record.
pub(crate) const LATEST: usize = 3;

/// Whether a slot belongs to the present life of the segment.
#[inline]
fn is_current(word: u64, slot: Slot, moment: Moment) -> bool {
    word & 0xffff == slot.recycled() && word >> 32 == moment.cleared & 0xffff_ffff
}

impl Space {
    /// Whether its namespace was cleared or removed since, or is none that there can be.
    pub(crate) fn was_cleared(self, partition: &Partition<'_>) -> bool {
        let is_one = || usize::from(self.number()) < partition.places.geometry.namespaces;
        let now = || partition.memory.word(entry_at(self.number())).load(Ordering::Acquire);
        let is_now = || Self::of(now(), self.number()) == self;
        self.kind & kind::NAMED != 0 && !(is_one() && is_now())
    }
}
