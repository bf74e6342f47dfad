//! The capabilities of a store, as data.

use std::time::Duration;

use serde::Serialize;

/// The capabilities of a store, and its limits. `Default` is "nothing".
///
/// A name is a verb (`incr`), a verb with its object, or `max_<noun>`. A limit of `None` means that the limit is not
/// known, not that there is no limit. Callers read these fields instead of asking for an engine by name. A difference
/// between engines that a caller would notice is a field here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not one state")]
pub struct Capabilities {
    /// Keeps the entries that are set. `false`: stores nothing, and a `get` replays the last `set` whatever the key.
    pub stores: bool,
    /// Honours [`SetOptions::ttl`](crate::SetOptions::ttl).
    pub ttl: bool,
    /// The finest step in which a TTL is honoured; a TTL is rounded up to it.
    pub ttl_resolution: Duration,
    /// How often a read can begin an entry's TTL again. Tiers that cannot ask for the time left fill the tiers above with
    /// a whole TTL. An entry that is read ends after `1 + ttl_restarts` TTLs at the latest.
    pub ttl_restarts: u32,
    /// Reports the remaining TTL on a hit.
    pub ttl_left: bool,
    /// Keeps [`SetOptions::flags`](crate::SetOptions::flags).
    pub flags: bool,
    /// `add` and `replace`.
    pub add: bool,
    /// Versions on a hit and of a write, and compare-and-swap and [`delete_if`](crate::Session::delete_if) by them.
    pub version: bool,
    /// `append` and `prepend`.
    pub append: bool,
    /// `incr`, up and down.
    pub incr: bool,
    /// `touch`.
    pub touch: bool,
    /// [`get_and_touch`](crate::Session::get_and_touch).
    pub get_and_touch: bool,
    /// A native [`get_many`](crate::Session::get_many): one request for many keys.
    pub batch: bool,
    /// A native [`set_many`](crate::Session::set_many) and [`delete_many`](crate::Session::delete_many): one commit, or
    /// one request to a node, for many entries.
    pub batch_write: bool,
    /// Reads by prefix and by tag: [`Session::groups`](crate::Session::groups).
    pub groups: bool,
    /// One loader for an absent or stale key, and stale entries: [`Session::leases`](crate::Session::leases).
    pub leases: bool,
    /// Tokens without a lease: [`Leases::token`](crate::Leases::token).
    pub tokens: bool,
    /// Requests that are sent without waiting for answers: [`Session::pipeline`](crate::Session::pipeline).
    pub pipeline: bool,
    /// Stores of the same medium with keys of their own: [`Store::namespace`](crate::Store::namespace).
    pub namespaces: bool,
    /// A forked child of the process that opened the store may go on with it. Without this, each call returns
    /// [`Error::Forked`](crate::Error::Forked) in a child, which can open the store again.
    pub forks: bool,
    /// `clear`: everything in the store, or in its own namespace of it, at once.
    pub clear: bool,
    /// Entries are still there when the store is opened again.
    pub persistent: bool,
    /// Makes room by dropping entries; without it, a full store is an error.
    pub evicts: bool,
    /// The slowest thing for which a call may wait that only reads entries: a `get`, a `get_many` or a `look`.
    pub reads_wait: Waits,
    /// The slowest thing for which any other call may wait.
    pub writes_wait: Waits,
    /// From where the same entries can be reached.
    pub reach: Reach,
    /// Longest key, in bytes.
    pub max_key_len: Option<usize>,
    /// Largest value, in bytes.
    pub max_value_len: Option<usize>,
}

impl Capabilities {
    /// A store that keeps the metadata of each entry beside its value, as a database does in a record or a row: all operations
    /// on one key, with versions and TTLs of milliseconds, and `clear`. Batches, leases and the other parts that only some
    /// stores have are the engine's to add, and so are its limits.
    pub const OF_RECORDS: Self = Self {
        stores: true,
        ttl: true,
        ttl_resolution: Duration::from_millis(1),
        ttl_restarts: 0,
        ttl_left: true,
        flags: true,
        add: true,
        version: true,
        append: true,
        incr: true,
        touch: true,
        get_and_touch: true,
        batch: false,
        batch_write: false,
        groups: false,
        leases: false,
        tokens: false,
        pipeline: false,
        namespaces: false,
        forks: false,
        clear: true,
        persistent: false,
        evicts: false,
        reads_wait: Waits::Network,
        writes_wait: Waits::Network,
        reach: Reach::Process,
        max_key_len: None,
        max_value_len: None,
    };
}

/// The slowest thing for which a call may wait. An event loop makes calls that wait for a lock, and leaves calls that wait
/// for a disk or a network to other threads. It makes calls that wait seldom too, as long as they do not wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Waits {
    /// No call waits.
    Never,
    /// For a lock, which other threads and processes hold for a moment.
    Lock,
    /// Mostly for a lock only. For a disk, where a page is missing in the system's page cache, or too many pages there are
    /// not written.
    Seldom,
    /// For a disk.
    Disk,
    /// For an answer of another process, on this host or another.
    #[default]
    Network,
}

/// From where the entries of a store can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// Only this process.
    #[default]
    Process,
    /// Every process of this host.
    Host,
    /// Every host of the network.
    Network,
}

impl Reach {
    /// The reach as results name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Host => "host",
            Self::Network => "network",
        }
    }
}
