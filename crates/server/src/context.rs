//! What a command works with.

use std::io::Write as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use larder_protocol::ttl;
use larder_store::{Capabilities, Error, Remaining, Session, Store};

use crate::counts::{Count, Counts};
use crate::recaches::Recaches;
use crate::settings::Settings;

/// What all threads of a server share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) abilities: Capabilities,
    pub(crate) settings: Settings,
    pub(crate) began: Instant,
    /// The counters of each thread.
    pub(crate) counts: Vec<Arc<Counts>>,
    pub(crate) n_connections: AtomicUsize,
    pub(crate) total_connections: AtomicU64,
    pub(crate) rejected_connections: AtomicU64,
    /// Bytes of requests and answers that connections have waiting.
    pub(crate) waiting_bytes: AtomicUsize,
    /// The entries that one client each is about to load again.
    pub(crate) recaches: Recaches,
    /// The time at which all entries are to end, as `flush_all` asks.
    pub(crate) flush_at: Mutex<Option<Instant>>,
}

impl Shared {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        abilities: Capabilities,
        settings: Settings,
        n_threads: usize,
    ) -> Self {
        Self {
            store,
            abilities,
            settings,
            began: Instant::now(),
            counts: (0..n_threads).map(|_| Arc::default()).collect(),
            n_connections: AtomicUsize::new(0),
            total_connections: AtomicU64::new(0),
            rejected_connections: AtomicU64::new(0),
            waiting_bytes: AtomicUsize::new(0),
            recaches: Recaches::default(),
            flush_at: Mutex::default(),
        }
    }

    /// A counter of all threads.
    pub(crate) fn count(&self, count: Count) -> u64 {
        self.counts.iter().map(|counts| counts.of(count)).sum()
    }

    /// Sets aside room for bytes that wait; `false` where all connections together have too many.
    pub(crate) fn hold(&self, bytes: usize) -> bool {
        let held = self.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        let fits = held + bytes <= self.settings.waiting_bytes;
        if !fits {
            self.give_back(bytes);
        }
        fits
    }

    pub(crate) fn give_back(&self, bytes: usize) {
        self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// What one thread has of its own for its conversations.
pub(crate) struct Desk {
    pub(crate) shared: Arc<Shared>,
    pub(crate) counts: Arc<Counts>,
    pub(crate) session: Box<dyn Session>,
    /// A header that is put together before its place is known.
    pub(crate) header: Vec<u8>,
    /// A value that does not go straight into an answer.
    pub(crate) value: Vec<u8>,
    /// The length of the last header behind its key: the next is likely as long.
    pub(crate) header_len: usize,
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").field("engine", &self.session.engine()).finish_non_exhaustive()
    }
}

impl Desk {
    pub(crate) fn new(shared: &Arc<Shared>, thread: usize) -> Result<Self, Error> {
        Ok(Self {
            counts: Arc::clone(&shared.counts[thread]),
            session: shared.store.session()?,
            shared: Arc::clone(shared),
            header: Vec::new(),
            value: Vec::new(),
            header_len: 0,
        })
    }

    /// Answers an operation that the store could not do, in one line.
    #[cold]
    pub(crate) fn refuse(&self, out: &mut Vec<u8>, error: &Error) {
        match error {
            Error::ValueTooLarge { .. } => {
                self.counts.add_one(Count::StoreTooLarge);
                out.extend_from_slice(b"SERVER_ERROR object too large for cache\r\n");
            }
            Error::Full { .. } => {
                self.counts.add_one(Count::StoreNoMemory);
                out.extend_from_slice(b"SERVER_ERROR out of memory storing object\r\n");
            }
            Error::NotANumber { .. } => out.extend_from_slice(
                b"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n",
            ),
            Error::KeyTooLong { .. } | Error::InvalidKey { .. } => {
                line(out, "CLIENT_ERROR", &error.to_string());
            }
            _ => line(out, "SERVER_ERROR", &error.to_string()),
        }
    }
}

/// Writes a line; an end of a line within its text would look like another answer.
fn line(out: &mut Vec<u8>, word: &str, text: &str) {
    let text = text.replace(['\r', '\n'], " ");
    // Writing to a vector cannot fail.
    let _ = write!(out, "{word} {text}\r\n");
}

/// The TTL that a request asks for.
pub(crate) fn ttl_of(exptime: i64) -> Option<Duration> {
    ttl::of_exptime(exptime, || {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs())
    })
}

/// The remaining lifetime as the meta protocol words it, rounded to whole seconds: a store's clock
/// may have gone on since the entry was stored, or may be behind.
pub(crate) fn seconds_left(ttl: Remaining) -> i64 {
    match ttl {
        Remaining::Unknown | Remaining::Forever => -1,
        Remaining::For(left) => {
            let seconds = left.as_secs() + u64::from(left.subsec_millis() >= 500);
            i64::try_from(seconds).unwrap_or(i64::MAX)
        }
    }
}
