//! `null:` — the store that keeps nothing: it measures the harness without a cache.
//!
//! A `get` returns the value of the last `set`, whatever the key: it makes the same copy as a real hit and nothing
//! else. The store accepts every operation, so that any plan runs on it; its results mean nothing.

mod config;
mod pipeline;
mod session;
mod store;

use larder_store::{Engine, Medium};

/// The scheme, and the name in messages.
const SCHEME: &str = "null";

/// The engine as the catalog lists it.
pub(crate) const ENGINE: Engine = Engine {
    scheme: SCHEME,
    aliases: &[],
    summary: "Keeps nothing: the floor under every measurement",
    example: "null:",
    medium: Medium::Nothing,
    capacity_option: None,
    connections_option: None,
    recipes: &[],
    options: config::schema,
    open: store::open,
};
