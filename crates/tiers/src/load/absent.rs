//! Keys for which a loader has found that there is no value.
//!
//! They have a room of their own, so that they take no entry's place. Each is remembered for a time, and only while nobody
//! has changed the key: the table keeps the right to store the key as of the moment before it was loaded.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::fence::Right;
use crate::rules::in_time;

/// The most keys that are remembered at once.
const ROOM: usize = 1 << 14;

/// The absent keys of a stack, by their hashes. The hash has a secret, so nobody can choose keys that share one.
#[derive(Debug, Default)]
pub(crate) struct Absent {
    keys: Mutex<HashMap<u64, (Instant, Vec<Right>)>>,
    /// A key has been remembered.
    any: AtomicBool,
    hasher: RandomState,
}

impl Absent {
    /// Remembers that a key is absent, as of the moment when these rights to it and to its tags were taken.
    pub(crate) fn note(&self, key: &[u8], time: Duration, rights: Vec<Right>) {
        if time.is_zero() {
            return;
        }
        let now = Instant::now();
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.len() >= ROOM {
            keys.retain(|_, (end, _)| *end > now);
        }
        if keys.len() >= ROOM {
            keys.clear();
        }
        keys.insert(self.hasher.hash_one(key), (in_time(time), rights));
        self.any.store(true, Ordering::Release);
    }

    /// Whether a key is known to be absent. The rights are taken now.
    pub(crate) fn has(&self, key: &[u8], rights: &[Right]) -> bool {
        let keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let noted = keys.get(&self.hasher.hash_one(key));
        noted.is_some_and(|(end, then)| are_same(then, rights) && *end > Instant::now())
    }

    /// Whether no key has ever been remembered: then a reader need not ask for its right.
    pub(crate) fn is_empty(&self) -> bool {
        !self.any.load(Ordering::Acquire)
    }
}

/// Whether nobody has written the key or ended one of its tags between the moments when these rights were taken.
fn are_same(then: &[Right], now: &[Right]) -> bool {
    then.len() == now.len() && then.iter().zip(now).all(|(then, now)| then.is_same(*now))
}
