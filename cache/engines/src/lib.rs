//! The caches that Larder can open, one folder and one feature each.
//!
//! A folder holds `mod.rs` (the [`Engine`](larder_store::Engine) constant), `config.rs` (its options), `store.rs` and
//! `session.rs`, and knows no other engine. `tiered:` comes from the crate `larder-tiers`, which knows no other engine. The layers
//! that every store can have are there too, and [`ENGINES`] lists them.
//!
//! Modules that several engines share stand beside the folders. These are built whichever engines are: [`network`] finds
//! servers, [`decimal`] spells numbers, [`header`] reads and writes the header before a value. `socket` is a connection,
//! plain or encrypted, and `pipelined` sends requests on several of them without waiting: both are of `memcached:` and
//! `redis:`.
//! `sql` is the shared part of the engines that speak SQL: all but their drivers. `segment` is the shared part of
//! `memory:` and `mmap:`: all but the place of the region. `objects` is that of caches with an object on the heap for each
//! entry. `records` is that of `bdb:`, `redb:` and `fjall:`: all but their databases. An engine takes a server or a directory of the machine through `larder-host`.

mod absent;
pub mod decimal;
pub mod header;
pub mod network;

#[cfg(any(feature = "memcached", feature = "mysql", feature = "postgresql", feature = "redis"))]
mod authorities;
#[cfg(any(
    feature = "memcached",
    feature = "mongodb",
    feature = "mysql",
    feature = "postgresql",
    feature = "redis"
))]
mod certificate;

#[cfg(any(feature = "moka", feature = "quick_cache"))]
mod objects;
#[cfg(any(feature = "memcached", feature = "redis"))]
mod pipelined;
#[cfg(any(feature = "bdb", feature = "fjall", feature = "redb"))]
mod records;
#[cfg(any(feature = "memcached", feature = "redis"))]
mod socket;
#[cfg(any(feature = "bdb", feature = "fjall", feature = "lmdb", feature = "redb"))]
mod upkeep;

#[cfg(feature = "bdb")]
mod bdb;
#[cfg(feature = "file")]
mod file;
#[cfg(feature = "fjall")]
mod fjall;
#[cfg(feature = "lmdb")]
mod lmdb;
#[cfg(feature = "memcached")]
mod memcached;
#[cfg(feature = "memory")]
mod memory;
#[cfg(feature = "mmap")]
mod mmap;
#[cfg(feature = "moka")]
mod moka;
#[cfg(feature = "mongodb")]
mod mongodb;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "null")]
mod null;
#[cfg(feature = "postgresql")]
mod postgresql;
#[cfg(feature = "quick_cache")]
mod quick_cache;
#[cfg(feature = "redb")]
mod redb;
#[cfg(feature = "redis")]
mod redis;
#[cfg(any(feature = "memory", feature = "mmap"))]
mod segment;
#[cfg(any(feature = "sqlite", feature = "postgresql", feature = "mysql"))]
pub mod sql;
#[cfg(feature = "sqlite")]
mod sqlite;

use larder_store::Catalog;
#[cfg(feature = "tiered")]
use larder_tiers as tiered;

/// Lists engines by module, scheme and aliases; an engine whose feature is off is [`absent`].
macro_rules! engines {
    ($($module:ident $scheme:literal $([$($alias:literal)+])?),* $(,)?) => {
        /// Every engine, in the order of the documentation.
        pub const ENGINES: Catalog = Catalog::new(&[$(
            #[cfg(feature = $scheme)]
            $module::ENGINE,
            #[cfg(not(feature = $scheme))]
            absent::engine($scheme, &[$($($alias),+)?], &[absent::needs($scheme)]),
        )*])
        .with_layers(larder_tiers::layer::LAYERS);

        /// Every scheme with its aliases, for a test that each engine has the same aliases.
        #[cfg(test)]
        const LISTED: &[(&str, &[&str])] = &[$(($scheme, &[$($($alias),+)?])),*];
    };
}

engines![
    null "null",
    memory "memory",
    mmap "mmap",
    moka "moka",
    quick_cache "quick_cache",
    file "file",
    lmdb "lmdb",
    bdb "bdb",
    sqlite "sqlite",
    redb "redb",
    fjall "fjall",
    memcached "memcached" ["memcacheds"],
    redis "redis" ["rediss" "valkey" "valkeys"],
    postgresql "postgresql" ["postgres"],
    mysql "mysql" ["mariadb"],
    mongodb "mongodb" ["mongodb+srv"],
    tiered "tiered",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_and_alias_means_one_engine() {
        let names =
            || ENGINES.iter().flat_map(|engine| [&[engine.scheme], engine.aliases].concat());
        for name in names() {
            assert_eq!(names().filter(|other| *other == name).count(), 1, "{name}:");
            let found = ENGINES.find(name).unwrap();
            assert!(found.scheme == name || found.aliases.contains(&name), "{name}:");
        }
        assert!(ENGINES.find("no-such-engine").is_err());
    }

    #[test]
    fn a_stack_alone_has_an_option_of_a_layer_and_makes_its_spans_itself() {
        let own = ENGINES.iter().flat_map(|engine| {
            let left = engine.layers(&ENGINES).map(|layer| layer.option).collect::<Vec<_>>();
            let layers = ENGINES.layers().iter().map(|layer| layer.option);
            layers
                .filter(move |option| !left.contains(option))
                .map(|option| (engine.scheme, option))
        });
        let wanted: &[(&str, &str)] =
            if cfg!(feature = "tiered") { &[("tiered", "spans")] } else { &[] };
        assert_eq!(own.collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn an_engine_has_the_aliases_that_the_list_names_without_it() {
        for (scheme, aliases) in LISTED {
            assert_eq!(ENGINES.find(scheme).unwrap().aliases, *aliases, "{scheme}:");
        }
    }
}
