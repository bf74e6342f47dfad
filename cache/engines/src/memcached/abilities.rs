//! The abilities of a server, compared with memcached's.

use larder_protocol::key::MAX_KEY_LEN;

use super::config::{MemcachedConfig, MemcachedProgram};
use super::store_probe::StoreAbilities;

/// The abilities of a server, compared with memcached's; sessions refuse the rest.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not one state")]
pub(super) struct Abilities {
    /// The server keeps the entries that are set.
    pub(super) stores: bool,
    /// The server keeps the flags of an entry.
    pub(super) flags: bool,
    /// Entries expire, and are then absent for every command.
    pub(super) ttl: bool,
    /// The server tells the remaining TTL, where the protocol can.
    pub(super) ttl_left: bool,
    /// The server takes a negative number for a TTL that has passed.
    pub(super) negative_ttl: bool,
    pub(super) touch: bool,
    pub(super) get_and_touch: bool,
    pub(super) append: bool,
    pub(super) incr: bool,
    /// The lease of an absent key has a version, by which its holder fills the key.
    pub(super) leases: bool,
    /// The server knows whether an entry was read before.
    pub(super) tells_hits: bool,
    /// The server takes requests before it has answered those before.
    pub(super) pipeline: bool,
    /// The server makes room by dropping entries.
    pub(super) evicts: bool,
    /// The item limit that the server reports holds for the values that it keeps whole.
    pub(super) tells_limit: bool,
    /// The server counts its entries correctly.
    pub(super) counts_items: bool,
    /// The server knows the bytes of its entries.
    pub(super) counts_bytes: bool,
    /// The server knows its evictions and its capacity.
    pub(super) counts_evictions: bool,
    /// The longest key.
    pub(super) max_key_len: usize,
}

impl Abilities {
    pub(super) fn of(config: &MemcachedConfig) -> Self {
        let whole = Self {
            stores: true,
            flags: true,
            ttl: true,
            ttl_left: true,
            negative_ttl: true,
            touch: true,
            get_and_touch: true,
            append: true,
            incr: true,
            leases: true,
            tells_hits: true,
            pipeline: true,
            evicts: true,
            tells_limit: true,
            counts_items: true,
            counts_bytes: true,
            counts_evictions: true,
            max_key_len: MAX_KEY_LEN,
        };
        match config.server {
            // The store behind `larder serve` decides the rest, and a probe finds it.
            MemcachedProgram::Memcached | MemcachedProgram::Larder => whole,
            // The proxy closes the connection after `gat`. It passes on all other requests of a session; statistics and
            // the flush go to the servers behind it.
            MemcachedProgram::Twemproxy => {
                Self { negative_ttl: false, get_and_touch: false, ..whole }
            }
            // As 5.6.14 answers. An expired row is a miss for `get` alone: `add` finds it. `touch` is unknown, `append`
            // drops the flags, and `incr` of an absent key stores an arbitrary number. A column that cuts values short
            // and acknowledges them has no limit to report. Keys cannot be longer than their column, because keys with
            // the same beginning would be one key. The item counts are of a cache that the plugin does not use.
            MemcachedProgram::Innodb => Self {
                ttl: false,
                negative_ttl: false,
                touch: false,
                get_and_touch: false,
                append: false,
                incr: false,
                pipeline: false,
                evicts: false,
                tells_limit: !config.cuts_values(),
                counts_items: false,
                counts_bytes: false,
                counts_evictions: false,
                max_key_len: super::innodb::KEY_COLUMN,
                ..whole
            },
        }
    }

    /// The abilities where a node is a `larder serve`. Its clients have leases only where a probe has shown them.
    pub(super) fn of_larder(self, store: Option<StoreAbilities>) -> Self {
        let this = Self { leases: false, tells_hits: false, ..self };
        let Some(store) = store else { return this };
        Self {
            stores: store.stores,
            flags: store.flags,
            ttl: store.ttl,
            ttl_left: store.ttl_left,
            leases: store.leases,
            counts_items: store.counts_items,
            counts_bytes: store.counts_bytes,
            ..this
        }
    }
}
