//! The state that the holder of a partition's lock keeps: the notes on each segment, and the partition's counters.

use std::sync::atomic::Ordering;

use crate::layout::{self, CLASSES};
use crate::locked::Locked;
use crate::memory::size;
use crate::partition::{FILL, INDEX, MAIN, STATE};
use crate::record::Header;
use crate::tally::Count;

/// The queue of a segment with this note.
fn queue_of(state: u64) -> u64 {
    let queue = state >> 56;
    if queue <= INDEX { queue } else { MAIN }
}

impl Locked<'_> {
    /// The offset of the note on the active segment of a queue and class.
    pub(crate) fn active_at(&self, queue: u64, class: usize) -> usize {
        let main = if queue == MAIN { CLASSES } else { 0 };
        self.partition.base + layout::ACTIVE + (main + class) * 8
    }

    /// Queue and class of a segment. A segment with a wrong note counts as one of the main queue, so that it is emptied in
    /// its turn.
    pub(crate) fn state(&self, segment: usize) -> (u64, usize) {
        let state = self.partition.memory.load(self.partition.note_at(segment, STATE));
        (queue_of(state), size(state >> 48 & 0xff).min(CLASSES - 1))
    }

    /// The end of a segment's records, and the number of its live records.
    pub(crate) fn fill(&self, segment: usize) -> (usize, u64) {
        let fill = self.partition.memory.load(self.partition.note_at(segment, FILL));
        (size(fill >> 32), fill & 0xffff_ffff)
    }

    pub(crate) fn set_fill(&self, segment: usize, end: usize, alive: u64) {
        let at = self.partition.note_at(segment, FILL);
        self.partition.memory.store(at, (end as u64) << 32 | alive & 0xffff_ffff);
    }

    /// Counts one more record with a slot in a segment.
    pub(crate) fn count_alive(&self, segment: usize, header: &Header) {
        let (end, alive) = self.fill(segment);
        self.set_fill(segment, end, alive + 1);
        let (others, bytes) = self.alive(segment);
        let more = (header.key_len + header.value_len) as u64;
        self.set_alive(segment, others + u64::from(!header.is_item()), bytes + more);
        self.count(Count::Items, u64::from(header.is_item()));
        self.count(Count::Bytes, more);
    }

    /// Counts a record of a segment that has lost its slot.
    pub(crate) fn count_dead(&self, segment: usize, header: &Header) {
        let (end, alive) = self.fill(segment);
        self.set_fill(segment, end, alive.saturating_sub(1));
        let (others, bytes) = self.alive(segment);
        let less = (header.key_len + header.value_len) as u64;
        let others = others.saturating_sub(u64::from(!header.is_item()));
        self.set_alive(segment, others, bytes.saturating_sub(less));
        self.uncount(Count::Items, u64::from(header.is_item()));
        self.uncount(Count::Bytes, less);
    }

    /// The live records of a segment that are no entries by themselves, and the bytes of keys and values of all live
    /// records.
    pub(crate) fn alive(&self, segment: usize) -> (u64, u64) {
        let state = self.partition.memory.load(self.partition.note_at(segment, STATE));
        (state >> 32 & 0xffff, state & 0xffff_ffff)
    }

    fn set_alive(&self, segment: usize, others: u64, bytes: u64) {
        let at = self.partition.note_at(segment, STATE);
        let state = self.partition.memory.load(at) >> 48 << 48;
        self.partition.memory.store(at, state | others << 32 | bytes);
    }

    pub(crate) fn count(&self, of: Count, more: u64) {
        let word = self.partition.memory.word(of.at(self.partition.base));
        word.store(word.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
    }

    pub(crate) fn uncount(&self, of: Count, less: u64) {
        let word = self.partition.memory.word(of.at(self.partition.base));
        word.store(word.load(Ordering::Relaxed).saturating_sub(less), Ordering::Relaxed);
    }
}
