//! Keys for which a loader has found that there is no value.
//!
//! They have a room of their own, so that they take no entry's place. Each is remembered for a time, and only while nobody
//! has changed the key or ended one of its tags: the table keeps the right to store the key, and the stamps of the tags, as of the
//! moment before it was loaded.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::fence::Right;
use crate::rules::in_time;
use crate::tags::Stamp;

/// The most keys that are remembered at once.
const ROOM: usize = 1 << 14;

/// The absent keys of a stack, by their hashes. The hash has a secret, so nobody can choose keys that share one.
#[derive(Debug, Default)]
pub(crate) struct Absent {
    keys: Mutex<HashMap<u64, Note>>,
    /// A key has been remembered.
    any: AtomicBool,
    hasher: RandomState,
}

#[derive(Debug)]
struct Note {
    end: Instant,
    right: Right,
    stamps: Vec<Stamp>,
}

impl Absent {
    /// Remembers that a key is absent, as of the moment when this right to it and the stamps of its tags were taken.
    pub(crate) fn note(&self, key: &[u8], time: Duration, right: Right, stamps: &[Stamp]) {
        if time.is_zero() {
            return;
        }
        let now = Instant::now();
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.len() >= ROOM {
            keys.retain(|_, note| note.end > now);
        }
        if keys.len() >= ROOM {
            keys.clear();
        }
        let note = Note { end: in_time(time), right, stamps: stamps.to_vec() };
        keys.insert(self.hasher.hash_one(key), note);
        self.any.store(true, Ordering::Release);
    }

    /// The stamps of a key that is known to be absent: it is, if their counters still have these numbers. The right is taken now.
    pub(crate) fn stamps(&self, key: &[u8], right: Right) -> Option<Vec<Stamp>> {
        let keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let note = keys.get(&self.hasher.hash_one(key))?;
        let holds = note.right.is_same(right) && note.end > Instant::now();
        holds.then(|| note.stamps.clone())
    }

    /// Whether no key has ever been remembered: then a reader need not ask for its right.
    pub(crate) fn is_empty(&self) -> bool {
        !self.any.load(Ordering::Acquire)
    }
}
