//! Room for entries: segments that are begun, given back and emptied.
//!
//! A segment is emptied as a whole. Its entries that are used are written anew into the main queue, the others are dropped.
//! One segment more than is asked for is kept free, so that what is written anew has a place.

use std::sync::atomic::Ordering;

use crate::index::exchange;
use crate::layout::BUCKET;
use crate::locked::{Entry, FREE, Locked, MAIN, Present, SMALL};
use crate::memory::{fence, size};
use crate::namespace::Space;
use crate::partition::{FILL, LATEST, ORDER, STATE};
use crate::record::{FOREVER, Header, kind};
use crate::slot::Slot;
use crate::tally::Count;

/// Of so many segments one is for entries that are new.
const SMALL_SHARE: usize = 10;

/// The uses that take a new entry to the main queue.
const USES_TO_STAY: u64 = 1;

/// After so many segments that were emptied without a gain the next one is dropped whole; after fewer for a value that takes
/// many of them, which would otherwise go round until it met its own first parts.
const VAIN: usize = 6;
const VAIN_FOR_LARGE: usize = 2;

/// The records that are written again when a segment is emptied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeps {
    /// The records that were used.
    Used,
    /// The same without the chunks of large values: what makes room for one takes that of another first.
    UsedAndSmall,
    Nothing,
}

/// The place of the next record: a segment with room for it, and where that one's records end. The end was checked once and
/// is not read again, because a neighbour may write into the region.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub(crate) segment: usize,
    pub(crate) end: usize,
}

/// So many entries of a segment that is emptied have their slots looked for at once: the lines of the index are on their way
/// together.
const AHEAD: usize = 16;

/// A slot that outlived its records is taken for one that is right again after 2^16 more uses of its segment. So the index
/// is swept each time that a segment has been used half as often.
const SWEEP_EACH: u64 = 1 << 15;

impl Locked<'_> {
    /// Another active segment of a queue and class, where the one that there was has no room for so many bytes.
    pub(crate) fn make_room(
        &mut self,
        (queue, class): (u64, usize),
        bytes: usize,
        is_large: bool,
    ) -> Option<Room> {
        let (most, keeps) =
            if is_large { (VAIN_FOR_LARGE, Keeps::UsedAndSmall) } else { (VAIN, Keeps::Used) };
        let mut emptied = 0;
        while self.free().nth(1).is_none() {
            if self.give_back() {
                continue;
            }
            self.empty_one(if emptied < most { keeps } else { Keeps::Nothing })?;
            emptied += 1;
        }
        // The records written again may have begun a segment of just this kind.
        self.active(queue, class, bytes).or_else(|| self.begin(queue, class))
    }

    /// The active segment of a queue and class, if so many bytes have room in it.
    pub(crate) fn active(&self, queue: u64, class: usize, bytes: usize) -> Option<Room> {
        let noted = size(self.partition.memory.load(self.active_at(queue, class)));
        let segment = noted.checked_sub(1).filter(|s| *s < self.geometry_segments())?;
        let is_it = self.state(segment) == (queue, class) && !self.is_cleared(segment);
        let (end, _) = self.fill(segment);
        let is_it = is_it && end.is_multiple_of(8);
        let has_room = is_it && end + bytes <= self.partition.places.geometry.segment_len;
        has_room.then_some(Room { segment, end })
    }

    /// Begins a free segment, which is active from now on.
    fn begin(&mut self, queue: u64, class: usize) -> Option<Room> {
        let segment = self.free().next()?;
        let memory = self.partition.memory;
        self.renew(segment);
        let order = Count::Begun.at(self.partition.base);
        memory.store(order, memory.load(order).wrapping_add(1));
        memory.store(self.partition.note_at(segment, ORDER), memory.load(order));
        memory.store(self.partition.note_at(segment, LATEST), 0);
        memory.store(self.partition.note_at(segment, FILL), 0);
        memory.store(self.partition.time_at(segment), self.now);
        fence(Ordering::Release);
        memory.store(self.partition.note_at(segment, STATE), queue << 56 | (class as u64) << 48);
        memory.store(self.active_at(queue, class), segment as u64 + 1);
        Some(Room { segment, end: 0 })
    }

    /// From here on no slot means this segment any more, and no reader takes what it has copied from it for whole.
    fn renew(&mut self, segment: usize) {
        let word = self.partition.segment_word(segment);
        let times = (word.load(Ordering::Relaxed) & 0xffff_ffff).wrapping_add(1) & 0xffff_ffff;
        word.store((self.moment.cleared & 0xffff_ffff) << 32 | times, Ordering::Release);
        // Nothing of what is written into it may be seen before the word is.
        fence(Ordering::SeqCst);
        if times.is_multiple_of(SWEEP_EACH) {
            self.sweep();
        }
    }

    /// Empties all slots that mean nothing any more.
    pub(crate) fn sweep(&self) {
        let first = self.partition.index();
        for bucket in 0..self.partition.places.geometry.buckets {
            for word in self.partition.memory.line(first + bucket * BUCKET) {
                let slot = Slot(word.load(Ordering::Relaxed));
                if self.partition.current_segment_of(slot, self.moment).is_none() {
                    word.store(Slot::EMPTY.0, Ordering::Relaxed);
                }
            }
        }
    }

    /// Segments that nobody uses.
    fn free(&self) -> impl Iterator<Item = usize> {
        (0..self.geometry_segments()).filter(|segment| self.state(*segment).0 == FREE)
    }

    /// Gives back every segment of which nothing can be read any more: it has expired, was cleared, or was deleted.
    fn give_back(&mut self) -> bool {
        let mut any = false;
        for segment in 0..self.geometry_segments() {
            if self.state(segment).0 == FREE {
                continue;
            }
            let (end, alive) = self.fill(segment);
            let latest = self.partition.memory.load(self.partition.note_at(segment, LATEST));
            let has_expired = end > 0 && latest != FOREVER && latest <= self.now;
            let is_dead = alive == 0 && !self.is_active(segment);
            if has_expired || is_dead || self.is_cleared(segment) {
                if has_expired {
                    self.count(Count::Expired, alive.saturating_sub(self.alive(segment).0));
                }
                self.set_free(segment);
                any = true;
            }
        }
        any
    }

    fn set_free(&mut self, segment: usize) {
        let memory = self.partition.memory;
        let (_, alive) = self.fill(segment);
        let (others, bytes) = self.alive(segment);
        let state = self.partition.note_at(segment, STATE);
        self.uncount(Count::Items, alive.saturating_sub(others));
        self.uncount(Count::Bytes, bytes);
        self.renew(segment);
        memory.store(state, FREE << 56);
        // A process killed in between leaves no segment that is written from its beginning again in the same life.
        fence(Ordering::Release);
        memory.store(self.partition.note_at(segment, FILL), 0);
    }

    fn is_active(&self, segment: usize) -> bool {
        let (queue, class) = self.state(segment);
        let active = self.active_at(queue, class);
        self.partition.memory.load(active) == segment as u64 + 1
    }

    fn is_cleared(&self, segment: usize) -> bool {
        let word = self.partition.segment_word(segment).load(Ordering::Relaxed);
        word >> 32 != self.moment.cleared & 0xffff_ffff
    }

    fn geometry_segments(&self) -> usize {
        self.partition.places.geometry.segments
    }

    /// Empties the oldest segment of the small queue where that has more than its share, otherwise of the main one.
    fn empty_one(&mut self, keeps: Keeps) -> Option<()> {
        let oldest = |queue: u64, active: bool| {
            let of = (0..self.geometry_segments())
                .filter(|s| self.state(*s).0 == queue && self.is_active(*s) == active);
            of.min_by_key(|s| self.partition.memory.load(self.partition.note_at(*s, ORDER)))
        };
        let small = (0..self.geometry_segments()).filter(|s| self.state(*s).0 == SMALL).count();
        let first = if small * SMALL_SHARE > self.geometry_segments() { SMALL } else { MAIN };
        let second = if first == SMALL { MAIN } else { SMALL };
        // Those that are being written last of all.
        let segment = oldest(first, false)
            .or_else(|| oldest(second, false))
            .or_else(|| oldest(first, true))
            .or_else(|| oldest(second, true))?;
        self.empty(segment, keeps);
        Some(())
    }

    /// Writes what is to be kept of a segment anew, and gives it back.
    fn empty(&mut self, segment: usize, keeps: Keeps) {
        let (queue, class) = self.state(segment);
        if self.is_active(segment) {
            self.partition.memory.store(self.active_at(queue, class), 0);
        }
        let start = self.partition.start_of(segment);
        let end = start + self.fill(segment).0.min(self.partition.places.geometry.segment_len);
        let (mut keys, mut value) = (Vec::new(), Vec::new());
        let (mut at, mut entries) = (start, Vec::with_capacity(AHEAD));
        loop {
            keys.clear();
            while entries.len() < AHEAD
                && let Some(header) = Header::read(self.partition.memory, at, end)
            {
                let from = keys.len();
                self.partition.memory.copy_out(at + header.len(), header.key_len, &mut keys);
                let space = header.space(self.partition.memory, at);
                let hash = self.partition.places.hash(&keys[from..]) ^ space.mix();
                self.partition.prefetch_index(hash);
                entries.push((hash, space, from..keys.len(), at, header));
                at += header.record_len();
            }
            if entries.is_empty() {
                break;
            }
            for (hash, space, key, at, header) in entries.drain(..) {
                self.part_with((hash, space, &keys[key]), at, &header, &mut value, keeps);
            }
        }
        self.set_free(segment);
    }

    /// One entry of a segment that is emptied.
    fn part_with(
        &mut self,
        (hash, space, key): (u64, Space, &[u8]),
        at: usize,
        header: &Header,
        value: &mut Vec<u8>,
        keeps: Keeps,
    ) {
        let Some(present) = self.find_at(hash, at, header) else { return };
        let segment = present.segment;
        let (queue, class) = self.state(segment);
        let uses = present.slot.uses();
        let (is_used, left) = match queue {
            SMALL => (uses >= USES_TO_STAY, 0),
            _ => (uses > 0, uses.saturating_sub(1)),
        };
        let is_kept = match keeps {
            Keeps::Used => is_used,
            Keeps::UsedAndSmall => is_used && header.kind & kind::LARGE == 0,
            Keeps::Nothing => false,
        };
        let item = u64::from(header.is_item());
        if space.was_cleared(self.partition.memory) {
            // Nobody finds it any more.
        } else if header.has_expired(|| self.now) {
            self.count(Count::Expired, item);
        } else if is_kept && self.write_anew((hash, space, key), &present, left, class, value) {
            return self.count(Count::Moved, item);
        } else if queue == SMALL {
            self.count(Count::EvictedSmall, item);
            if header.kind & kind::CHUNK == 0 {
                self.note_ghost(hash);
            }
        } else {
            self.count(Count::EvictedMain, item);
        }
        self.remove(&present);
    }

    /// Writes an entry once more, into the main queue; `false` where it has no room there or is damaged.
    fn write_anew(
        &mut self,
        (hash, space, key): (u64, Space, &[u8]),
        present: &Present<'_>,
        uses: u64,
        class: usize,
        value: &mut Vec<u8>,
    ) -> bool {
        value.clear();
        if !self.read(hash, present, value) {
            self.count(Count::Damaged, 1);
            return false;
        }
        let header = present.found.header;
        let entry = Entry {
            hash,
            space,
            key,
            value,
            kind: header.kind,
            flags: header.flags,
            expiry: header.expiry,
            version: Some(present.found.version),
        };
        let header = self.header_of(&entry);
        let bytes = header.record_len();
        if bytes > self.partition.places.geometry.segment_len {
            return false;
        }
        let into = self.active(MAIN, class, bytes).or_else(|| self.begin(MAIN, class));
        let Some(into) = into else { return false };
        let at = self.append(into, &header, &entry);
        let slot = self.slot_of(hash, into.segment, at, uses);
        if exchange(present.word, present.slot, slot) {
            self.died(present);
            self.count_alive(into.segment, &header);
        }
        // Otherwise it was deleted by one who did not wait for the lock.
        true
    }
}
