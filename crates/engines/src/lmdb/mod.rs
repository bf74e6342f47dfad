//! `lmdb:`: entries in an LMDB file, shared by the processes of a host.
//!
//! LMDB is a B+ tree in a memory map, written copy-on-write: readers take no lock and copy nothing but the value,
//! one writer at a time works on pages that nobody reads, and a process that is killed leaves the last whole
//! state behind. It knows neither expiry nor a limit of bytes; both are made here, out of what LMDB is good at:
//!
//! - Each entry's record begins with its deadline, version and flags. A second tree orders the entries that have
//!   a deadline by it, so that writers give expired ones back without a scan.
//! - Reads must not write, so there is no order of use. When there is no room, a hand that sweeps the keys looks
//!   at the next five entries and drops the one that was written longest ago: sampling, as Redis does it, with
//!   neighbours for random keys, because neighbours share a page.
//! - A third tree has the keys of each tag, for those that have one.
//!
//! Processes queue to write at a lock of a file, because LMDB's own can leave the living asleep when one that waits
//! is killed; see [`environment`].

mod config;
mod databases;
mod environment;
mod groups;
mod record;
mod session;
mod store;
mod usage;
mod writer;

use larder_store::{Engine, Medium};

/// The scheme, and the name in messages.
const SCHEME: &str = "lmdb";

/// The engine `lmdb:`.
pub(crate) const ENGINE: Engine = Engine {
    scheme: SCHEME,
    aliases: &[],
    summary: "LMDB, a memory-mapped B+ tree: a folder that the processes of a host share",
    example: "lmdb:/var/lib/cache?size=4g&sync=off",
    medium: Medium::Files,
    capacity_option: Some("size"),
    recipes: &[],
    options: || schemars::schema_for!(config::LmdbConfig),
    open: store::open,
};
