//! Which entries one client is about to load again before they end.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use larder_protocol::meta::get::Claim;

/// The most keys that are kept. When they are that many, those that have ended are dropped, or else all.
const MOST: usize = 10_000;

/// The longest time for which one client alone is told to load an entry.
const LONGEST: Duration = Duration::from_secs(30);

/// The keys of which a client was told to load them, and until when nobody else is.
#[derive(Debug, Default)]
pub(crate) struct Recaches {
    keys: Mutex<HashMap<Box<[u8]>, Instant>>,
    /// Whether a client ever asked to be told: others then pay nothing.
    is_used: AtomicBool,
}

impl Recaches {
    /// Whether this client is the first one that is told to load an entry, which has so much time left.
    pub(crate) fn claim(&self, key: &[u8], left: Duration) -> Claim {
        self.is_used.store(true, Ordering::Relaxed);
        let now = Instant::now();
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
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
            let keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
            keys.get(key).is_some_and(|until| *until > Instant::now())
        }
    }

    /// Forgets all keys.
    pub(crate) fn forget_all(&self) {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Forgets a key that was stored.
    pub(crate) fn forget(&self, key: &[u8]) {
        if self.is_used.load(Ordering::Relaxed) {
            self.keys.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
        }
    }
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
