//! Caches behind one interface: in memory, in a file that processes share, in memcached or Redis, or in a stack of these.
//!
//! [`open`] opens a cache by its URL, and threads share the [`Store`]. Each thread has a [`Session`], which does the work:
//!
//! ```
//! use std::time::Duration;
//!
//! use larder::SetOptions;
//!
//! let store = larder::open("memory:?size=64m")?;
//! let mut session = store.session()?;
//! let options = SetOptions { ttl: Some(Duration::from_mins(5)), ..SetOptions::default() };
//! session.set(b"user:7", b"Ada", &options)?;
//!
//! let mut value = Vec::new();
//! let hit = session.get(b"user:7", &mut value)?;
//! assert!(hit.is_some());
//! assert_eq!(value, b"Ada");
//! # Ok::<_, larder::Error>(())
//! ```
//!
//! A miss, a lost `add` and a failed compare-and-swap are values, not errors. [`Store::capabilities`] tells what a cache
//! can do; a call that it cannot do is [`Error::Unsupported`].
//!
//! # URLs
//!
//! | URL | cache |
//! |---|---|
//! | `memory:?size=64m` | memory of this process |
//! | `mmap:/run/app/cache?size=256m` | a file that the processes of a host share, without a server |
//! | `memcached://h1,h2` | a pool of memcached |
//! | `redis://h1` | a Redis or Valkey |
//! | `tiered:mmap:/run/app/cache\|memcached://h1,h2` | a stack: the file answers before memcached is asked |
//!
//! `memcached:` and `redis:` without a host start a private server for the time of the store, which is for tests. A URL
//! may also ask for layers around a store: `memcached://h1?retry=2&compress=zstd:1k` repeats lost calls, and compresses
//! values of 1 KiB and more.
//!
//! # A cache that processes share
//!
//! All processes that open one file share its entries, and any of them may be killed at any instruction:
//!
//! ```
//! use larder::SetOptions;
//!
//! # let file = std::env::temp_dir().join(format!("larder-doc-{}", std::process::id()));
//! let url = format!("mmap:{}?size=1m", file.display());
//! let (one, other) = (larder::open(&url)?, larder::open(&url)?);
//! one.session()?.set(b"key", b"value", &SetOptions::default())?;
//! let mut value = Vec::new();
//! assert!(other.session()?.get(b"key", &mut value)?.is_some());
//! # std::fs::remove_file(file).map_err(|source| larder::Error::Io { engine: "mmap", what: "removal".into(), source })?;
//! # Ok::<_, larder::Error>(())
//! ```
//!
//! # Loading
//!
//! [`open_tiers`] opens a stack as [`Tiers`], whose sessions load what is absent. Of all callers that miss a key at once, one
//! loads it:
//!
//! ```
//! use larder::{Error, LoadOptions, Loaded};
//!
//! let stack = larder::open_tiers("tiered:memory:?size=1m|memory:?size=8m")?;
//! let (mut session, mut value) = (stack.open_session()?, Vec::new());
//! session.get_or_load(b"user:7", &mut value, &LoadOptions::default(), |value| {
//!     value.extend_from_slice(b"read from the database");
//!     Ok::<_, Error>(Loaded::Value)
//! })?;
//! assert_eq!(value, b"read from the database");
//! # Ok::<_, Error>(())
//! ```
//!
//! # Fork
//!
//! In a forked child each call of a store or session that was opened before the fork is [`Error::Forked`], unless
//! [`Capabilities::forks`] is true, as for `memory:` and `mmap:`. The child opens the store again by its URL. A [`Tiers`]
//! must not be used in a child at all: its threads do not exist there.
//!
//! # Features
//!
//! Each engine is a cargo feature with the name of its scheme. By default there are `memory`, `mmap`, `memcached`, `redis` and
//! `tiered`; `embedded` has every engine without a server, and `all` has every engine. The URL of an engine that was left
//! out is an error that names its feature.

#[doc(inline)]
pub use larder_engines::ENGINES;
#[doc(inline)]
pub use larder_store::{
    Capabilities, Catalog, Channel, ChannelKind, Counted, Counter, DeleteDone, DeleteOutcome,
    Delta, Durability, End, Engine, Error, Facts, Fill, FoundEntry, Groups, Initial, LeaseDone,
    Leased, Leases, Meta, Ownership, Pipeline, Put, Reach, Remaining, Result, Session, SetDone,
    SetMode, SetOptions, SetOutcome, Stats, Store, StoreInfo, StoreUrl, TierStats, Token, Waits,
    hear_of_troubles,
};
#[doc(inline)]
pub use larder_tiers::{
    Answer, Answered, Cap, Config, Found, Give, LoadOptions, Loaded, LoaderOfMany, Lookup, OnError,
    OnWriteError, Origin, Tiers, TiersSession, WriteOrder,
};

use std::sync::Arc;

/// Opens a cache, or a stack of caches, by its URL.
///
/// ```
/// # use larder::SetOptions;
/// let stack = larder::open("tiered:memory:?size=1m|memory:?size=8m")?;
/// let mut session = stack.session()?;
/// session.set(b"key", b"value", &SetOptions::default())?;
/// assert_eq!(session.get(b"key", &mut Vec::new())?.map(|meta| meta.flags), Some(0));
/// # Ok::<_, larder::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::UnknownScheme`], [`Error::InvalidUrl`] and [`Error::InvalidOptions`] for a URL that must be written differently:
///
/// ```
/// let error = larder::open("memcache:").unwrap_err();
/// assert_eq!(error.to_string(), "unknown engine `memcache:`; write `memcached:`");
/// ```
///
/// [`Error::Unavailable`] where the cache is not there, or this build does not have the engine.
pub fn open(url: &str) -> Result<Arc<dyn Store>> {
    ENGINES.open(&StoreUrl::parse(url)?)
}

/// Opens the stack of a `tiered:` URL, with all that a stack can do: loads, tags, and the tier of an answer.
///
/// [`open`] opens it too, as a [`Store`] like others, which refuses calls in a forked child. For a stack of stores that are
/// open already, there is [`Tiers::new`].
///
/// # Errors
///
/// As [`open`]; [`Error::InvalidUrl`] for a URL that is no stack.
pub fn open_tiers(url: &str) -> Result<Tiers> {
    Tiers::open(&StoreUrl::parse(url)?, &ENGINES)
}

/// Tests the examples of the page for users.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct Page;
