//! Small stores for tests: a store that keeps every promise (`map:`), and the same store with a fault
//! (`faulty:?fault=drop&every=10`).
//!
//! A check that never fires is as bad as an unchecked figure, so a check or the contract must find each fault. The table of the
//! faults is in `faulty.rs`.

mod fault;
mod faulty;
mod leases;
mod map;
mod pipe;
mod pipeline;

use std::sync::Arc;

use larder_store::{Catalog, Engine, Medium, Result, Store, StoreUrl};
use schemars::Schema;

pub use map::MapOptions;

/// The test engines as a separate catalog.
pub const ENGINES: Catalog = Catalog::new(LIST);

/// The test engines, to be joined with other engines.
pub const LIST: &[Engine] = &[
    engine(map::SCHEME, "map:", "Keeps entries in a map", map::schema, map::open),
    engine(
        faulty::SCHEME,
        "faulty:?fault=drop&every=10",
        "Keeps entries in a map, with a fault",
        faulty::schema,
        faulty::open,
    ),
];

/// The function that opens the stores of an engine.
type Open = fn(&StoreUrl, &Catalog) -> Result<Arc<dyn Store>>;

/// A test engine.
const fn engine(
    scheme: &'static str,
    example: &'static str,
    summary: &'static str,
    options: fn() -> Schema,
    open: Open,
) -> Engine {
    Engine {
        scheme,
        aliases: &[],
        summary,
        example,
        medium: Medium::Memory,
        capacity_option: None,
        connections_option: None,
        recipes: &[],
        options,
        open,
    }
}

#[cfg(test)]
mod tests;
