//! The needs of cases: what a store must have, so that a case runs on it.

use larder_store::{Capabilities, Durability, Engine, Medium, Ownership, Reach};

/// The facts about an open store by which its cases are chosen.
pub(super) struct Subject {
    pub(super) engine: &'static Engine,
    pub(super) capabilities: Capabilities,
    pub(super) durability: Durability,
    pub(super) ownership: Ownership,
    /// The capabilities when the store is opened with a byte limit; `None` where it takes no limit.
    pub(super) bounded: Option<Capabilities>,
    /// Whether the store declares that it writes a value in its place, where a reader may find a part of it.
    pub(super) unchecked: bool,
    /// Whether the store knows any counter of requests or entries.
    pub(super) counts: bool,
    /// Whether the store has counters of its own.
    pub(super) has_counters: bool,
}

/// Something that a case needs of a store.
#[derive(Clone, Copy)]
pub(super) struct Need {
    /// Whether the store has it.
    pub(super) has: fn(&Subject) -> bool,
    /// The reason to show where the store lacks it.
    pub(super) otherwise: &'static str,
}

const fn need(has: fn(&Subject) -> bool, otherwise: &'static str) -> Need {
    Need { has, otherwise }
}

/// The largest limits that are tried exactly; beyond them a test would measure the machine's memory.
pub(super) const TRIED_VALUE_LEN: usize = 8 << 20;
/// As above, for values that are refused before they are written anywhere.
pub(super) const REFUSED_VALUE_LEN: usize = 256 << 20;
/// As above, for keys.
pub(super) const TRIED_KEY_LEN: usize = 1 << 20;

pub(super) const STORES: Need = need(|s| s.capabilities.stores, "stores nothing");
pub(super) const STORES_NOTHING: Need = need(|s| !s.capabilities.stores, "keeps entries");
pub(super) const ADD: Need = need(|s| s.capabilities.add, "no add");
pub(super) const APPEND: Need = need(|s| s.capabilities.append, "no append");
pub(super) const CLEAR: Need = need(|s| s.capabilities.clear, "no clear");
pub(super) const FLAGS: Need = need(|s| s.capabilities.flags, "no flags");
pub(super) const GET_AND_TOUCH: Need =
    need(|s| s.capabilities.get_and_touch, "no get that touches");
pub(super) const GROUPS: Need = need(|s| s.capabilities.groups, "no reads by prefix or tag");
pub(super) const INCR: Need = need(|s| s.capabilities.incr, "no incr");
pub(super) const LEASES: Need = need(|s| s.capabilities.leases, "no leases");
pub(super) const TOKENS: Need = need(|s| s.capabilities.tokens, "no tokens without a lease");
pub(super) const NAMESPACES: Need = need(|s| s.capabilities.namespaces, "no namespaces");
pub(super) const NO_NAMESPACES: Need = need(|s| !s.capabilities.namespaces, "has namespaces");
pub(super) const PIPELINE: Need = need(|s| s.capabilities.pipeline, "no pipeline");
pub(super) const TOUCH: Need = need(|s| s.capabilities.touch, "no touch");
pub(super) const TTL: Need = need(|s| s.capabilities.ttl, "no ttl");
pub(super) const TTL_LEFT: Need = need(|s| s.capabilities.ttl_left, "tells no remaining ttl");
pub(super) const VERSION: Need = need(|s| s.capabilities.version, "no versions");
pub(super) const ACKNOWLEDGED: Need =
    need(|s| s.durability > Durability::Unacknowledged, "its sets are unacknowledged");
pub(super) const HAS_SERVERS: Need =
    need(|s| s.ownership == Ownership::Managed, "has started no server");
pub(super) const WHOLE_WRITES: Need =
    need(|s| !s.unchecked, "declares unchecked writes, so readers may see a part");
pub(super) const COUNTS: Need = need(|s| s.counts, "counts neither requests nor entries");
pub(super) const COUNTERS: Need = need(|s| s.has_counters, "has no counters of its own");
pub(super) const LACKS_SOMETHING: Need = need(
    |s| {
        let c = s.capabilities;
        !(c.add
            && c.append
            && c.clear
            && c.flags
            && c.incr
            && c.touch
            && c.get_and_touch
            && c.ttl
            && c.version)
    },
    "lacks no operation",
);
pub(super) const KEY_LIMIT: Need =
    need(|s| s.capabilities.max_key_len.is_some_and(|len| len <= TRIED_KEY_LEN), "no key limit");
pub(super) const VALUE_LIMIT: Need = need(
    |s| s.capabilities.max_value_len.is_some_and(|len| len <= REFUSED_VALUE_LEN),
    "no value limit below 256 MiB",
);
pub(super) const EVICTS_NOTHING: Need =
    need(|s| !s.capabilities.evicts, "may drop entries at any time");
pub(super) const EVICTS_AT_ITS_LIMIT: Need =
    need(|s| s.bounded.is_some_and(|c| c.evicts), "no byte limit at which it evicts");
pub(super) const REFUSES_AT_ITS_LIMIT: Need =
    need(|s| s.bounded.is_some_and(|c| !c.evicts), "no byte limit at which it refuses");
pub(super) const KEEPS_FILES: Need = need(
    |s| s.capabilities.persistent && s.engine.medium == Medium::Files && !s.engine.has_servers(),
    "keeps no files of its own",
);
pub(super) const SHARES_FILES: Need = need(
    |s| (KEEPS_FILES.has)(s) && s.capabilities.reach >= Reach::Host,
    "keeps no files that several processes may open",
);
pub(super) const NAMES_A_NAMESPACE: Need = need(
    |s| {
        let has_option = || s.engine.option_docs().iter().any(|option| option.name == "namespace");
        (KEEPS_FILES.has)(s) && has_option()
    },
    "keeps no files with a namespace in the URL",
);
