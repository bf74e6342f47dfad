//! `moka:` — the cache that many Rust programs use: a concurrent map in the memory of the process, with `TinyLFU`
//! admission.
//!
//! The cache is set up as a careful user would: a byte limit through the weigher, a TTL per entry, lookups that borrow
//! the key. Values are shared and not copied until they reach the caller.

mod config;
mod store;
mod weight;

use larder_store::{Engine, Medium};

/// The scheme, and the name in messages.
const SCHEME: &str = "moka";

/// The engine as the catalog lists it.
pub(crate) const ENGINE: Engine = Engine {
    scheme: SCHEME,
    aliases: &[],
    summary: "The Rust cache moka, in the memory of the process",
    example: "moka:?size=256m",
    medium: Medium::Memory,
    capacity_option: Some("size"),
    connections_option: None,
    recipes: &[],
    options: config::schema,
    open: store::open,
};
