//! `tiered:` — a stack of other stores, the nearest first: `tiered:moka:?size=64m|memcached://h1,h2`.
//!
//! Look-aside and write-through. A get asks the nearest tier first, and the answer of a lower tier is filled into the
//! tiers above it (`read.rs`). A write goes to the lowest tier first, which decides, and then upwards (`write.rs`). The
//! lowest tier is the truth: the stack keeps the promises of that tier, as far as the tiers above can keep them
//! (`capabilities.rs`). An upper tier may forget entries and may fail. But it must not answer with a value that should
//! be gone. So a tier that could not drop a key is not asked for a while (`tier.rs`).
//!
//! Within a process no value that a write has replaced or deleted comes back, whatever sessions read or write at the
//! same moment (`fence.rs`). If the nearest tier has tokens of its own, as `mmap:` has, that holds for all processes that
//! share it. Otherwise the L1 of one process does not see the writes of another process: `l1_ttl` bounds for how long. It
//! bounds four more cases, and with `l1_ttl=off` they have no bound:
//!
//! - An L1 without tokens that other processes use too, or any L1 that existed before, may hold values that have changed
//!   below meanwhile. Trust in a tier is known to one process only.
//! - A process that is killed between its write below and its step in an L1 that others share leaves the old value there.
//! - A server of an upper tier that is stopped and goes on later may carry out a request for which no session waits.
//! - A lower tier that failed a write may carry it out later, after its old value was filled in above.

mod capabilities;
mod config;
mod fence;
mod leases;
mod read;
mod session;
mod store;
mod tier;
mod tokens;
mod trust;
mod write;

use larder_store::{Engine, Medium};

/// The scheme, and the name in messages.
const SCHEME: &str = "tiered";

/// The engine as the catalog lists it.
pub(crate) const ENGINE: Engine = Engine {
    scheme: SCHEME,
    aliases: &[],
    summary: "A stack of other stores, the nearest first: look-aside reads, write-through",
    example: "tiered:moka:?size=64m|memcached:|?l1_ttl=10s",
    medium: Medium::Tiers,
    capacity_option: Some("room"),
    connections_option: None,
    recipes: &[],
    options: config::schema,
    open: store::open,
};
