//! Which entries one client is about to load again before they end.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use larder_protocol::meta::get::Claim;

/// Parts, so that threads seldom wait for each other.
const N_PARTS: usize = 16;

/// The most keys of a part. When they are that many, those that have ended are dropped, or else all.
const MOST: usize = 10_000 / N_PARTS;

/// The longest time for which one client alone is told to load an entry.
const LONGEST: Duration = Duration::from_secs(30);

type Keys = HashMap<Box<[u8]>, Instant>;

/// The keys that a client was told to load, and the time until which no other client is told to.
#[derive(Debug, Default)]
pub(crate) struct Recaches {
    keys: [Mutex<Keys>; N_PARTS],
    hasher: RandomState,
    /// Whether a client ever asked to be told: others then pay nothing.
    is_used: AtomicBool,
}

impl Recaches {
    /// Whether this client is the first one that is told to load an entry, which has so much time left.
    pub(crate) fn claim(&self, key: &[u8], left: Duration) -> Claim {
        self.is_used.store(true, Ordering::Relaxed);
        let now = Instant::now();
        let mut keys = self.part(key);
        if keys.get(key).is_some_and(|until| *until > now) {
            return Claim::Sent;
        }
        if keys.len() >= MOST {
            keys.retain(|_, until| *until > now);
        }
        if keys.len() >= MOST {
            keys.clear();
        }
        keys.insert(key.into(), now + left.min(LONGEST));
        Claim::Won
    }

    /// Whether a client was told to load the entry of this key.
    pub(crate) fn is_claimed(&self, key: &[u8]) -> bool {
        self.is_used.load(Ordering::Relaxed) && {
            self.part(key).get(key).is_some_and(|until| *until > Instant::now())
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
            self.part(key).remove(key);
        }
    }

    fn part(&self, key: &[u8]) -> MutexGuard<'_, Keys> {
        let hash = usize::try_from(self.hasher.hash_one(key) % N_PARTS as u64).unwrap_or(0);
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
