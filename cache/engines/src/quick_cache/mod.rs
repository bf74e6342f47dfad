//! `quick_cache:` — a concurrent map in the memory of the process whose hits take no lock exclusively: Clock-PRO, which keeps
//! the entries that are asked for again apart from the others.
//!
//! The crate has no TTL. Each entry has its deadline with it, so an expired entry is a miss. A read removes it;
//! an entry that nobody reads any more keeps its room until it is evicted, as in every cache without timers.

mod config;
mod store;

use larder_store::{Engine, Medium};

/// The scheme, and the name in messages.
const SCHEME: &str = "quick_cache";

/// The engine as the catalog lists it.
pub(crate) const ENGINE: Engine = Engine {
    scheme: SCHEME,
    aliases: &[],
    summary: "The Rust cache quick_cache, in the memory of the process: Clock-PRO",
    example: "quick_cache:?size=256m",
    medium: Medium::Memory,
    capacity_option: Some("size"),
    connections_option: None,
    recipes: &[],
    options: config::schema,
    open: store::open,
};
