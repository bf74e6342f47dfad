//! `tiered:` — a stack of other stores, the nearest first: `tiered:moka:?size=64m|memcached://h1,h2`.
//!
//! Look-aside and write-through. A get asks from the nearest tier on, and what a tier below answers is filled into those
//! above (`read.rs`). A write goes to the lowest tier first, which decides, and then upwards (`write.rs`). The lowest tier
//! is the truth: what the stack promises is what that one promises, as far as the tiers above can keep it
//! (`capabilities.rs`). A tier above may forget what it likes and fail as it likes; what it must not do is answer with a
//! value that should have gone, so one that could not drop a key is not asked for a while (`tier.rs`).
//!
//! Within a process nothing that a write has replaced or deleted comes back, whoever reads or writes at the same moment
//! (`tokens.rs`). What one process writes, another one's L1 does not see: that is what `l1_ttl` bounds. It bounds three more
//! things, and with `l1_ttl=off` nothing does. An L1 that other processes use too, or that was there before, may hold what has
//! changed below in the meantime: trust in a tier and fill tokens are known to one process only. A server of a tier above
//! that is stopped and goes on later may carry out what it was told before and nobody waited for. So may one below that had
//! failed a write, after its old value was filled in above.

mod capabilities;
mod config;
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
    recipes: &[],
    options: config::schema,
    open: store::open,
};
