//! The leases that clients of the meta protocol have: numbers that stand for a store's tokens in the place of a version.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use larder_store::Token;

/// The first number. No store counts its versions as far.
const FIRST: u64 = 1 << 63;

/// The most leases that are kept. At this number the expired ones are dropped, or if there are none, all. A client whose lease is
/// dropped stores without a condition.
const MAX_LEASES: usize = 10_000;

/// The leases that clients were given.
#[derive(Debug)]
pub(crate) struct ClientLeases {
    leases: Mutex<HashMap<u64, Lease>>,
    next: AtomicU64,
}

#[derive(Debug)]
struct Lease {
    key: Box<[u8]>,
    token: Token,
    ends: Instant,
}

impl Default for ClientLeases {
    fn default() -> Self {
        Self { leases: Mutex::default(), next: AtomicU64::new(FIRST) }
    }
}

impl ClientLeases {
    /// Keeps a lease for its time, and returns its number.
    pub(crate) fn add(&self, key: &[u8], token: Token, time: Duration) -> u64 {
        let now = Instant::now();
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut leases = self.leases();
        if leases.len() >= MAX_LEASES {
            leases.retain(|_, lease| lease.ends > now);
        }
        if leases.len() >= MAX_LEASES {
            leases.clear();
        }
        let ends = now.checked_add(time).unwrap_or(now);
        leases.insert(number, Lease { key: key.into(), token, ends });
        number
    }

    /// Takes the lease of this number for this key, if there is one.
    pub(crate) fn take(&self, key: &[u8], number: u64) -> Option<Token> {
        if number < FIRST {
            return None;
        }
        let mut leases = self.leases();
        let is_its = leases.get(&number).is_some_and(|lease| *lease.key == *key);
        is_its.then(|| leases.remove(&number)).flatten().map(|lease| lease.token)
    }

    fn leases(&self) -> MutexGuard<'_, HashMap<u64, Lease>> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_for_its_key_and_for_one_store() {
        let leases = ClientLeases::default();
        let token = Token::from_bytes([7; Token::LEN]);
        let number = leases.add(b"key", token, Duration::from_secs(30));
        assert_eq!(leases.take(b"other", number), None);
        assert_eq!(leases.take(b"key", 7), None);
        assert_eq!(leases.take(b"key", number), Some(token));
        assert_eq!(leases.take(b"key", number), None);
    }

    #[test]
    fn leases_that_nobody_uses_do_not_pile_up() {
        let leases = ClientLeases::default();
        let token = Token::from_bytes([7; Token::LEN]);
        for _ in 0..3 * MAX_LEASES {
            leases.add(b"key", token, Duration::ZERO);
        }
        assert!(leases.leases().len() <= MAX_LEASES);
    }
}
