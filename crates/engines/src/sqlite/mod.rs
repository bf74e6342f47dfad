//! `sqlite:`: entries as rows of an SQLite file, shared by the processes of a host.
//!
//! The file is in WAL mode: readers go on while one writer writes, and a process that is killed leaves the last
//! whole state behind. What a cache needs beyond SQL is in the schema (see [`statements`]): triggers count the bytes
//! and the versions, a partial index orders the rows that expire, and the order of row ids is the order in which
//! rows make room.

mod config;
mod connection;
mod session;
mod statements;
mod store;
mod writer;

use larder_store::{Engine, Medium};

/// The scheme, and the name in messages.
const SCHEME: &str = "sqlite";

/// The engine `sqlite:`.
pub(crate) const ENGINE: Engine = Engine {
    scheme: SCHEME,
    summary: "SQLite in WAL mode: a file that the processes of a host share",
    example: "sqlite:/var/lib/cache.db?size=4g&sync=off",
    medium: Medium::Files,
    capacity_option: Some("size"),
    recipe: None,
    options: || schemars::schema_for!(config::SqliteConfig),
    open: store::open,
};
