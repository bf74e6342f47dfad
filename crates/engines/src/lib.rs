//! The caches that Larder can open, one folder and one feature each.
//!
//! A folder holds `mod.rs` (the [`Engine`](larder_store::Engine) constant), `config.rs` (its options), `store.rs`
//! and `session.rs`, and knows no other engine. What several share stands beside the folders: [`managed`] starts real servers,
//! [`scratch`] makes directories that vanish with the process, [`disk`] asks about file systems.

#[cfg(any(feature = "file", feature = "lmdb", feature = "moka", feature = "sqlite"))]
mod counters;
#[cfg(any(
    feature = "file",
    feature = "lmdb",
    feature = "moka",
    feature = "redis",
    feature = "sqlite"
))]
mod decimal;
pub mod disk;
pub mod managed;
pub mod scratch;

#[cfg(feature = "file")]
mod file;
#[cfg(feature = "lmdb")]
mod lmdb;
#[cfg(feature = "memcached")]
mod memcached;
#[cfg(feature = "moka")]
mod moka;
#[cfg(feature = "null")]
mod null;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "sqlite")]
mod sqlite;

use larder_store::Catalog;

/// Every engine of this build, in the order of the documentation.
pub const ENGINES: Catalog = Catalog::new(&[
    #[cfg(feature = "null")]
    null::ENGINE,
    #[cfg(feature = "moka")]
    moka::ENGINE,
    #[cfg(feature = "file")]
    file::ENGINE,
    #[cfg(feature = "lmdb")]
    lmdb::ENGINE,
    #[cfg(feature = "sqlite")]
    sqlite::ENGINE,
    #[cfg(feature = "memcached")]
    memcached::ENGINE,
    #[cfg(feature = "redis")]
    redis::ENGINE,
])
.with_aliases(ALIASES);

/// Other schemes that people write for an engine, and its own.
const ALIASES: &[(&str, &str)] = &[
    #[cfg(feature = "redis")]
    ("rediss", "redis"),
    #[cfg(feature = "redis")]
    ("valkey", "redis"),
    #[cfg(feature = "redis")]
    ("valkeys", "redis"),
];
