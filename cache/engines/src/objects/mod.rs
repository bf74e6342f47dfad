//! The shared part of caches that keep each entry as an object on the heap of the process: all but the cache itself.
//!
//! Such a cache is a concurrent map from keys to values that can be shared. Everything else that a session promises is
//! made here: conditions, versions, counting, and TTLs. These caches promise nothing about a read and a write of one key
//! together, so writers of one key take turns.

mod session;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use larder_store::counters::Counters;
use larder_store::{ByteSize, Capabilities, Error, Reach, Result, Waits};

pub(crate) use session::ObjectSession;

/// A cache of this kind.
pub(crate) trait Objects: fmt::Debug + Send + Sync + 'static {
    /// The scheme of the engine, and its name in messages.
    const SCHEME: &'static str;

    /// The entry under a key, if its deadline has not passed.
    fn get(&self, key: &[u8]) -> Option<Entry>;

    /// Stores an entry that is no longer than [`max_value_len`](Self::max_value_len).
    fn insert(&self, key: Box<[u8]>, entry: Entry);

    /// Removes an entry, and returns it; its deadline may have passed.
    fn remove(&self, key: &[u8]) -> Option<Entry>;

    /// Removes all entries at once, instead of during later writes.
    fn clear(&self);

    /// The longest value that every key may have.
    fn max_value_len(&self) -> usize;
}

/// The smallest accepted `size` of such a cache.
const MIN_SIZE: u64 = 4096;

/// Refuses a `size` in which no entry has room.
pub(crate) fn check_size(engine: &'static str, size: ByteSize) -> Result<()> {
    if size.0 < MIN_SIZE {
        let least = ByteSize(MIN_SIZE);
        return Err(Error::SizeTooSmall { engine, option: "size", size, least });
    }
    Ok(())
}

/// One entry; a copy of it shares the value.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) value: Arc<[u8]>,
    pub(crate) flags: u32,
    pub(crate) version: u64,
    pub(crate) deadline: Option<Instant>,
}

impl Entry {
    /// The bytes of the entry with its key, and those that the cache keeps beside them.
    pub(crate) fn bytes(&self, key: &[u8], overhead: usize) -> usize {
        key.len().saturating_add(self.value.len()).saturating_add(overhead)
    }
}

/// The number of keys that can be written at once. A power of two, several times the threads of a
/// large machine.
const N_STRIPES: usize = 256;

/// The state that a store and its sessions share.
#[derive(Debug)]
pub(crate) struct Shared<O> {
    pub(crate) objects: O,
    pub(crate) counters: Counters,
    stripes: Box<[Mutex<u64>]>,
}

impl<O: Objects> Shared<O> {
    pub(crate) fn new(objects: O) -> Self {
        let stripes = (0..N_STRIPES).map(|_| Mutex::default()).collect();
        Self { objects, counters: Counters::default(), stripes }
    }

    /// Makes other writers of this key wait. The guard holds the last version of all keys of the stripe, so that
    /// versions of one key never repeat.
    fn lock(&self, key: &[u8]) -> MutexGuard<'_, u64> {
        let hash = rapidhash::v3::rapidhash_v3(key);
        let stripe = usize::try_from(hash % N_STRIPES as u64).unwrap_or_default();
        self.stripes[stripe].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What every such cache can do. The step of the TTLs is the cache's own.
    pub(crate) fn capabilities(&self) -> Capabilities {
        Capabilities {
            stores: true,
            ttl: true,
            ttl_restarts: 0,
            ttl_left: true,
            flags: true,
            add: true,
            version: true,
            append: true,
            incr: true,
            touch: true,
            get_and_touch: true,
            clear: true,
            evicts: true,
            reads_wait: Waits::Lock,
            writes_wait: Waits::Lock,
            reach: Reach::Process,
            max_value_len: Some(self.objects.max_value_len()),
            ..Capabilities::default()
        }
    }
}
