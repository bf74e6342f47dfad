//! Emptying a segment, in steps: its records are gone through in their order, and each is written anew, or dropped.

use std::ops::Range;

use crate::index::exchange;
use crate::locked::{Doomed, Entry, Locked, MAIN, Present, SMALL};
use crate::namespace::Space;
use crate::record::Header;
use crate::slot::MOST_USES;
use crate::tally::Count;
use crate::upkeep::{Keeps, Victim, Work};

/// An entry stays that was used once. After so many segments that were emptied without a gain it takes one use more, up to the
/// most that are counted: where all was used, those go that were used least.
const VAIN_FOR_MORE: u64 = 4;

/// So many entries of a segment that is emptied have their slots looked for at once: the lines of the index are on their way
/// together.
const AHEAD: usize = 16;

/// A record of a segment that is emptied: the hash of its key, and where that is among the keys that were copied.
struct Record {
    hash: u64,
    space: Space,
    key: Range<usize>,
    at: usize,
    header: Header,
}

impl Locked<'_> {
    /// Goes on with emptying the segment that was chosen, and gives it back at its end; `false` where the work is done before.
    pub(crate) fn step(&mut self, work: &mut Work) -> bool {
        let Some(mut victim) = self.victim() else { return true };
        let (mut keys, mut value) = (Vec::new(), Vec::new());
        let mut records = Vec::with_capacity(AHEAD);
        loop {
            let from = victim.at;
            // Where no record is alive, none is looked at.
            if self.fill(victim.segment).1 > 0 {
                keys.clear();
                self.next_records(&mut victim, &mut keys, &mut records);
            }
            if records.is_empty() {
                self.set_free(victim.segment);
                return true;
            }
            for record in records.drain(..) {
                let copied =
                    self.part_with(&record, &keys[record.key.clone()], &mut value, victim.keeps);
                work.copied = work.copied.saturating_sub(copied);
            }
            self.set_victim(victim);
            work.looked = work.looked.saturating_sub(victim.at - from);
            if work.is_done() {
                return false;
            }
        }
    }

    /// Reads the next few records of a segment, and their keys.
    fn next_records(&self, victim: &mut Victim, keys: &mut Vec<u8>, records: &mut Vec<Record>) {
        let memory = self.partition.memory;
        let start = self.partition.start_of(victim.segment);
        let end = self.fill(victim.segment).0.min(self.partition.places.geometry.segment_len);
        let end = start + end.max(victim.at);
        while records.len() < AHEAD
            && let Some(header) = Header::read(memory, start + victim.at, end)
        {
            let (at, from) = (start + victim.at, keys.len());
            memory.copy_out(at + header.len(), header.key_len, keys);
            let space = header.space(memory, at);
            let hash = self.partition.places.hash(&keys[from..]) ^ space.mix();
            self.partition.prefetch_index(hash);
            records.push(Record { hash, space, key: from..keys.len(), at, header });
            victim.at += header.record_len();
        }
    }

    /// One record of a segment that is emptied; how many bytes were copied for it.
    fn part_with(
        &mut self,
        record: &Record,
        key: &[u8],
        value: &mut Vec<u8>,
        keeps: Keeps,
    ) -> usize {
        let Record { hash, space, at, header, .. } = *record;
        let Some(present) = self.find_at(hash, at, &header) else { return 0 };
        let (queue, class) = self.state(present.segment);
        let uses = present.slot.uses();
        let (is_kept, into, left) = match (keeps, queue) {
            (Keeps::All, _) => (true, queue, uses),
            (Keeps::Nothing, _) => (false, queue, uses),
            (Keeps::Used, _) => (uses >= self.uses_to_stay(), MAIN, uses.saturating_sub(1)),
        };
        let is_kept =
            if header.is_item() { is_kept } else { self.keeps_chunk(key, &present, keeps) };
        let item = u64::from(header.is_item());
        if space.was_cleared(self.partition.memory) {
            // Nobody finds it any more.
        } else if header.has_expired(|| self.now) {
            self.count(Count::Expired, item);
        } else if is_kept
            && self.write_anew((hash, space, key), &present, left, (into, class), value)
        {
            self.count(Count::Moved, item);
            return header.record_len();
        } else if queue == SMALL {
            self.count(Count::EvictedSmall, item);
            if header.is_item() {
                self.note_ghost(hash);
            }
        } else {
            self.count(Count::EvictedMain, item);
        }
        let chunks = self.chunks_of(hash, &present);
        self.doomed.extend(chunks.map(|chunks| Doomed { hash, chunks }));
        self.remove(&present);
        0
    }

    /// The uses that an entry must have had to be written anew.
    pub(crate) fn uses_to_stay(&self) -> u64 {
        (1 + self.vain().0 / VAIN_FOR_MORE).min(MOST_USES)
    }

    /// Writes an entry once more, into a queue and class; `false` where it has no room there or is damaged.
    fn write_anew(
        &mut self,
        (hash, space, key): (u64, Space, &[u8]),
        present: &Present<'_>,
        uses: u64,
        (queue, class): (u64, usize),
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
        let into = self.active(queue, class, bytes).or_else(|| self.begin(queue, class));
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
