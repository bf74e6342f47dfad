//! `bdb:`: entries in a BerkeleyDB environment, for one process at a time.
//!
//! BerkeleyDB 5.3 is the transactional store that `MemcacheDB` stands on: a B-tree or a hash table of pages in a cache of
//! its own, a log that every commit is written to, locks of pages, and checkpoints that bring the pages to the disk and
//! let the log be forgotten. It knows neither expiry nor a limit of bytes. Entries carry their deadline, and a thread
//! gives back the expired ones and makes the checkpoints; nothing is evicted: the disk is the limit, and a full one an
//! error.
//!
//! The library is the system's `libdb5.3`, under the Sleepycat licence, which asks of a program that is given away
//! together with it that its source is open. Larder neither contains nor ships it: `./setup.sh --with bdb` installs it and compiles
//! a small library (`shim.c`) that is loaded when a store is opened. See [`shim`] for all that is unsafe.

mod config;
mod environment;
mod session;
mod shim;
mod store;
mod upkeep;

use larder_store::{Engine, Medium, Recipe, Role, Source};

/// The scheme, and the name in messages.
const SCHEME: &str = "bdb";

/// The library that is loaded.
const RECIPE: Recipe = Recipe {
    role: Role::Library,
    server: "",
    program: "libbdb-shim.so",
    folders: &[],
    source: Source::Setup("bdb"),
};

/// The engine `bdb:`.
pub(crate) const ENGINE: Engine = Engine {
    scheme: SCHEME,
    aliases: &[],
    summary: "BerkeleyDB 5.3 of the system (Sleepycat licence), a transactional B-tree or hash table: a folder that one \
              process has open",
    example: "bdb:/var/lib/cache?sync=off&checkpoint=5m",
    medium: Medium::Files,
    capacity_option: None,
    recipes: &[RECIPE],
    options: || schemars::schema_for!(config::BdbConfig),
    open: store::open,
};
