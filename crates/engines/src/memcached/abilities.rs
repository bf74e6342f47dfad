//! The abilities of a server, compared with memcached's.

use larder_protocol::key::MAX_KEY_LEN;

use super::config::{MemcachedConfig, MemcachedProgram};

/// The abilities of a server, compared with memcached's; sessions refuse the rest.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not one state")]
pub(super) struct Abilities {
    /// Entries expire, and are then absent for every command.
    pub(super) ttl: bool,
    /// The server takes a negative number for a TTL that has passed.
    pub(super) negative_ttl: bool,
    pub(super) touch: bool,
    pub(super) get_and_touch: bool,
    pub(super) append: bool,
    pub(super) incr: bool,
    /// The server takes requests before it has answered those before.
    pub(super) pipeline: bool,
    /// The server makes room by dropping entries.
    pub(super) evicts: bool,
    /// The item limit that the server reports holds for the values that it keeps whole.
    pub(super) tells_limit: bool,
    /// The server counts its entries correctly.
    pub(super) counts_items: bool,
    /// The longest key.
    pub(super) max_key_len: usize,
}

impl Abilities {
    pub(super) fn of(config: &MemcachedConfig) -> Self {
        let whole = Self {
            ttl: true,
            negative_ttl: true,
            touch: true,
            get_and_touch: true,
            append: true,
            incr: true,
            pipeline: true,
            evicts: true,
            tells_limit: true,
            counts_items: true,
            max_key_len: MAX_KEY_LEN,
        };
        match config.server {
            MemcachedProgram::Memcached => whole,
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
                max_key_len: super::innodb::KEY_COLUMN,
            },
        }
    }
}
