//! `lmdb:`: entries in an LMDB file, shared by the processes of a host.
//!
//! LMDB is a B+ tree in a memory map, written copy-on-write. Readers take no lock and copy only the value, and one
//! writer at a time works on pages that no reader uses. A killed process leaves the last whole state behind. LMDB knows
//! neither expiry nor a limit of bytes, so this engine adds both:
//!
//! - Each entry's record begins with its deadline, version and flags. A second tree orders the entries with a
//!   deadline by that deadline, so that writers, and a thread while nobody writes, remove expired entries without a scan.
//! - When there is no room, a hand that sweeps the keys looks at the next five entries and drops the oldest write among those
//!   that were not read since the hand came by last (`recently_read.rs`). This is sampling, as Redis does it, with neighbours for random
//!   keys, because neighbours share a page.
//! - A third tree has the keys of each tag.
//!
//! Unsynced writes change the pages in the map, where the file system allows it; see [`space`]. Synced writes, which are ordered
//! by calls of the system, do not.
//!
//! Processes queue for writes at a file lock, because LMDB's own lock can leave live processes asleep when a waiting
//! process is killed; see [`folder_lock`].

mod batch;
mod change;
mod checkpoint;
mod class;
mod compact;
mod config;
mod copying;
mod databases;
mod environment;
mod eviction;
mod expiry;
mod folder_lock;
mod gate;
mod group_commit;
mod groups;
mod map;
mod message;
mod metadata;
mod opening;
mod recently_read;
mod record;
mod session;
mod space;
mod store;
mod truncations;
mod usage;
#[cfg(test)]
mod week;
mod writer;

use larder_store::{Engine, Medium};

/// The scheme, and the name in messages.
const SCHEME: &str = "lmdb";

/// The engine `lmdb:`.
pub(crate) const ENGINE: Engine = Engine {
    scheme: SCHEME,
    aliases: &[],
    summary: "LMDB, a memory-mapped B+ tree: a folder that the processes of a host share",
    example: "lmdb:/var/lib/cache?size=4g&sync=group",
    medium: Medium::Files,
    capacity_option: Some("size"),
    connections_option: None,
    recipes: &[],
    options: || schemars::schema_for!(config::LmdbConfig),
    open: store::open,
};
