//! Keys for which a loader has found that there is no value.
//!
//! They have a table of their own, so that they take no entry's place. Each is remembered for a time, and only while nobody
//! has changed the key or ended one of its tags: the table keeps the token to store the key, and the versions of the tags, as of the
//! moment before it was loaded.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::fill_token::FillToken;
use crate::rules::in_time;
use crate::tags::TagVersion;

/// The most keys that are remembered at once.
const CAPACITY: usize = 1 << 14;

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
    fill_token: FillToken,
    tag_versions: Vec<TagVersion>,
}

impl Absent {
    /// Remembers that a key is absent, as of the moment when this token of it and the versions of its tags were taken.
    pub(crate) fn note(
        &self,
        key: &[u8],
        time: Duration,
        fill_token: FillToken,
        tag_versions: &[TagVersion],
    ) {
        if time.is_zero() {
            return;
        }
        let now = Instant::now();
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.len() >= CAPACITY {
            keys.retain(|_, note| note.end > now);
        }
        if keys.len() >= CAPACITY {
            keys.clear();
        }
        let note = Note { end: in_time(time), fill_token, tag_versions: tag_versions.to_vec() };
        keys.insert(self.hasher.hash_one(key), note);
        self.any.store(true, Ordering::Release);
    }

    /// The tag versions of a key that is known to be absent: it is, if their counters still have these numbers. The token
    /// is taken now.
    pub(crate) fn tag_versions(
        &self,
        key: &[u8],
        fill_token: FillToken,
    ) -> Option<Vec<TagVersion>> {
        let keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let note = keys.get(&self.hasher.hash_one(key))?;
        let holds = note.fill_token.is_same(fill_token) && note.end > Instant::now();
        holds.then(|| note.tag_versions.clone())
    }

    /// Whether no key has ever been remembered: then a reader need not ask for its token.
    pub(crate) fn is_empty(&self) -> bool {
        !self.any.load(Ordering::Acquire)
    }
}
