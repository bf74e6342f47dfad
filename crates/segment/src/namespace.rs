//! Namespaces: several applications with keys of their own in one region.
//!
//! A table in the superblock's page has their names. A key is one of the namespace whose number stands in its record, and of
//! that number's generation: clearing a namespace adds one to it, and what was stored before is as if it had expired. The
//! hash of a key has the number in it and not the generation, so that the counter of its changes outlives a clear.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rapidhash::v3::rapidhash_v3;

use crate::cache::Cache;
use crate::layout::SUPERBLOCK;
use crate::memory::{Memory, size};
use crate::record::kind;
use crate::session::{PATIENCE, lock_within};
use crate::tally::Count;
use crate::upkeep::{CLEARED_BEFORE, PURGED};
use crate::{Refused, Session};

/// Where the table begins: `generation, seal, name` for each, the rest of the superblock's page.
const TABLE: usize = 1024;
const ENTRY: usize = 64;
const SEAL: usize = 8;
const NAME: usize = 16;

/// The longest name of a namespace, in bytes.
pub const LONGEST_NAMESPACE: usize = ENTRY - NAME;

/// How many namespaces a region has at most.
pub const MOST_NAMESPACES: usize = (SUPERBLOCK - TABLE) / ENTRY;

/// Which keys a key may be the same as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Space {
    /// [`kind::CHUNK`], [`kind::NAMED`], or neither.
    pub(crate) kind: u8,
    /// Of a namespace: `generation 56 | number 8`.
    pub(crate) word: u64,
}

impl Space {
    /// Keys of no namespace.
    pub(crate) const ROOT: Self = Self { kind: 0, word: 0 };
    /// Chunks of values that were cut.
    pub(crate) const CHUNKS: Self = Self { kind: kind::CHUNK, word: 0 };

    /// A namespace as it is now.
    #[inline]
    pub(crate) fn now(memory: &Memory, number: u8) -> Self {
        let generation = memory.word(entry_at(number)).load(Ordering::Acquire);
        Self { kind: kind::NAMED, word: generation << 8 | u64::from(number) }
    }

    /// The number by which the check of a record is changed.
    #[inline]
    pub(crate) fn sum(self) -> u64 {
        self.word.wrapping_mul(0xff51_afd7_ed55_8ccd)
    }

    /// Whether both are the same, of whatever generation.
    #[inline]
    pub(crate) fn is_of(self, other: Self) -> bool {
        self.kind == other.kind && self.number() == other.number()
    }

    #[inline]
    fn number(self) -> u8 {
        let [number, ..] = self.word.to_le_bytes();
        number
    }

    /// The number by which the hash of a key's bytes is changed, so that one key is in other places in each namespace.
    #[inline]
    pub(crate) fn mix(self) -> u64 {
        if self.kind & kind::NAMED == 0 {
            return 0;
        }
        (u64::from(self.number()) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// Whether its namespace was cleared since, or is none that there can be.
    pub(crate) fn was_cleared(self, memory: &Memory) -> bool {
        let is_one = || usize::from(self.number()) < MOST_NAMESPACES;
        self.kind & kind::NAMED != 0 && !(is_one() && Self::now(memory, self.number()) == self)
    }
}

/// A namespace of a [`Cache`]: keys of its own.
#[derive(Debug, Clone)]
pub struct Namespace {
    cache: Arc<Cache>,
    number: u8,
}

impl Namespace {
    /// A handle for one thread, which finds and changes only keys of this namespace.
    pub fn session(&self) -> Session {
        self.cache.session_of(Some(self.number))
    }

    /// Takes every entry of this namespace away at once, and no other. Their bytes are counted until room is asked for, or
    /// their keys are stored again.
    pub fn clear(&self) {
        clear(&self.cache, self.number);
    }
}

impl Cache {
    /// The namespace of this name, which all who ask for it share. There are [`MOST_NAMESPACES`] at most in a region, and
    /// none is ever given back.
    pub fn namespace(self: &Arc<Self>, name: &str) -> Result<Namespace, Refused> {
        self.namespace_within(name, PATIENCE)
    }

    /// [`namespace`](Self::namespace), where a name that is new waits so long for the lock that it needs.
    pub fn namespace_within(
        self: &Arc<Self>,
        name: &str,
        patience: Duration,
    ) -> Result<Namespace, Refused> {
        if !(1..=LONGEST_NAMESPACE).contains(&name.len()) {
            return Err(Refused::Namespace { len: name.len(), most: LONGEST_NAMESPACE });
        }
        let (memory, name) = (self.memory(), name.as_bytes());
        let there = number_of(memory, name);
        let number = there.map_or_else(|| self.claim(name, patience), Ok)?;
        Ok(Namespace { cache: Arc::clone(self), number })
    }

    /// The namespace of this name, if anybody has asked for it before.
    pub fn existing_namespace(self: &Arc<Self>, name: &str) -> Option<Namespace> {
        let number = number_of(self.memory(), name.as_bytes())?;
        Some(Namespace { cache: Arc::clone(self), number })
    }

    /// Gives a name the first number that has none. The name is there before the seal says so: who is killed before has
    /// changed nothing that anybody looks at. What may lie under the number is of an older generation.
    fn claim(&self, name: &[u8], patience: Duration) -> Result<u8, Refused> {
        let memory = self.memory();
        let held = lock_within(self, self.partition(0), patience);
        let _held = held.map_err(|_| Refused::Busy)?;
        if let Some(number) = number_of(memory, name) {
            return Ok(number);
        }
        let is_free = |number: &u8| memory.load(entry_at(*number) + SEAL) == 0;
        let full = Refused::Namespaces { most: MOST_NAMESPACES };
        let number = numbers().find(is_free).ok_or(full)?;
        let at = entry_at(number);
        memory.copy_in(at + NAME, name);
        renew(memory, number);
        memory.word(at + SEAL).store(seal(number, name), Ordering::Release);
        Ok(number)
    }
}

/// Adds one to a generation.
fn renew(memory: &Memory, number: u8) {
    memory.word(entry_at(number)).fetch_add(1, Ordering::SeqCst);
}

/// Takes the entries of a namespace away. Each partition notes which segments may hold some of them, so that their records are
/// taken away before others are evicted. The note is a hint, and so no lock is taken for it.
pub(crate) fn clear(cache: &Cache, number: u8) {
    renew(cache.memory(), number);
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
pub(crate) fn table() -> impl Iterator<Item = (u8, usize)> {
    numbers().map(|number| (number, entry_at(number)))
}

/// The name that the words of an entry have, and its generation; `None` where it is free or damaged.
pub(crate) fn named(number: u8, words: &Words) -> Option<(String, u64)> {
    let bytes = words.map(u64::to_ne_bytes).concat();
    let sealed = words[SEAL / 8];
    let name = bytes.get(NAME..NAME + size(sealed & 0xff))?;
    let name = String::from_utf8(name.to_vec()).ok()?;
    (sealed == seal(number, name.as_bytes())).then_some((name, words[0]))
}

fn entry_at(number: u8) -> usize {
    TABLE + usize::from(number) * ENTRY
}

fn numbers() -> impl Iterator<Item = u8> {
    (0..).take(MOST_NAMESPACES)
}

/// The number that has a name. An entry that is damaged has none, and is not given to others either.
fn number_of(memory: &Memory, name: &[u8]) -> Option<u8> {
    let has = |number: &u8| {
        let at = entry_at(*number);
        memory.word(at + SEAL).load(Ordering::Acquire) == seal(*number, name)
            && memory.is(at + NAME, name)
    };
    numbers().find(has)
}

/// The mark of an entry that is taken, and whose name is whole; never 0.
fn seal(number: u8, name: &[u8]) -> u64 {
    let bytes = [&[number], name].concat();
    rapidhash_v3(&bytes) << 8 | name.len() as u64
}
