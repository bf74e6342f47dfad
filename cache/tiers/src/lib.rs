//! A stack of stores, the nearest first: a cache in memory before a cache on the network.
//!
//! [`Tiers::new`] makes a stack of open stores, and [`ENGINE`] opens one by its URL: `tiered:moka:?size=64m|memcached://h1,h2`.
//! Either is a [`Store`](larder_store::Store). This crate knows no engine, and does no input or output of its own.
//!
//! ```
//! # use larder_engines::ENGINES;
//! # use larder_store::{Error, StoreUrl};
//! use larder_tiers::{Config, LoadOptions, Loaded, Tiers};
//!
//! # fn open(url: &str) -> Result<std::sync::Arc<dyn larder_store::Store>, Error> {
//! #     ENGINES.open(&StoreUrl::parse(url)?)
//! # }
//! let stack = Tiers::new(vec![open("memory:?size=1m")?, open("memory:")?], &Config::default())?;
//! let (mut session, mut value) = (stack.open_session()?, Vec::new());
//! session.get_or_load(b"user:7", &mut value, &LoadOptions::default(), |value| {
//!     value.extend_from_slice(b"read from the database");
//!     Ok::<_, Error>(Loaded::Value)
//! })?;
//! assert_eq!(value, b"read from the database");
//! # Ok::<_, Error>(())
//! ```
//!
//! Look-aside and write-through. A get asks the nearest tier first, and the answer of a lower tier is filled into the
//! tiers above it (`read/`). A write goes to the lowest tier first, which decides, and then upwards (`write/`). The
//! lowest tier is the truth: the stack keeps the promises of that tier, as far as the tiers above can keep them
//! (`capabilities.rs`). An upper tier may forget entries and may fail. But it must not answer with a value that has
//! been replaced or deleted. So a tier that could not drop a key is quarantined: it is not asked for a while (`tier.rs`).
//!
//! Within a process no value that a write has replaced or deleted comes back, whatever sessions read or write at the
//! same moment (`fill_token.rs`). If the nearest tier has tokens of its own, as `mmap:` has, that holds for all processes that
//! share it. Otherwise the L1 of one process does not see the writes of another process: `l1_ttl` bounds for how long. With
//! a channel, processes and hosts hear of each other's writes (`invalidation/`), and `l1_ttl` may be minutes. It bounds four
//! more cases, and with `l1_ttl=off` they have no bound:
//!
//! - An L1 without tokens that other processes use too, or any L1 that existed before, may hold values that have changed
//!   below meanwhile. A quarantine is known to one process only.
//! - A process that is killed between its write below and its step in an L1 that others share leaves the old value there.
//! - A server of an upper tier that is stopped and goes on later may carry out a request for which no session waits.
//! - A lower tier that failed a write may carry it out later, after its old value was filled in above.

mod buffers;
mod capabilities;
mod config;
mod engine;
mod fill_token;
mod invalidation;
mod jitter;
pub mod layer;
mod leases;
mod load;
mod loads;
mod lookup;
mod patience;
mod probes;
mod quarantine;
mod read;
mod rules;
mod session;
mod stack;
mod subscription;
mod tagged;
mod tags;
mod tier;
mod tiers;
mod tokens;
mod write;
mod write_behind;

pub use config::{Cap, Config, OnError, OnWriteError, WriteOrder};
pub use engine::ENGINE;
pub use load::{Answer, Answered, Give, LoadOptions, Loaded, LoaderOfMany, Origin};
pub use lookup::{Found, Lookup};
pub use session::TiersSession;
pub use tags::MAX_TAGS;
pub use tiers::Tiers;

/// The scheme, and the name in messages.
const SCHEME: &str = "tiered";
