//! `redb:`: entries in a redb file, for one process at a time.
//!
//! redb is a copy-on-write B+ tree in pure Rust. Readers see a whole state and take no lock of a writer, and one writer at
//! a time makes the next state. A killed process leaves the last durable state behind. redb knows neither expiry nor a
//! limit of bytes: entries are [records](crate::records), and nothing is evicted.
//!
//! A commit that is not durable stays in the memory of the process. So with `sync=nosync` a thread makes a durable commit
//! at short intervals, and with `sync=group` writes that wait at the same time share one. After a kill, the next open reads
//! the whole file once. After a write that the disk refused, redb refuses all work until the file is opened again.

mod config;
mod database;
mod store;
mod transaction;

use larder_store::{Engine, Medium};

/// The scheme, and the name in messages.
const SCHEME: &str = "redb";

/// The engine `redb:`.
pub(crate) const ENGINE: Engine = Engine {
    scheme: SCHEME,
    aliases: &[],
    summary: "redb, a copy-on-write B+ tree in pure Rust: a file that one process has open",
    example: "redb:/var/lib/cache.redb?sync=group",
    medium: Medium::Files,
    capacity_option: None,
    connections_option: None,
    recipes: &[],
    options: || schemars::schema_for!(config::RedbConfig),
    open: store::open,
};
