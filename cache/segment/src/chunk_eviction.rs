//! Chunked values stay or go as a whole: the entry's slot counts the reads of the value, and its chunks follow it.
//!
//! The chunk's key has the hash of the entry's key. When its segment is emptied, a chunk is kept if its entry is. The entry
//! lies in another partition, and is read without this partition's lock, as readers do.

use std::sync::atomic::Ordering;

use crate::chunks::{Chunks, LIST, written_at};
use crate::kind;
use crate::locked::{Doomed, Locked, Present};
use crate::memory::fence;
use crate::partition::{MAIN, Moment, Partition, STATE};
use crate::record::Header;
use crate::slot::Slot;
use crate::slot::is_still;
use crate::space::{HashedKey, Space};
use crate::tally::Count;
use crate::upkeep::Keeps;

/// The number of times that an entry is looked at when others change it meanwhile.
const LOOKS: usize = 3;

/// A chunk without an entry is kept for this many milliseconds after it was written, because the entry follows the last chunk.
const PENDING_MS: u32 = 1000;

/// The entry of a cut value, as a chunk finds it.
struct Head {
    slot: Slot,
    is_in_main: bool,
    /// For an entry that was written anew, the time at which its segment was begun; otherwise 0.
    moved: u64,
    chunks: Vec<u8>,
}

/// The outcome of looking for the entry of a cut value without its lock.
enum Looked {
    There(Head),
    Gone,
    /// Other sessions changed the entry during each look.
    Unknown,
}

/// The record of an entry whose value lies in chunks, read within one life of its segment.
struct ChunkedEntry {
    header: Header,
    space: Space,
    is_in_main: bool,
    /// The time at which its segment was begun.
    begun: u64,
    /// The list of the chunks.
    chunks: Vec<u8>,
}

impl Locked<'_> {
    /// The queue into which a chunk is written anew when its segment is emptied; `None` where it is dropped. In that case
    /// the whole value of its entry is dropped, too.
    pub(crate) fn chunk_into(
        &mut self,
        key: &[u8],
        chunk: &Present<'_>,
        keeps: Keeps,
    ) -> Option<u64> {
        let (number, hash, space) = Chunks::of_key(key)?;
        let queue = self.state(chunk.segment).0;
        let places = self.partition.places;
        let home = Partition::new(self.partition.memory, places, places.partition_of(hash));
        let begun = self.partition.memory.load(self.partition.time_at(chunk.segment));
        let head = match home.head_of(number, hash, self.moment, self.now) {
            Looked::There(head) => head,
            Looked::Gone => {
                let age = written_at(self.now).wrapping_sub(chunk.found.header.flags);
                let is_pending = age < PENDING_MS
                    && matches!(keeps, Keeps::Used | Keeps::All)
                    && !space.was_cleared(&self.partition);
                return is_pending.then_some(queue);
            }
            Looked::Unknown => return Some(queue),
        };
        let is_used = head.slot.uses() >= self.uses_to_stay() || self.spared == Some(hash);
        let is_kept = match keeps {
            Keeps::All => true,
            Keeps::Nothing | Keeps::InPlace => false,
            // After the entry was written anew, its slot no longer counts the earlier reads.
            Keeps::Used if queue == MAIN => is_used || head.moved > begun,
            Keeps::Used => is_used || head.is_in_main,
        };
        if !is_kept {
            self.doom(hash, head.chunks);
            return None;
        }
        Some(if keeps == Keeps::All { queue } else { MAIN })
    }

    /// Notes that the rest of a cut value must be removed once the lock is free.
    pub(crate) fn doom(&mut self, hash: u64, chunks: Vec<u8>) {
        let is_known = self.doomed.last().is_some_and(|last| last.chunks == chunks);
        if !is_known {
            self.doomed.push(Doomed { hash, chunks });
        }
    }

    /// Evicts the entry of a cut value, if it still exists.
    pub(crate) fn evict_head(&mut self, hash: u64, number: u64) {
        let heads = self.partition.candidates(hash);
        let found = heads.into_iter().find_map(|(word, slot)| {
            let ChunkedEntry { header, .. } =
                self.partition.chunks_at(slot, number, self.moment)?;
            let at = self.partition.base + slot.at();
            let present = self.find_at(hash, at, &header)?;
            std::ptr::eq(present.word, word).then_some(present)
        });
        let Some(present) = found else { return };
        if self.state(present.segment).0 == MAIN {
            self.count(Count::EvictedMain, 1);
        } else {
            self.count(Count::EvictedSmall, 1);
            self.note_ghost(hash);
        }
        self.remove(&present);
    }
}

impl Partition<'_> {
    /// The entry of a value that was cut under this number. An expired or cleared entry counts as gone.
    fn head_of(&self, number: u64, hash: u64, moment: Moment, now: u64) -> Looked {
        for _ in 0..LOOKS {
            let (grown, mut is_changed) = (self.grown(), false);
            #[cfg(test)]
            tests::looks();
            for (word, slot) in self.candidates_at(hash, grown) {
                let found = self.chunks_at(slot, number, moment);
                if !is_still(word, slot) {
                    is_changed = true;
                } else if let Some(ChunkedEntry { header, space, is_in_main, begun, chunks }) =
                    found
                {
                    if header.has_expired(|| now) || space.was_cleared(self) {
                        return Looked::Gone;
                    }
                    let moved = if header.version.is_some() { begun } else { 0 };
                    return Looked::There(Head { slot, is_in_main, moved, chunks });
                }
            }
            // The slot may have been moved to another bucket meanwhile. The reads above must not come after the one below.
            fence(Ordering::Acquire);
            if !is_changed && self.grown() == grown {
                return Looked::Gone;
            }
        }
        Looked::Unknown
    }

    /// The record of a slot, if it is the entry of the value with this number.
    fn chunks_at(&self, slot: Slot, number: u64, moment: Moment) -> Option<ChunkedEntry> {
        let segment = self.current_segment_of(slot, moment)?;
        let at = self.base + slot.at();
        let header = Header::read(self.memory, at, self.end_of(segment))?;
        if header.kind & kind::CHUNKED == 0 || header.value_len != LIST {
            return None;
        }
        let mut chunks = Vec::with_capacity(header.value_len);
        self.memory.copy_out(at + header.len() + header.key_len, header.value_len, &mut chunks);
        let (space, is_in_main) = (header.space(self.memory, at), self.is_in_main(segment));
        let begun = self.memory.load(self.time_at(segment));
        // The reads above must not move behind the second look at the segment.
        fence(Ordering::Acquire);
        self.current_segment_of(slot, moment)?;
        let is_it = chunks.first_chunk() == Some(&number.to_ne_bytes());
        is_it.then_some(ChunkedEntry { header, space, is_in_main, begun, chunks })
    }

    /// Whether an entry that is stored now goes to the main queue, as far as a look without the lock can tell. It does if
    /// the key is present, or was evicted lately.
    pub(crate) fn is_admitted(
        &self,
        HashedKey { hash, key, space }: HashedKey<'_>,
        moment: Moment,
    ) -> bool {
        let is_there = self.candidates(hash).any(|(_, slot)| {
            let segment = self.current_segment_of(slot, moment);
            segment.is_some_and(|segment| {
                let at = self.base + slot.at();
                let header = Header::read(self.memory, at, self.end_of(segment));
                self.is_in_main(segment) && header.is_some_and(|of| self.is_of(at, &of, key, space))
            })
        });
        is_there || self.has_ghost(hash) && !self.is_main_in_use()
    }

    /// Whether a segment is of the main queue, as far as is known without the lock.
    pub(crate) fn is_in_main(&self, segment: usize) -> bool {
        self.memory.load(self.note_at(segment, STATE)) >> 56 == MAIN
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::Arc;

    use super::*;
    use crate::Options;
    use crate::cache::Cache;
    use crate::locked::{self, Takes};

    thread_local! {
        /// An action of other sessions, after a look for an entry has read the index's growth.
        static OTHERS: RefCell<Option<Box<dyn FnMut()>>> = const { RefCell::new(None) };
    }

    pub(super) fn looks() {
        OTHERS.with_borrow_mut(|others| others.iter_mut().for_each(|others| others()));
    }

    fn split(cache: &Arc<Cache>) {
        assert!(cache.session().lock(0).unwrap().split());
    }

    /// A cache with the entry of a cut value, and the hash of its key. The first split moves the entry's
    /// slot.
    fn with_head(number: u64) -> (Arc<Cache>, u64) {
        let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
        let keys = (0_u64..).map(u64::to_ne_bytes);
        let is_moved = |key: &[u8; 8]| {
            let hash = cache.places.hash(key);
            cache.partition(0).numbers_of(hash)[0] == 0 && Slot::tag_of(hash) & 1 == 1
        };
        let key = keys.into_iter().find(is_moved).unwrap();
        let (hash, list) = (cache.places.hash(&key), [number, 0, 0, 0]);
        let value: Vec<u8> = list.into_iter().flat_map(u64::to_ne_bytes).collect();
        let head =
            locked::Entry { kind: kind::CHUNKED, ..locked::Entry::lasting(hash, &key, &value) };
        cache.session().lock(hash).unwrap().store(&head, None, Takes::Any, None).unwrap();
        (cache, hash)
    }

    fn looked(cache: &Cache, number: u64, hash: u64) -> Looked {
        let moment = cache.moment();
        cache.partition(0).head_of(number, hash, moment, moment.now())
    }

    #[test]
    fn an_entry_whose_slot_is_moved_to_another_bucket_is_found() {
        let (cache, hash) = with_head(7);
        let others = Arc::clone(&cache);
        let mut is_split = false;
        OTHERS.set(Some(Box::new(move || {
            if !std::mem::replace(&mut is_split, true) {
                split(&others);
            }
        })));
        assert!(matches!(looked(&cache, 7, hash), Looked::There(_)));
        OTHERS.set(None);
        assert!(matches!(looked(&cache, 8, hash), Looked::Gone));
    }

    #[test]
    fn an_entry_is_not_said_to_be_gone_while_the_index_grows() {
        let (cache, hash) = with_head(7);
        let others = Arc::clone(&cache);
        OTHERS.set(Some(Box::new(move || split(&others))));
        assert!(matches!(looked(&cache, 8, hash), Looked::Unknown));
        OTHERS.set(None);
    }
}
