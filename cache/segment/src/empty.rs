//! Emptying a segment, in steps: each record, in order, is written anew or dropped.

use std::cell::Cell;
use std::ops::Range;

use crate::chunks::Chunks;
use crate::locked::{Entry, Locked, Present};
use crate::partition::{MAIN, SMALL};
use crate::record::Header;
use crate::slot::MOST_USES;
use crate::slot::exchange;
use crate::space::{HashedKey, Space};
use crate::tally::Count;
use crate::upkeep::{Keeps, Victim};
use crate::work::Work;

/// An entry stays if it was used once. After this many segments emptied without a gain, it needs one use more, up to the most
/// that are counted. So when all entries were used, the least used ones go.
const VAIN_FOR_MORE: u64 = 4;

/// The slots of this many entries are looked up together, so that the processor fetches their index lines in parallel.
const AHEAD: usize = 16;
/// No further key is read once the keys have this many bytes: the longest key has 64 KiB.
pub(crate) const KEYS_AHEAD: usize = 8 << 10;

/// What a step reads: the keys of a few records, the records, and a value that is written again.
#[derive(Default)]
struct Buffers {
    keys: Vec<u8>,
    records: Vec<Record>,
    value: Vec<u8>,
}

thread_local! {
    /// Each set does a small step, and would otherwise ask for memory each time.
    static BUFFERS: Cell<Buffers> = Cell::default();
}

/// A record of a segment that is emptied: the hash of its key, and the key's place among the copied keys.
struct Record {
    hash: u64,
    space: Space,
    key: Range<usize>,
    at: usize,
    header: Header,
}

/// The outcome for a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It was dead before.
    Dead,
    /// It stays where it is.
    Left,
    Dropped,
    /// The record was written anew, and has this many bytes.
    Copied(usize),
}

impl Locked<'_> {
    /// Goes on with emptying the chosen segment, and gives it back at its end; `false` where the allowed work ends before.
    pub(crate) fn step(&mut self, work: &mut Work) -> bool {
        // A thread that ends may have given them back before an application's own thread-local value sets a key.
        let mut buffers = BUFFERS.try_with(Cell::take).unwrap_or_default();
        let is_emptied = self.step_with(work, &mut buffers);
        let _ = BUFFERS.try_with(|kept| kept.set(buffers));
        is_emptied
    }

    fn step_with(&mut self, work: &mut Work, buffers: &mut Buffers) -> bool {
        let Some(mut victim) = self.victim() else { return true };
        let Buffers { keys, records, value } = buffers;
        records.clear();
        loop {
            let from = victim.at;
            // A segment without a live record needs no look at its records.
            if self.fill(victim.segment).1 > 0 {
                keys.clear();
                let most_bytes = KEYS_AHEAD.min(self.left.copied());
                self.next_records(&mut victim, keys, records, AHEAD, most_bytes);
            }
            if records.is_empty() {
                match victim.keeps {
                    Keeps::InPlace => self.note_purged(victim.segment),
                    _ => self.set_free(victim.segment),
                }
                return true;
            }
            let is_of_main = victim.keeps == Keeps::Used && self.state(victim.segment).0 == MAIN;
            let (mut n, mut copied, mut kept, mut alive) = (0, keys.len(), 0, 0);
            for record in records.drain(..) {
                // One record at least is handled, however long its key is.
                if n > 0 && (work.is_copied(copied) || self.left.is_copied(copied)) {
                    victim.at = record.at - self.partition.start_of(victim.segment);
                    break;
                }
                n += 1;
                let key = &keys[record.key.clone()];
                let Some(fate) = self.part_with(&record, key, value, victim.keeps) else {
                    // Another segment makes room first. This one stays the oldest.
                    self.forget_victim(victim.segment);
                    self.spend(work, n, 0, copied);
                    return !self.left.is_done();
                };
                if let Fate::Copied(bytes) = fate {
                    copied += bytes;
                    kept += 1;
                }
                alive += u64::from(fate != Fate::Dead);
            }
            self.set_victim(victim);
            if is_of_main {
                self.note_kept(kept, alive);
            }
            self.spend(work, n, victim.at - from, copied);
            if work.is_done() || self.left.is_done() {
                return false;
            }
        }
    }

    /// Reads the next few records of a segment, and their keys, within limits on the number of records and the bytes of
    /// keys.
    fn next_records(
        &self,
        victim: &mut Victim,
        keys: &mut Vec<u8>,
        records: &mut Vec<Record>,
        most: usize,
        most_bytes: usize,
    ) {
        let memory = self.partition.memory;
        let start = self.partition.start_of(victim.segment);
        let end = self.fill(victim.segment).0.min(self.partition.places.geometry.segment_len);
        let end = start + end.max(victim.at);
        while records.len() < most
            && (records.is_empty() || keys.len() < most_bytes)
            && let Some(header) = Header::read(memory, start + victim.at, end)
        {
            let (at, from) = (start + victim.at, keys.len());
            memory.copy_out(at + header.len(), header.key_len, keys);
            let space = header.space(memory, at);
            let hash = self.partition.places.hash(&keys[from..]) ^ space.mix();
            self.partition.prefetch_index(hash);
            #[cfg(test)]
            crate::work::counted::note(1, header.key_len);
            records.push(Record { hash, space, key: from..keys.len(), at, header });
            victim.at += header.record_len();
        }
    }

    /// Handles one record of a segment that is emptied, and returns its fate. `None` where the record must be
    /// written anew and has no place.
    fn part_with(
        &mut self,
        record: &Record,
        key: &[u8],
        value: &mut Vec<u8>,
        keeps: Keeps,
    ) -> Option<Fate> {
        let Record { hash, space, at, header, .. } = *record;
        let Some(present) = self.find_at(hash, at, &header) else { return Some(Fate::Dead) };
        if keeps == Keeps::InPlace && !self.was_cleared(record, key) {
            return Some(Fate::Left);
        }
        let (queue, class) = self.state(present.segment);
        let uses = present.slot.uses();
        let (into, left) = match keeps {
            Keeps::All => (Some(queue), uses),
            Keeps::Nothing | Keeps::InPlace => (None, uses),
            Keeps::Used => {
                let is_used = uses >= self.uses_to_stay() || self.spared == Some(hash);
                (is_used.then_some(MAIN), uses.saturating_sub(1))
            }
        };
        let into = if header.is_item() { into } else { self.chunk_into(key, &present, keeps) };
        let item = u64::from(header.is_item());
        if space.was_cleared(&self.partition) {
            // Nobody finds it any more.
        } else if header.has_expired(|| self.now) {
            self.count(Count::Expired, item);
        } else if let Some(into) = into
            && self.is_readable(hash, &present, value)
        {
            let of = HashedKey { hash, key, space };
            self.write_anew(of, &present, left, into, class, value)?;
            self.count(Count::Moved, item);
            return Some(Fate::Copied(header.record_len()));
        } else if queue == SMALL {
            self.count(Count::EvictedSmall, item);
            if header.is_item() {
                self.note_ghost(hash);
            }
        } else {
            self.count(Count::EvictedMain, item);
        }
        if let Some(chunks) = self.chunks_of(hash, &present) {
            self.doom(hash, chunks);
        }
        self.remove(&present);
        Some(Fate::Dropped)
    }

    /// Whether a record, an entry or a chunk, belongs to a namespace that was cleared since.
    fn was_cleared(&self, record: &Record, key: &[u8]) -> bool {
        let of_chunk = || Chunks::of_key(key).map_or(Space::ROOT, |(_, _, space)| space);
        let space = if record.header.is_item() { record.space } else { of_chunk() };
        space.was_cleared(&self.partition)
    }

    /// Reads the value of a record that must be written anew; `false` where the value is damaged.
    fn is_readable(&self, hash: u64, present: &Present<'_>, value: &mut Vec<u8>) -> bool {
        value.clear();
        let len = present.found.header.record_len() + size_of::<u64>();
        let is_short = len <= self.partition.places.geometry.segment_len;
        let is_whole = is_short && self.read(hash, present, value);
        self.count(Count::Damaged, u64::from(!is_whole));
        is_whole
    }

    /// The average number of uses of a segment's first few live records, in sixteenths.
    pub(crate) fn uses_in(&mut self, segment: usize, n: usize) -> u64 {
        let mut victim = Victim { segment, keeps: Keeps::All, at: 0 };
        let (mut keys, mut records) = (Vec::new(), Vec::with_capacity(AHEAD));
        self.next_records(&mut victim, &mut keys, &mut records, n, KEYS_AHEAD);
        self.left.spend(records.len(), 0, keys.len());
        let uses = records.iter().filter_map(|Record { hash, at, header, .. }| {
            self.find_at(*hash, *at, header).map(|present| present.slot.uses())
        });
        let (n, sum) = uses.fold((0, 0), |(n, sum), uses| (n + 1, sum + uses));
        sum * 16 / n.max(1)
    }

    /// The uses that an entry needs to be written anew.
    pub(crate) fn uses_to_stay(&self) -> u64 {
        (1 + self.vain().0 / VAIN_FOR_MORE).min(MOST_USES)
    }

    /// Writes an entry once more, into a queue and class; `None` where there is no place for it.
    fn write_anew(
        &mut self,
        HashedKey { hash, key, space }: HashedKey<'_>,
        present: &Present<'_>,
        uses: u64,
        queue: u64,
        class: usize,
        value: &[u8],
    ) -> Option<()> {
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
        let into = self.active(queue, class, bytes).or_else(|| self.begin(queue, class))?;
        let at = self.append(into, &header, &entry);
        #[cfg(test)]
        crate::work::counted::note(0, bytes);
        let slot = self.slot_of(hash, into.segment, at, uses);
        // The record is counted before its slot points to it, as in `store`.
        self.count_alive(into.segment, &header);
        if exchange(present.word, present.slot, slot) {
            self.died(present);
        } else {
            // A delete without the lock has removed the entry.
            self.count_dead(into.segment, &header);
        }
        Some(())
    }
}
