//! What the threads of a server share, and what each has of its own to carry out commands.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use larder_host::listen::Address;
use larder_host::tls::Tls;
use larder_protocol::ttl;
use larder_store::{Capabilities, Error, Remaining, Session, Store};

use crate::buffer_budget::BufferBudget;
use crate::client_leases::ClientLeases;
use crate::counts::{Count, Counts};
use crate::error::Error as ServerError;
use crate::latency::{Kind, Times};
use crate::log::{Fields, Level};
use crate::recaches::Recaches;
use crate::remote::Remote;
use crate::request_class::{RequestClass, ServedClasses};
use crate::settings::Settings;
use crate::users::Users;

/// What all threads of a server share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) abilities: Capabilities,
    pub(crate) settings: Settings,
    /// The addresses at which the server listens.
    pub(crate) addresses: Vec<Address>,
    /// The users that may log in; `None` lets every client.
    pub(crate) users: Option<Users>,
    /// The encryption of the addresses that have it.
    pub(crate) tls: Option<Tls>,
    pub(crate) began: Instant,
    /// The counters of each thread.
    pub(crate) counts: Vec<Arc<Counts>>,
    pub(crate) n_connections: AtomicUsize,
    pub(crate) total_connections: AtomicU64,
    pub(crate) rejected_connections: AtomicU64,
    /// The buffer budget of each event loop.
    pub(crate) buffer_budgets: Vec<BufferBudget>,
    /// Orders to the thread that accepts connections, by which a client may end the server.
    pub(crate) remote: Remote,
    /// The event loops have ended: clients have had their last answers.
    pub(crate) has_ended: AtomicBool,
    /// The entries that one client each is loading again.
    pub(crate) recaches: Recaches,
    /// The leases of clients.
    pub(crate) client_leases: ClientLeases,
    /// The time at which all entries are to end, as `flush_all` asks.
    pub(crate) flush_at: Mutex<Option<Instant>>,
}

impl Shared {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        addresses: Vec<Address>,
        mut settings: Settings,
        remote: Remote,
    ) -> Result<Self, ServerError> {
        let abilities = store.capabilities();
        settings.item_bytes =
            settings.item_bytes.min(abilities.max_value_len.unwrap_or(usize::MAX));
        let n_event_loops = settings.threads.get();
        let n_threads = n_event_loops + settings.storage_threads.get();
        let waiting_bytes = settings.waiting_bytes_of_an_event_loop();
        let users = settings.users.as_deref().map(Users::of_file).transpose();
        let tls = settings.tls.clone().map(Tls::of_files).transpose();
        Ok(Self {
            abilities,
            store,
            users: users.map_err(ServerError::File)?,
            tls: tls.map_err(ServerError::File)?,
            addresses,
            buffer_budgets: (0..n_event_loops).map(|_| BufferBudget::new(waiting_bytes)).collect(),
            remote,
            has_ended: AtomicBool::new(false),
            settings,
            began: Instant::now(),
            counts: (0..n_threads).map(|_| Arc::default()).collect(),
            n_connections: AtomicUsize::new(0),
            total_connections: AtomicU64::new(0),
            rejected_connections: AtomicU64::new(0),
            recaches: Recaches::default(),
            client_leases: ClientLeases::default(),
            flush_at: Mutex::default(),
        })
    }

    /// Reads the files of users and certificates again. If one is wrong, its earlier contents stay.
    pub(crate) fn reload(&self) {
        let log = self.settings.log;
        let users = self.users.as_ref().map(|users| ("users", users.reload()));
        let tls = self.tls.as_ref().map(|tls| ("certificates", tls.reload()));
        for (what, done) in users.into_iter().chain(tls) {
            match done {
                Ok(()) => {
                    let message = format!("read {what} again");
                    log.say(Level::Info, "reloaded", &message, &[("what", &what)]);
                }
                Err(error) => {
                    let message = format!("kept the {what} that were read before: {error}");
                    let fields: Fields<'_> = &[("what", &what), ("error", &error)];
                    log.say(Level::Error, "not_reloaded", &message, fields);
                }
            }
        }
    }

    /// The largest class of requests that event loops answer themselves; storage threads answer the others.
    pub(crate) fn event_loop_class(&self) -> RequestClass {
        RequestClass::of(&self.abilities)
    }

    /// Whether sets of several connections that wait together are stored by one call.
    pub(crate) fn batches_sets(&self) -> bool {
        self.abilities.batch_write && !self.answers_alone()
    }

    /// Whether each request calls the store alone. A log of slow requests times each; with traces each has its span.
    #[inline]
    pub(crate) fn answers_alone(&self) -> bool {
        self.settings.slow.is_some() || self.settings.answers_alone
    }

    /// Milliseconds since the server began.
    #[inline]
    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Bytes that all connections buffer, beyond those that each may have in any case.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.buffer_budgets.iter().map(BufferBudget::bytes).sum()
    }

    /// The times of all threads, of one kind of requests or of all.
    pub(crate) fn times(&self, kind: Option<Kind>) -> Times {
        Times::of(self.counts.iter().map(|counts| &counts.latencies), kind)
    }

    /// A counter of all threads.
    pub(crate) fn count(&self, count: Count) -> u64 {
        self.counts.iter().map(|counts| counts.of(count)).sum()
    }
}

/// CAS value sent for stores without versions; a `cas` with it always fails. With 0 in its place a client's set would have no
/// condition: the binary protocol means that by 0, and libmemcached leaves a 0 out.
pub(crate) const NO_VERSION: u64 = i64::MAX.cast_unsigned();

/// The longest time of one connection at a storage thread, before its answers are sent.
const LONGEST_TURN: Duration = Duration::from_millis(5);

/// The longest buffer for a value that is kept for the next.
const KEPT_BYTES: usize = 1 << 20;

/// The state of one thread that carries out commands: its session, counters and buffers.
pub(crate) struct Context {
    pub(crate) shared: Arc<Shared>,
    pub(crate) counts: Arc<Counts>,
    pub(crate) session: Box<dyn Session>,
    /// A header that is put together before its place is known.
    pub(crate) header: Vec<u8>,
    /// A value that does not go straight into an answer.
    pub(crate) value: Vec<u8>,
    /// The classes of requests that the thread serves.
    pub(crate) served: ServedClasses,
    /// The thread is a storage thread, and may wait.
    is_storage_thread: bool,
    /// The end of this turn, at a storage thread.
    turn_ends: Option<Instant>,
    /// Whether each request is timed, and not only the first of a turn.
    pub(crate) times_all: bool,
    /// The length of the last value that was read.
    pub(crate) value_len: usize,
    /// The length of the last header behind its key: the next is likely as long.
    pub(crate) header_len: usize,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("engine", &self.session.engine()).finish_non_exhaustive()
    }
}

impl Context {
    /// The context of an event loop. `thread` is the place of its counters.
    pub(crate) fn of_event_loop(shared: &Arc<Shared>, thread: usize) -> Result<Self, Error> {
        Self::new(shared, thread, ServedClasses::of_event_loop(&shared.abilities), false)
    }

    /// The context of a storage thread. `thread` is the place of its counters.
    pub(crate) fn of_storage_thread(shared: &Arc<Shared>, thread: usize) -> Result<Self, Error> {
        Self::new(shared, thread, ServedClasses::of_storage_thread(), true)
    }

    fn new(
        shared: &Arc<Shared>,
        thread: usize,
        served: ServedClasses,
        is_storage_thread: bool,
    ) -> Result<Self, Error> {
        Ok(Self {
            counts: Arc::clone(&shared.counts[thread]),
            session: shared.store.session()?,
            shared: Arc::clone(shared),
            header: Vec::new(),
            value: Vec::new(),
            served,
            is_storage_thread,
            turn_ends: None,
            times_all: is_storage_thread || shared.settings.slow.is_some(),
            value_len: 0,
            header_len: 0,
        })
    }

    /// Begins the turn of a connection.
    #[inline]
    pub(crate) fn begin_turn(&mut self) {
        if self.is_storage_thread {
            self.turn_ends = Some(Instant::now() + LONGEST_TURN);
        }
    }

    /// Whether the answers of this turn have taken long.
    #[inline]
    pub(crate) fn turn_is_over(&self) -> bool {
        self.turn_ends.is_some_and(|end| Instant::now() >= end)
    }

    /// Leaves all requests to storage threads for a while if a turn of `n_requests` was a stall.
    #[inline]
    pub(crate) fn mark_stall(&mut self, time: Duration, n_requests: usize) {
        if self.served.is_stall(time, n_requests) {
            self.counts.add_one(Count::Stalls);
            self.served.back_off(self.shared.now_ms());
        }
    }

    /// The refusal of an operation that the store does not have.
    pub(crate) fn unsupported(&self, operation: &'static str) -> Error {
        Error::Unsupported { engine: self.session.engine(), operation }
    }

    /// Gives the buffer for a value back.
    pub(crate) fn keep_buffer(&mut self, value: Vec<u8>) {
        if value.capacity() <= KEPT_BYTES {
            self.value = value;
        }
    }

    /// Answers an operation that the store could not do, in one line.
    #[cold]
    pub(crate) fn refuse(&self, out: &mut Vec<u8>, error: &Error) {
        refuse(&self.counts, out, error);
    }
}

/// Answers an operation that the store could not do, in one line.
#[cold]
pub(crate) fn refuse(counts: &Counts, out: &mut Vec<u8>, error: &Error) {
    match error {
        Error::ValueTooLarge { .. } => {
            counts.add_one(Count::StoreTooLarge);
            out.extend_from_slice(b"SERVER_ERROR object too large for cache\r\n");
        }
        // Clients know memcached's words; the operator needs to know if it is the disk.
        Error::Full { what, .. } => {
            counts.add_one(Count::StoreNoMemory);
            line(out, "SERVER_ERROR out of memory storing object:", what);
        }
        Error::NotANumber { .. } => out
            .extend_from_slice(b"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"),
        Error::KeyTooLong { .. } | Error::InvalidKey { .. } => {
            line(out, "CLIENT_ERROR", &error.to_string());
        }
        _ => line(out, "SERVER_ERROR", &error.to_string()),
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
