//! `file:` — one file a key, in hashed folders: the cache that needs nothing but a file system.
//!
//! ```text
//! PATH/NAMESPACE/format        marks the folder as a store, and holds the depth of its folders
//! PATH/NAMESPACE/3f/a0/91c2…   an entry; its name is a 64-bit hash of the key (`name.rs`)
//! PATH/NAMESPACE/tmp/          entries while they are written
//! PATH/NAMESPACE/lock          writers of one key lock a byte range of this file (`lock.rs`)
//! PATH/NAMESPACE/usage         with a size limit: bytes and entries, shared by all processes (`usage.rs`)
//! ```
//!
//! A file is written under a temporary name and then renamed, and never changed afterwards: a reader needs no
//! lock and sees an old entry or a new one, whole. An entry holds its key, so a hash collision is a miss, never
//! another key's value. Nothing but files of this layout is ever touched.
//!
//! An expired entry is a miss. A session removes its file when it reads the key, stores under the key, or needs the
//! room. Without a size limit, a file whose key no session reads stays until the store is cleared.

mod budget;
mod config;
mod entry;
mod folder;
mod format;
mod lock;
mod name;
mod session;
mod store;
mod sys;
#[cfg(test)]
mod tests;
mod usage;
mod walk;
mod writer;

use larder_store::{Engine, Medium};

/// The scheme, and the name in messages.
const SCHEME: &str = "file";

/// The engine as the catalog lists it.
pub(crate) const ENGINE: Engine = Engine {
    scheme: SCHEME,
    aliases: &[],
    summary: "One file a key, in hashed folders",
    example: "file:/var/tmp/cache?depth=2&size=1g",
    medium: Medium::Files,
    capacity_option: Some("size"),
    connections_option: None,
    recipes: &[],
    options: config::schema,
    open: store::open,
};
