//! `bdb:`: entries in a BerkeleyDB environment, for one process at a time.
//!
//! BerkeleyDB 5.3 is the transactional store under `MemcacheDB`: a B-tree or a hash table of pages in a cache of its
//! own, a log of every commit, and locks of pages. Checkpoints write the pages to the disk, so that older log files can
//! be removed. BerkeleyDB knows neither expiry nor a limit of bytes. Its entries are [records](crate::records), and a
//! thread removes the expired ones and makes the checkpoints. Nothing is evicted: the disk is the limit, and a full disk
//! is an error.
//!
//! The library is the system's `libdb5.3`, under the Sleepycat licence. The licence asks of a program that is
//! distributed with the library that its source is open. Larder neither contains nor ships the library: `./setup.sh
//! --with bdb` installs it and compiles a small library (`shim.c`), which is loaded when a store is opened. See
//! [`shim`] for all unsafe code.

mod config;
mod database;
mod environment;
mod shim;
mod store;

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
    example: "bdb:/var/lib/cache?sync=nosync&checkpoint=5m",
    medium: Medium::Files,
    capacity_option: None,
    connections_option: None,
    recipes: &[RECIPE],
    options: || schemars::schema_for!(config::BdbConfig),
    open: store::open,
};
