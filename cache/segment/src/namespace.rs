//! Namespaces: several applications with keys of their own in one region.
//!
//! A table behind the superblock has their names. A name lies in one of two windows of the table, which its hash chooses. A
//! record has the number of its key's namespace, and that number's generation. Clearing a namespace adds one to the
//! generation, and what was stored before is as if it had expired. The hash of a key has the number in it and not the
//! generation, so that the counter of its changes outlives a clear.
//!
//! A removed namespace gives its number back. The upper half of the generation's word counts how often the number was given
//! and taken back. A session remembers that count: one load gives it the generation, and whether the namespace is still its own.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rapidhash::v3::rapidhash_v3;

use crate::cache::Cache;
use crate::clearing::{clear_namespace, note_cleared};
use crate::layout::{LONGEST_NAMESPACE, NAMESPACE_NAME};
use crate::lock::LockGuard;
use crate::memory::size;
use crate::session::{PATIENCE, lock_within};
use crate::space::{Member, SEAL, begin_life, entry_at, life, seal};
use crate::{Refused, Session};

/// The entries of a window, so that a look at a long table does not read all of it. A new name takes the emptier one of its two:
/// four fifths of a long table are taken before a name finds no place.
const WINDOW: usize = 32;

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
        clear_namespace(&self.cache, self.member);
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
    /// Sessions of it find nothing afterwards, and their sets fail with [`Failed::Removed`](crate::Failed::Removed). Where
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
        memory.copy_in(at + NAMESPACE_NAME, name);
        let member = begin_life(memory, number);
        memory.word(at + SEAL).store(seal(number, name), Ordering::Release);
        Ok(member)
    }

    /// The lock under which the table is changed.
    fn lock_table(&self, patience: Duration) -> Result<LockGuard<'_>, Refused> {
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
            // The length of most entries shows that they have another name.
            let is_it = found & 0xff == name.len() as u64
                && found == seal(number, name)
                && memory.is(at + NAMESPACE_NAME, name);
            is_it.then_some(Member { number, life: life(word) })
        })
    }
}
