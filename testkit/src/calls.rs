//! Calls of a session that have to succeed.

use std::time::Duration;

use larder_store::{Session, SetOptions};

/// The value of a key; `None` for a miss.
///
/// # Panics
///
/// The session fails.
pub fn get(session: &mut dyn Session, key: &str) -> Option<Vec<u8>> {
    let mut value = Vec::new();
    session.get(key.as_bytes(), &mut value).expect("a get").map(|_| value)
}

/// Stores a value under a key, for the TTL if there is one.
///
/// # Panics
///
/// The session fails, or does not store the value.
pub fn set(session: &mut dyn Session, key: &str, value: &[u8], ttl: Option<Duration>) {
    let options = SetOptions { ttl, ..SetOptions::default() };
    let outcome = session.set(key.as_bytes(), value, &options).expect("a set");
    assert!(outcome.is_stored(), "{key}");
}
