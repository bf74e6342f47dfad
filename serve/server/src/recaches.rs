//! Entries that one client is about to load again before they expire.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use larder_protocol::meta::get::Claim;

/// Partitions, so that threads seldom wait for each other.
const N_PARTITIONS: usize = 16;

/// The most keys of a partition. At this number the expired ones are dropped, or if there are none, all.
const MAX_KEYS: usize = 10_000 / N_PARTITIONS;

/// The longest time for which one client alone loads an entry.
const MAX_CLAIM: Duration = Duration::from_secs(30);

type Keys = HashMap<Box<[u8]>, Instant>;

/// The keys that a client is loading, and the time until which no other client gets the claim.
#[derive(Debug, Default)]
pub(crate) struct Recaches {
    keys: [Mutex<Keys>; N_PARTITIONS],
    hasher: RandomState,
    /// Whether a client ever asked for a claim. Until then this costs nothing.
    is_used: AtomicBool,
}

impl Recaches {
    /// Claims an entry with this remaining TTL: only the first client gets [`Claim::Won`].
    pub(crate) fn claim(&self, key: &[u8], left: Duration) -> Claim {
        self.is_used.store(true, Ordering::Relaxed);
        let now = Instant::now();
        let mut keys = self.partition(key);
        if keys.get(key).is_some_and(|until| *until > now) {
            return Claim::Sent;
        }
        if keys.len() >= MAX_KEYS {
            keys.retain(|_, until| *until > now);
        }
        if keys.len() >= MAX_KEYS {
            keys.clear();
        }
        keys.insert(key.into(), now + left.min(MAX_CLAIM));
        Claim::Won
    }

    /// Whether a client has claimed the entry of this key.
    pub(crate) fn is_claimed(&self, key: &[u8]) -> bool {
        self.is_used.load(Ordering::Relaxed) && {
            self.partition(key).get(key).is_some_and(|until| *until > Instant::now())
        }
    }

    /// Forgets all keys.
    pub(crate) fn forget_all(&self) {
        if self.is_used.load(Ordering::Relaxed) {
            self.keys.iter().for_each(|part| locked(part).clear());
        }
    }

    /// Forgets a key that was stored.
    pub(crate) fn forget(&self, key: &[u8]) {
        if self.is_used.load(Ordering::Relaxed) {
            self.partition(key).remove(key);
        }
    }

    fn partition(&self, key: &[u8]) -> MutexGuard<'_, Keys> {
        let hash = usize::try_from(self.hasher.hash_one(key) % N_PARTITIONS as u64).unwrap_or(0);
        locked(&self.keys[hash])
    }
}

fn locked(part: &Mutex<Keys>) -> MutexGuard<'_, Keys> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_client_is_told_until_the_key_is_stored() {
        let recaches = Recaches::default();
        let claim = || recaches.claim(b"k", Duration::from_mins(1));
        assert_eq!([claim(), claim()], [Claim::Won, Claim::Sent]);
        recaches.forget(b"k");
        assert_eq!(claim(), Claim::Won);
    }
}
