//! `fjall:`: entries in a fjall database, for one process at a time.
//!
//! fjall is a log-structured merge tree in pure Rust. A write goes to a journal and to a table in memory. Threads of fjall
//! write full tables to sorted files, and merge these. A read looks into the tables in memory, and then into the files
//! whose filters let the key through. fjall knows neither flags nor versions: entries are [records](crate::records).
//! Nothing is evicted, although fjall can drop its oldest files: its writes stall while it keeps many.
//!
//! Changes go to fjall one by one, in an order that leaves no entry without its place in the expiry index. So a
//! transaction is the time for which a session alone writes. It costs nothing beside the writes, and what it has written
//! it reads at once.

mod config;
mod database;
mod journal;
mod store;
mod transaction;

use larder_store::{Engine, Medium};

/// The scheme, and the name in messages.
const SCHEME: &str = "fjall";

/// The engine `fjall:`.
pub(crate) const ENGINE: Engine = Engine {
    scheme: SCHEME,
    aliases: &[],
    summary: "fjall, a log-structured merge tree in pure Rust: a folder that one process has open",
    example: "fjall:/var/lib/cache?sync=group",
    medium: Medium::Files,
    capacity_option: None,
    connections_option: None,
    recipes: &[],
    options: || schemars::schema_for!(config::FjallConfig),
    open: store::open,
};
