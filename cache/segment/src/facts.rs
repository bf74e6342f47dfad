//! What is known of an entry without its value, and a walk over all keys.
//!
//! Both follow slots as readers do, and take no lock. Only the value is not copied, so its check is not made: the header's own
//! check and the key tell that the record is the one that the slot means.

use std::sync::atomic::Ordering;

use crate::api::Entry;
use crate::chunks::LIST;
use crate::kind;
use crate::memory::{AtomicU64, fence, size};
use crate::number::{self, Number};
use crate::partition::{Found, LOOKS, Moment, Partition};
use crate::record::Header;
use crate::session::Session;
use crate::slot::Slot;
use crate::slot::is_still;
use crate::space::Space;

/// How often a walk looks at a slot that writers change meanwhile.
const LOOKS_AT_SLOT: usize = 1000;

/// An entry without its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Flags, version, TTL and staleness.
    pub entry: Entry,
    /// The bytes of the value.
    pub len: usize,
    /// Whether the entry was read or changed since it was stored, as far as that is known: an entry that has been kept for
    /// long without a read counts as unused again.
    pub is_used: bool,
}

/// The place that a walk over all keys has reached: [`Cursor::default`] is its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cursor(u64);

impl Cursor {
    /// The cursor as a number, to be kept elsewhere.
    pub fn to_u64(self) -> u64 {
        self.0
    }

    /// The cursor of a number that [`Cursor::to_u64`] gave. Any other number is a place, too.
    pub fn from_u64(number: u64) -> Self {
        Self(number)
    }

    fn of(partition: usize, bucket: usize) -> Self {
        Self((partition as u64) << 48 | bucket as u64)
    }

    fn place(self) -> (usize, usize) {
        (size(self.0 >> 48), size(self.0 & 0xffff_ffff_ffff))
    }
}

/// A record as its slot leads to it, without the value.
struct Head {
    found: Found,
    space: Space,
    key: Vec<u8>,
    len: usize,
    is_used: bool,
}

impl Session {
    /// What is known of an entry, without its value. This is no use of the entry, and neither a hit nor a miss.
    ///
    /// A value that lies in chunks may have lost one of them: then it has facts, and a get misses it.
    pub fn facts(&self, key: &[u8]) -> Option<Facts> {
        let (hash, moment) = (self.key(key).ok()?, self.cache.moment());
        let head = self.partition(hash).head(hash, key, self.space(), moment)?;
        Some(head.facts(moment))
    }

    /// Goes on with a walk over all keys of the session's namespace, or of none, and calls `found` for each, until at least
    /// `most` were found; `None` at the end of the walk.
    ///
    /// A key that is there during the whole walk is found, and may be found more than once. A key that comes or goes meanwhile
    /// may be found or not.
    pub fn scan(
        &self,
        from: Cursor,
        most: usize,
        found: &mut dyn FnMut(&[u8], Facts),
    ) -> Option<Cursor> {
        let (mut partition, mut bucket) = from.place();
        let (mut n, most) = (0, most.max(1));
        while partition < self.cache.places.geometry.partitions {
            let of = self.cache.partition(partition);
            let moment = self.cache.moment();
            while let Some(at) = of.any_bucket_at(bucket).filter(|_| bucket < of.buckets()) {
                if n >= most {
                    return Some(Cursor::of(partition, bucket));
                }
                for (slot, head) in
                    of.memory.line(at).iter().filter_map(|word| of.head_of_slot(word, moment))
                {
                    let hash = self.hash(&head.key);
                    // A slot that a killed process left in a bucket in which nobody looks for it is none.
                    let is_there = head.space == self.space()
                        && of.buckets_of(hash).contains(&at)
                        && slot.tag() == Slot::tag_of(hash)
                        && of.is_readable(hash, &head, moment);
                    if is_there {
                        n += 1;
                        found(&head.key, head.facts(moment));
                    }
                }
                bucket += 1;
            }
            (partition, bucket) = (partition + 1, 0);
        }
        None
    }
}

impl Partition<'_> {
    /// The record of a key.
    fn head(&self, hash: u64, key: &[u8], space: Space, moment: Moment) -> Option<Head> {
        for _ in 0..LOOKS {
            let (grown, mut is_changed) = (self.grown(), false);
            for (word, slot) in self.candidates_at(hash, grown) {
                let head = self.head_at(slot, moment).filter(|head| {
                    head.space == space && head.key == key && self.is_readable(hash, head, moment)
                });
                if head.is_some() {
                    return head;
                }
                is_changed |= !is_still(word, slot);
            }
            // The slot may have been moved to another bucket meanwhile. The reads above must not come after the one below.
            fence(Ordering::Acquire);
            if !is_changed && self.grown() == grown {
                return None;
            }
        }
        None
    }

    /// A slot and its record, looked at anew where a writer has put another record in its place meanwhile.
    fn head_of_slot(&self, word: &AtomicU64, moment: Moment) -> Option<(Slot, Head)> {
        for _ in 0..LOOKS_AT_SLOT {
            let slot = Slot(word.load(Ordering::Acquire));
            let head = self.head_at(slot, moment);
            if head.is_some() || is_still(word, slot) {
                return head.map(|head| (slot, head));
            }
        }
        None
    }

    /// The record of a slot, of whichever key; `None` of an empty slot and where the segment was used anew meanwhile.
    fn head_at(&self, slot: Slot, moment: Moment) -> Option<Head> {
        if slot.is_empty() {
            return None;
        }
        let segment = self.current_segment_of(slot, moment)?;
        let at = self.base + slot.at();
        let header = Header::read(self.memory, at, self.end_of(segment))?;
        let (mut key, mut list) = (Vec::with_capacity(header.key_len), Vec::new());
        self.memory.copy_out(at + header.len(), header.key_len, &mut key);
        let len = if header.kind & kind::NUMBER != 0 {
            let mut text = Vec::new();
            number::spell(Number::of(header.number).value(), &mut text);
            text.len()
        } else if header.kind & kind::CHUNKED != 0 && header.value_len == LIST {
            self.memory.copy_out(at + header.len() + header.key_len, LIST, &mut list);
            list[8..].first_chunk().map_or(0, |len| size(u64::from_ne_bytes(*len)))
        } else {
            header.value_len
        };
        // No value is as long as the region.
        if len > self.memory.len() {
            return None;
        }
        let space = header.space(self.memory, at);
        let version = header.whole_version(|| self.version_of(segment, slot));
        let is_kept = header.version.is_some() && self.is_in_main(segment);
        // The reads above must not move behind the second look at the segment.
        fence(Ordering::Acquire);
        self.current_segment_of(slot, moment)?;
        let is_used = slot.uses() > 0 || is_kept;
        Some(Head { found: Found { header, version }, space, key, len, is_used })
    }

    /// Whether the header is as it was written for a key with this hash, and the entry has not expired.
    fn is_readable(&self, hash: u64, head: &Head, moment: Moment) -> bool {
        let header = &head.found.header;
        (!self.places.is_checked || self.places.is_sealed(header, hash, head.space))
            && !header.has_expired(|| moment.now())
    }
}

impl Head {
    fn facts(&self, moment: Moment) -> Facts {
        Facts { entry: Entry::of(&self.found, moment), len: self.len, is_used: self.is_used }
    }
}
