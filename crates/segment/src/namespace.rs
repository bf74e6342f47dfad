//! Namespaces: several applications with keys of their own in one region.
//!
//! A table behind the superblock has their names. A name lies in one of two windows of the table, which its hash chooses. A
//! record has the number of its key's namespace, and that number's generation. Clearing a namespace adds one to the
//! generation, and what was stored before is as if it had expired. The hash of a key has the number in it and not the
//! generation, so that the counter of its changes outlives a clear.
//!
//! A removed namespace gives its number back. The upper half of the generation's word counts how often the number was given
//! and taken back. A session remembers that count: one load tells it the generation, and whether the namespace is still its own.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rapidhash::v3::rapidhash_v3;

use crate::cache::Cache;
use crate::layout::{Geometry, SUPERBLOCK};
use crate::lock::Held;
use crate::memory::{Memory, size};
use crate::partition::Partition;
use crate::record::kind;
use crate::session::{PATIENCE, lock_within};
use crate::tally::Count;
use crate::upkeep::{CLEARED_BEFORE, PURGED};
use crate::{Refused, Session};

/// An entry of the table: a word `lives 32 | clears 32`, the seal, and the name.
pub(crate) const ENTRY: usize = 64;
const SEAL: usize = 8;
const NAME: usize = 16;

/// The longest name of a namespace, in bytes.
pub const LONGEST_NAMESPACE: usize = ENTRY - NAME;

/// The most namespaces that any region can have: a record has two bytes for the number, and one of these is nobody's.
pub const MOST_NAMESPACES: usize = 0xffff;

/// A window has so many entries, so that not all of a long table are looked at. A new name takes the emptier one of its two:
/// four fifths of a long table are taken before a name finds no place.
const WINDOW: usize = 32;

/// The key space of a key. Equal keys of two spaces are different keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Space {
    /// [`kind::CHUNK`], [`kind::NAMED`], or neither.
    pub(crate) kind: u8,
    /// Of a namespace: `lives 16 | clears 32 | number 16`.
    pub(crate) word: u64,
}

impl Space {
    /// Keys without a namespace.
    pub(crate) const ROOT: Self = Self { kind: 0, word: 0 };
    /// Chunks of values that were cut.
    pub(crate) const CHUNKS: Self = Self { kind: kind::CHUNK, word: 0 };

    /// Keys of a namespace that was removed: no record has this number.
    pub(crate) const REMOVED: Self = Self { kind: kind::NAMED, word: MOST_NAMESPACES as u64 };

    /// The namespace of a number, at this word of its entry.
    #[inline]
    fn of(word: u64, number: u16) -> Self {
        Self { kind: kind::NAMED, word: word << 16 | u64::from(number) }
    }

    /// The number that the namespace adds to the check of a record.
    #[inline]
    pub(crate) fn sum(self) -> u64 {
        self.word.wrapping_mul(0xff51_afd7_ed55_8ccd)
    }

    /// Whether both are the same space, in any generation.
    #[inline]
    pub(crate) fn is_of(self, other: Self) -> bool {
        self.kind == other.kind && self.number() == other.number()
    }

    #[inline]
    fn number(self) -> u16 {
        let [low, high, ..] = self.word.to_le_bytes();
        u16::from_le_bytes([low, high])
    }

    /// The number that changes the hash of a key's bytes, so that a key has other places in each namespace.
    #[inline]
    pub(crate) fn mix(self) -> u64 {
        if self.kind & kind::NAMED == 0 {
            return 0;
        }
        (u64::from(self.number()) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// Whether its namespace was cleared or removed since, or is none that there can be.
    pub(crate) fn was_cleared(self, partition: &Partition<'_>) -> bool {
        let is_one = || usize::from(self.number()) < partition.places.geometry.namespaces;
        let now = || partition.memory.word(entry_at(self.number())).load(Ordering::Acquire);
        let is_now = || Self::of(now(), self.number()) == self;
        self.kind & kind::NAMED != 0 && !(is_one() && is_now())
    }
}

/// The namespace of a session: its number, and which of that number's lives it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Member {
    number: u16,
    life: u64,
}

impl Member {
    /// The keys of the namespace as it is now; [`Space::REMOVED`] where it was removed.
    #[inline]
    pub(crate) fn space(self, memory: &Memory) -> Space {
        let word = memory.word(entry_at(self.number)).load(Ordering::Acquire);
        if life(word) == self.life { Space::of(word, self.number) } else { Space::REMOVED }
    }

    /// The number by which the hashes of its keys are changed.
    pub(crate) fn mix(self) -> u64 {
        Space { kind: kind::NAMED, word: u64::from(self.number) }.mix()
    }
}

/// A namespace of a [`Cache`]: keys of its own.
#[derive(Debug, Clone)]
pub struct Namespace {
    cache: Arc<Cache>,
    member: Member,
}

impl Namespace {
    /// A handle for one thread, which finds and changes only keys of this namespace.
    pub fn session(&self) -> Session {
        self.cache.session_of(Some(self.member))
    }

    /// Removes every entry of this namespace at once, and no other. Their bytes count until room is needed, or until their
    /// keys are stored again.
    pub fn clear(&self) {
        clear(&self.cache, self.member);
    }
}

impl Cache {
    /// The namespace of this name, which all who ask for it share. A region has as many as its
    /// [`Options::namespaces`](crate::Options::namespaces) say.
    pub fn namespace(self: &Arc<Self>, name: &str) -> Result<Namespace, Refused> {
        self.namespace_within(name, PATIENCE)
    }

    /// [`namespace`](Self::namespace) with a limit on the wait for the lock that a new name needs.
    pub fn namespace_within(
        self: &Arc<Self>,
        name: &str,
        patience: Duration,
    ) -> Result<Namespace, Refused> {
        if !(1..=LONGEST_NAMESPACE).contains(&name.len()) {
            return Err(Refused::Namespace { len: name.len(), most: LONGEST_NAMESPACE });
        }
        let there = self.member_of(name.as_bytes());
        let member = there.map_or_else(|| self.claim(name.as_bytes(), patience), Ok)?;
        Ok(Namespace { cache: Arc::clone(self), member })
    }

    /// The namespace with this name, if it exists already.
    pub fn existing_namespace(self: &Arc<Self>, name: &str) -> Option<Namespace> {
        let member = self.member_of(name.as_bytes())?;
        Some(Namespace { cache: Arc::clone(self), member })
    }

    /// Takes a namespace away with all of its entries, and gives its place in the table back; `false` where there is none of
    /// this name.
    ///
    /// Sessions of it find nothing from then on, and their sets fail with [`Failed::Removed`](crate::Failed::Removed). Where
    /// the name is asked for again, other sessions are needed.
    pub fn remove_namespace(self: &Arc<Self>, name: &str) -> Result<bool, Refused> {
        let _held = self.lock_table(PATIENCE)?;
        let Some(member) = self.member_of(name.as_bytes()) else { return Ok(false) };
        // A process killed in between leaves a number without a name. Sessions that were open go on until another name has it.
        self.memory().word(entry_at(member.number) + SEAL).store(0, Ordering::Release);
        begin_life(self.memory(), member.number);
        note_cleared(self);
        Ok(true)
    }

    /// Gives a name the first number that has none. The name is there before the seal says so: who is killed before has
    /// changed nothing that anybody looks at. What may lie under the number is of an older generation.
    fn claim(&self, name: &[u8], patience: Duration) -> Result<Member, Refused> {
        let memory = self.memory();
        let _held = self.lock_table(patience)?;
        if let Some(member) = self.member_of(name) {
            return Ok(member);
        }
        let is_free = |number: &u16| memory.load(entry_at(*number) + SEAL) == 0;
        let free = self.windows_of(name).map(|window| window.filter(is_free));
        let emptier = free.into_iter().max_by_key(|free| free.clone().count());
        let full = Refused::Namespaces { most: self.places.geometry.namespaces };
        let number = emptier.and_then(|mut free| free.next()).ok_or(full)?;
        let at = entry_at(number);
        memory.copy_in(at + NAME, name);
        let member = begin_life(memory, number);
        memory.word(at + SEAL).store(seal(number, name), Ordering::Release);
        Ok(member)
    }

    /// The lock under which the table is changed.
    fn lock_table(&self, patience: Duration) -> Result<Held<'_>, Refused> {
        let held = lock_within(self, self.partition(0), patience);
        held.map(|locked| locked.held).map_err(|_| Refused::Busy)
    }

    /// The numbers that a name may have, in the two windows that its hash chooses.
    fn windows_of(&self, name: &[u8]) -> [impl Iterator<Item = u16> + Clone; 2] {
        let (all, hash) = (self.places.geometry.namespaces, rapidhash_v3(name));
        // A short table is one window.
        let len = if all <= 2 * WINDOW { all } else { WINDOW };
        [hash >> 32, hash & 0xffff_ffff].map(|half| {
            let numbers = (size(half) % all..).take(len).map(move |number| number % all);
            numbers.filter_map(|number| u16::try_from(number).ok())
        })
    }

    /// The namespace of a name. An entry that is damaged has none, and is not given to others either.
    fn member_of(&self, name: &[u8]) -> Option<Member> {
        let memory = self.memory();
        self.windows_of(name).into_iter().flatten().find_map(|number| {
            let at = entry_at(number);
            // Before the seal: a word of an earlier life is that of a removed namespace, whatever the seal says by then.
            let word = memory.word(at).load(Ordering::Acquire);
            let found = memory.word(at + SEAL).load(Ordering::Acquire);
            // Of most entries the length tells that they are others'.
            let is_it = found & 0xff == name.len() as u64
                && found == seal(number, name)
                && memory.is(at + NAME, name);
            is_it.then_some(Member { number, life: life(word) })
        })
    }
}

/// Begins the next life of a number, under the lock of the table. No session and no record is of it yet.
fn begin_life(memory: &Memory, number: u16) -> Member {
    let word = memory.word(entry_at(number));
    let life = life(word.load(Ordering::Relaxed)).wrapping_add(1) & 0xffff_ffff;
    word.store(life << 32 | 1, Ordering::SeqCst);
    Member { number, life }
}

/// The life of a number at this word of its entry.
#[inline]
fn life(word: u64) -> u64 {
    word >> 32
}

/// Takes the entries of a namespace away, unless it was removed.
pub(crate) fn clear(cache: &Cache, member: Member) {
    let word = cache.memory().word(entry_at(member.number));
    let mut now = word.load(Ordering::Acquire);
    // After 2^32 clears the next life begins: sessions have to ask for the namespace again.
    while life(now) == member.life {
        let next = now.wrapping_add(1);
        match word.compare_exchange(now, next, Ordering::SeqCst, Ordering::Acquire) {
            Ok(_) => return note_cleared(cache),
            Err(other) => now = other,
        }
    }
}

/// Each partition notes which segments may hold entries from before a clear, so that their records are taken away before others
/// are evicted. The note is a hint, and so no lock is taken for it.
fn note_cleared(cache: &Cache) {
    for partition in 0..cache.places.geometry.partitions {
        let base = cache.partition(partition).base;
        let begun = cache.memory().load(Count::Begun.at(base));
        cache.memory().store(base + PURGED, 0);
        cache.memory().store(base + CLEARED_BEFORE, begun);
    }
}

/// The words of an entry of the table.
pub(crate) type Words = [u64; ENTRY / 8];

/// Where the entries of the table are, by number.
pub(crate) fn table(geometry: &Geometry) -> impl Iterator<Item = (u16, usize)> {
    (0..=u16::MAX).take(geometry.namespaces).map(|number| (number, entry_at(number)))
}

/// The name that the words of an entry have, and how often it was cleared; `None` where it is free or damaged.
pub(crate) fn named(number: u16, words: &Words) -> Option<(String, u64)> {
    let bytes = words.map(u64::to_ne_bytes).concat();
    let sealed = words[SEAL / 8];
    let name = bytes.get(NAME..NAME + size(sealed & 0xff))?;
    let name = String::from_utf8(name.to_vec()).ok()?;
    (sealed == seal(number, name.as_bytes()))
        .then_some((name, (words[0] & 0xffff_ffff).saturating_sub(1)))
}

fn entry_at(number: u16) -> usize {
    SUPERBLOCK + usize::from(number) * ENTRY
}

/// The mark of an entry that is taken, and whose name is whole; never 0.
fn seal(number: u16, name: &[u8]) -> u64 {
    let bytes = [&number.to_le_bytes(), name].concat();
    rapidhash_v3(&bytes) << 8 | name.len() as u64
}
