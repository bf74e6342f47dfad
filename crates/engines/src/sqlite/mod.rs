//! `sqlite:`: entries as rows of an SQLite file, shared by the processes of a host.
//!
//! The file is in WAL mode: readers go on while one writer writes, and a process that is killed leaves the last
//! whole state behind. A write is one statement of those that all engines of SQL share; what a cache in a file needs beyond
//! it ([`upkeep`]: expiry, the byte limit, a short log) is looked at every so many writes.

mod config;
mod connection;
mod eviction;
mod file;
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
    recipes: &[],
    options: || schemars::schema_for!(config::SqliteConfig),
    open: store::open,
};
