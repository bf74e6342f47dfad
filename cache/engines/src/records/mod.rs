//! Entries as records of an ordered key-value database in the process: the shared part of `bdb:`, `redb:` and `fjall:`.
//!
//! These databases know neither flags nor versions nor expiry. A record is a [`Header`] with them, and the value behind
//! it. A second table, the expiry index, orders the entries with a deadline by that deadline, so that a thread removes
//! expired entries without a scan. One process has the database open, so versions are counted in its memory.
//!
//! An engine brings its [`Database`], its options and its [`Store`](larder_store::Store).

mod batch;
mod change;
mod expiry;
#[cfg(any(feature = "bdb", feature = "fjall"))]
pub(crate) mod folder;
mod session;
#[cfg(any(feature = "redb", feature = "fjall"))]
pub(crate) mod shared_sync;
#[cfg(any(feature = "redb", feature = "fjall"))]
pub(crate) mod sync;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use larder_store::counters::{Counters, Dropped};
use larder_store::{Capabilities, Clock, Error, Result, SetOptions, Stats, Waits};

use self::change::EntryTerms;
use crate::header::Header;
use crate::upkeep::{Ending, Upkeep};
pub(crate) use session::RecordSession;

/// Length of a deadline in the expiry index, before the key.
pub(crate) const DEADLINE_LEN: usize = 8;

/// The callback for each record that is found: the place of its key, its header and its value.
pub(crate) type FoundRecord<'a> = dyn FnMut(usize, Header, &[u8]) + 'a;

/// An open database with two tables: the records, and the index of their deadlines. Threads share it.
pub(crate) trait Database: fmt::Debug + Send + Sync + 'static {
    /// The scheme of the engine.
    const SCHEME: &'static str;
    /// The longest key. A key of the index is [`DEADLINE_LEN`] longer.
    const MAX_KEY_LEN: usize;
    /// The largest value, without its header.
    const MAX_VALUE_LEN: usize;
    /// A failure within a transaction.
    type Fault;
    /// A transaction that changes records.
    type Transaction<'d>: Transaction<Fault = Self::Fault>;

    /// Copies the value of a record behind the bytes of `value`, which stay, and returns the header.
    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Header>>;

    /// The header of a record, and the length of its value.
    fn look(&self, key: &[u8]) -> Result<Option<(Header, usize)>>;

    /// Looks up many keys. The default asks key by key.
    fn get_many(&self, keys: &[&[u8]], found: &mut FoundRecord<'_>) -> Result<()> {
        let mut value = Vec::new();
        for (i, key) in keys.iter().enumerate() {
            value.clear();
            if let Some(header) = self.get(key, &mut value)? {
                found(i, header, &value);
            }
        }
        Ok(())
    }

    /// Does `work` in one transaction, and returns when it is as durable as the options ask for. Where transactions can
    /// exclude each other, `work` is done again.
    fn write<T>(
        &self,
        work: impl FnMut(&mut Self::Transaction<'_>) -> Result<T, Self::Fault>,
    ) -> Result<T>;

    /// Removes all records.
    fn clear(&self) -> Result<()>;
}

/// A transaction that changes records. No other transaction changes the records that it reads.
///
/// Where a database cannot undo changes, a crash leaves those made so far. So the caller never lets a record with a
/// deadline be without its place in the index.
pub(crate) trait Transaction {
    /// A failure within a transaction.
    type Fault;

    /// The header of a record.
    fn head(&self, key: &[u8]) -> Result<Option<Header>, Self::Fault>;

    /// Replaces the bytes of `record` by a record; `false` when it is missing.
    fn get(&self, key: &[u8], record: &mut Vec<u8>) -> Result<bool, Self::Fault>;

    /// Stores a record.
    fn put(&mut self, key: &[u8], record: &[u8]) -> Result<(), Self::Fault>;

    /// Replaces the header of an existing record.
    fn put_head(&mut self, key: &[u8], header: Header) -> Result<(), Self::Fault>;

    /// Removes a record.
    fn remove(&mut self, key: &[u8]) -> Result<(), Self::Fault>;

    /// Adds a key to the index.
    fn list(&mut self, listed: &[u8]) -> Result<(), Self::Fault>;

    /// Removes a key from the index.
    fn unlist(&mut self, listed: &[u8]) -> Result<(), Self::Fault>;

    /// Replaces `listed` by the next key of the index; `false` where it was the last. A database of which the removed
    /// keys leave no trace may return the first key.
    fn next_listed(&mut self, listed: &mut Vec<u8>) -> Result<bool, Self::Fault>;
}

/// The records of a store, which sessions and upkeep share.
#[derive(Debug)]
pub(crate) struct Records<D> {
    pub(crate) database: D,
    clock: Clock,
    counters: Counters,
    dropped: Dropped,
    /// The last version that was assigned.
    version: AtomicU64,
    /// Whether any entry has had a deadline. While no entry has, a write need not read the entry that it replaces.
    has_deadlines: AtomicBool,
    /// No committed deadline in the index is earlier.
    earliest_ms: AtomicU64,
}

/// The state that the sessions of a store share; the upkeep ends with the last session.
#[derive(Debug)]
pub(crate) struct Shared<D> {
    _upkeep: Upkeep,
    pub(crate) records: Arc<Records<D>>,
}

impl<D: Database> Shared<D> {
    /// Takes an open database, and starts `upkeep` on a thread of its own.
    pub(crate) fn start(
        database: D,
        upkeep: impl FnOnce(&Records<D>, &Ending) + Send + 'static,
    ) -> Result<Arc<Self>> {
        let mut listed = vec![0; DEADLINE_LEN];
        let has_deadlines = database.write(|txn| txn.next_listed(&mut listed))?;
        let records = Arc::new(Records {
            database,
            clock: Clock::system(),
            counters: Counters::default(),
            dropped: Dropped::default(),
            version: AtomicU64::new(first_version()),
            has_deadlines: AtomicBool::new(has_deadlines),
            earliest_ms: AtomicU64::new(0),
        });
        let of_upkeep = Arc::clone(&records);
        let work = move |ending: &Ending| upkeep(&of_upkeep, ending);
        Ok(Arc::new(Self { _upkeep: Upkeep::start(D::SCHEME, work)?, records }))
    }
}

/// Versions count up from the time in nanoseconds. No version repeats, because no store changes every nanosecond.
fn first_version() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX / 2).max(1)
}

impl<D: Database> Records<D> {
    /// A version that no entry has yet.
    fn next_version(&self) -> u64 {
        self.version.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// What an entry that is stored with these options has beside its value.
    fn terms(&self, options: &SetOptions) -> EntryTerms {
        EntryTerms { deadline_ms: self.deadline_ms(options.ttl), flags: options.flags }
    }

    /// When an entry with this TTL expires; 0 is never.
    fn deadline_ms(&self, ttl: Option<Duration>) -> u64 {
        match ttl {
            None => 0,
            // Long past, even if the clock is set back.
            Some(Duration::ZERO) => 1,
            Some(ttl) => self.clock.deadline_ms(ttl),
        }
    }

    /// Whether an entry has not expired.
    fn is_live(&self, header: Header) -> bool {
        header.meta(|| self.clock.now_ms()).is_some()
    }

    /// The counters of the sessions and of the upkeep. The engine knows the bytes.
    pub(crate) fn stats(&self) -> Stats {
        let mut stats = self.counters.stats();
        self.dropped.write_to(&mut stats);
        stats.evictions = Some(0);
        stats
    }
}

/// What these stores can do; `reads_many` says whether many keys are looked up at once.
pub(crate) fn capabilities<D: Database>(reads_many: bool) -> Capabilities {
    Capabilities {
        batch: reads_many,
        batch_write: true,
        persistent: true,
        reads_wait: Waits::Disk,
        writes_wait: Waits::Disk,
        max_key_len: Some(D::MAX_KEY_LEN),
        max_value_len: Some(D::MAX_VALUE_LEN),
        ..Capabilities::OF_RECORDS
    }
}

/// The error of a store that another one has open.
pub(crate) fn already_open(engine: &'static str, path: &Path) -> Error {
    let what = format!("{} is open already; one store at a time may open it", path.display());
    Error::Unavailable { engine, what, source: None }
}
