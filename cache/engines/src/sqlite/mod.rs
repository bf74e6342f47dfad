//! `sqlite:`: entries as rows of an SQLite file, shared by the processes of a host.
//!
//! The file is in WAL mode: readers go on while one writer writes, and a killed process leaves the last whole state
//! behind. A write is one of the statements that all SQL engines share. The other needs of a cache in a file
//! ([`upkeep`]: expiry, the byte limit, a short log) are met once in a number of writes.

mod config;
mod connection;
mod eviction;
mod file;
mod inherited;
mod store;
mod upkeep;

#[cfg(test)]
mod tests;

use larder_store::{Engine, Medium};

/// The scheme, and the name in messages.
const SCHEME: &str = "sqlite";

/// The engine `sqlite:`.
pub(crate) const ENGINE: Engine = Engine {
    scheme: SCHEME,
    aliases: &[],
    summary: "SQLite in WAL mode: a file that the processes of a host share",
    example: "sqlite:/var/lib/cache.db?size=4g&sync=off",
    medium: Medium::Files,
    capacity_option: Some("size"),
    connections_option: None,
    recipes: &[],
    options: || schemars::schema_for!(config::SqliteConfig),
    open: store::open,
};
