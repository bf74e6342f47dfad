//! Recent changes of keys, with which the token of a fill is compared.
//!
//! ```text
//! how many changes 28 | tags of the last three keys 12, 12, 12
//! ```
//!
//! A partition has many such words, each for the keys of a class of hashes. A token is refused if, by the tags, one of the
//! changes since was of its own key. It is also refused after more changes than there are tags. So keys that share a word refuse
//! each other's fills only after four changes, or if their tags are alike. A token does not notice exactly 2^28 changes of one
//! word.

use std::sync::atomic::Ordering;

use crate::layout::{self, CHANGE_COUNTERS, WORDS};
use crate::lease_table::Leases;
use crate::locked::Locked;
use crate::memory::{AtomicU64, size};
use crate::partition::{Moment, Partition};
use crate::record::Header;
use crate::slot::Slot;
use crate::space::Space;

const TAG_BITS: u32 = 12;
const TAGS: u64 = 3;
const COUNT_SHIFT: u32 = 36;
const TAGS_MASK: u64 = (1 << COUNT_SHIFT) - 1;

/// The intent: the kind of the holder's next change and the hash of its key. For a fill also the former word of changes, and the
/// slot.
const INTENT: usize = WORDS;
const HASH: usize = WORDS + 8;
const SEEN: usize = WORDS + 16;
const SLOT: usize = WORDS + 24;
/// The tag of the key's leases.
const TAG: usize = WORDS + 32;
const STORES: u64 = 1;
const FILLS: u64 = 2;

impl<'c> Partition<'c> {
    /// The word of a key's changes.
    #[inline]
    pub(crate) fn changes_of(&self, hash: u64) -> &'c AtomicU64 {
        let number = size(hash >> 34) % CHANGE_COUNTERS;
        self.memory.word(self.base + layout::CHANGES + number * 8)
    }

    /// Makes all leases and tokens of a key void; returns its word of changes before and after.
    pub(crate) fn begin_change(&self, hash: u64, space: Space, moment: Moment) -> (u64, u64) {
        // A filler that still sees its lease has noted the word of changes before, and so it sees the note below.
        self.end_leases(hash, space, moment);
        self.note_change(hash)
    }

    /// Notes that a key was changed; returns the word before and after.
    pub(crate) fn note_change(&self, hash: u64) -> (u64, u64) {
        let word = self.changes_of(hash);
        let mut is = word.load(Ordering::Relaxed);
        loop {
            let count = (is >> COUNT_SHIFT).wrapping_add(1) << COUNT_SHIFT;
            let becomes = count | (is << TAG_BITS | tag_of(hash)) & TAGS_MASK;
            match word.compare_exchange(is, becomes, Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => return (is, becomes),
                Err(now) => is = now,
            }
        }
    }
}

/// Whether a key may have been changed between two states of its word.
pub(crate) fn is_changed(then: u64, now: u64, hash: u64) -> bool {
    let changes = now.wrapping_sub(then & !TAGS_MASK) >> COUNT_SHIFT;
    let tag = |change: u64| now >> (u64::from(TAG_BITS) * change) & ((1 << TAG_BITS) - 1);
    changes > TAGS || (0..changes).any(|change| tag(change) == tag_of(hash))
}

/// The intents of a holder of the lock. A process that takes the lock over from a killed holder finishes the holder's
/// intent.
impl Locked<'_> {
    /// From here on a crash refuses all older tokens of the key, and ends its leases.
    pub(crate) fn intend_to_store(&self, hash: u64, leases: Option<Leases<'_>>) {
        let (memory, base) = (self.partition.memory, self.partition.base);
        memory.store(base + HASH, hash);
        memory.store(base + TAG, leases.map_or(0, |leases| leases.tag()));
        self.intend(STORES);
    }

    /// A crash also removes the filled value, if the word of changes has changed since.
    pub(crate) fn intend_to_fill(&self, seen: u64, slot: Slot) {
        self.partition.memory.store(self.partition.base + SEEN, seen);
        self.partition.memory.store(self.partition.base + SLOT, slot.0);
        self.intend(FILLS);
    }

    /// The change is complete.
    pub(crate) fn intend_nothing(&self) {
        self.intend(0);
    }

    fn intend(&self, intent: u64) {
        self.partition.memory.word(self.partition.base + INTENT).store(intent, Ordering::Release);
    }

    /// Finishes the intent of a killed holder. Nothing that it contains is trusted.
    pub(crate) fn finish_intent(&self) {
        let (memory, base) = (self.partition.memory, self.partition.base);
        let intent = memory.word(base + INTENT).load(Ordering::Acquire);
        if intent == 0 {
            return;
        }
        let hash = memory.load(base + HASH);
        if self.partition.has_given_leases() {
            Leases::noted(&self.partition, hash, memory.load(base + TAG)).end();
        }
        let changes = self.partition.changes_of(hash);
        let now = changes.fetch_add((TAGS + 1) << COUNT_SHIFT, Ordering::SeqCst);
        if intent == FILLS && now != memory.load(base + SEEN) {
            self.take_back(hash, Slot(memory.load(base + SLOT)));
        }
        self.intend_nothing();
    }

    /// Removes a slot that was filled, unless it has changed since.
    pub(crate) fn take_back(&self, hash: u64, slot: Slot) {
        let found = self.partition.candidates(hash).find(|(_, there)| there.is_of(slot));
        let Some((word, _)) = found else { return };
        word.store(Slot::EMPTY.0, Ordering::Release);
        let segment = self.partition.current_segment_of(slot, self.moment);
        let Some(segment) = segment else { return };
        let (at, end) = (self.partition.base + slot.at(), self.partition.end_of(segment));
        if let Some(header) = Header::read(self.partition.memory, at, end) {
            self.count_dead(segment, &header);
        }
    }
}

/// The tag of a key, of all bits of its hash.
#[inline]
fn tag_of(hash: u64) -> u64 {
    hash.wrapping_mul(0xd6e8_feb8_6659_fd93) >> (u64::BITS - TAG_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cache, Condition, Options, Outcome, Session, Set};

    fn fill(session: &mut Session, key: &[u8], token: crate::Token) -> bool {
        let set = Set { condition: Condition::Unchanged(token), ..Set::default() };
        matches!(session.set(key, b"filled", &set), Ok(Outcome::Stored(_)))
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes an interpreter minutes")]
    fn hundreds_of_loads_in_flight_do_not_refuse_each_other() {
        let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
        let mut session = cache.session();
        for round in 0..20_u64 {
            let keys = (0..256).map(|key| (round << 32 | key).to_ne_bytes());
            let tokens: Vec<_> = keys.map(|key| (key, session.token(&key))).collect();
            for (key, token) in tokens {
                fill(&mut session, &key, token);
            }
        }
        let refused = cache.stats().refused_fills;
        assert!(refused < 20 * 256 / 100, "{refused} of {}", 20 * 256);
    }

    #[test]
    fn a_change_of_the_key_itself_refuses_however_many_there_are() {
        let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
        let mut session = cache.session();
        let changes: [fn(&mut Session, &[u8]); 3] = [
            |session, key| _ = session.delete(key),
            |session, key| _ = session.set(key, b"other", &Set::default()),
            |session, key| {
                session.set(key, b"1", &Set::default()).unwrap();
                session.incr(key, crate::Delta::Up(1), None).unwrap();
            },
        ];
        for key in 0..if cfg!(miri) { 2 } else { 200_u64 } {
            let key = &key.to_ne_bytes();
            for change in changes {
                for times in 1..9 {
                    let token = session.token(key);
                    (0..times).for_each(|_| change(&mut session, key));
                    assert!(!fill(&mut session, key, token), "{times} changes");
                }
            }
            let token = session.token(key);
            assert!(fill(&mut session, key, token));
        }
    }

    #[test]
    fn who_takes_over_finishes_what_a_killed_filler_began() {
        let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
        let (mut session, hash) = (cache.session(), cache.places.hash(b"key"));
        for (deleted, fills) in [(false, true), (true, true), (true, false)] {
            let older = session.token(b"key");
            let crate::api::Fence::Changes(seen) = older.of else { panic!("{older:?}") };
            session.set(b"key", b"value", &Set::default()).unwrap();
            let locked = session.lock(hash).unwrap();
            let present = locked.find(hash, b"key", crate::space::Space::ROOT).unwrap();
            let now = locked.partition.changes_of(hash).load(Ordering::SeqCst);
            let seen = if deleted { seen } else { now };
            locked.intend_to_store(hash, None);
            if fills {
                locked.intend_to_fill(seen, present.slot);
            }
            locked.finish_intent();
            drop(locked);
            let is_there = session.get(b"key", &mut Vec::new()).is_some();
            assert_eq!(is_there, !(deleted && fills));
            assert!(!fill(&mut session, b"key", older), "an older token came through");
            let items = cache.stats().items;
            assert_eq!(items, u64::from(is_there));
        }
    }
}
