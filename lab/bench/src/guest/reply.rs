//! The answers of a guest's program, as `docs/guests.md` defines them.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The version of the protocol that is spoken here.
pub(super) const PROTOCOL: u32 = 3;

/// The first line of a program.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Greeting {
    Unavailable { unavailable: String },
    Opened(Opened),
}

/// A cache was opened.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Opened {
    pub(super) protocol: u32,
    /// Language and version.
    pub(super) language: String,
    /// Module and version.
    pub(super) cache: String,
    pub(super) settings: BTreeMap<String, String>,
}

/// The answer to a command of one operation.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Reply<T> {
    Failed { error: String, kind: String },
    Done(T),
}

/// The answer to `set`.
#[derive(Debug, Deserialize)]
pub(super) struct SetReply {
    pub(super) stored: bool,
    #[serde(default)]
    pub(super) why: Option<String>,
}

/// The answer to `get`: the length of the value that follows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GetReply {
    pub(super) found: Option<usize>,
}

/// The answer to `delete` and `touch`.
#[derive(Debug, Deserialize)]
pub(super) struct WasThere {
    pub(super) found: bool,
}

/// The answer to `load`.
#[derive(Debug, Deserialize)]
pub(super) struct Loaded {
    pub(super) loaded: bool,
    /// 0 where the answers to `run` count the entries that were dropped to make room.
    #[serde(default)]
    pub(super) evictions: Option<u64>,
}

/// The answers to `run`: signs of life, and in the end a result or the reason why the program gave up.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Progress {
    Alive {
        /// Operations so far. As long as this number grows, the program does not hang.
        alive: u64,
    },
    Ran {
        ran: usize,
        /// Entries dropped to make room since the previous answer, where only the program knows them.
        #[serde(default)]
        evictions: Option<u64>,
    },
    GaveUp {
        error: String,
    },
}

/// The work of a garbage collector in a phase.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct CollectorRan {
    pub(super) cycles: u64,
    pub(super) pause_ns: u64,
    pub(super) longest_pause_ns: u64,
    pub(super) cpu_ns: u64,
}

/// The counters of one tier.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct TierRan {
    /// The name of its cache.
    pub(super) name: String,
    pub(super) hits: u64,
    pub(super) misses: u64,
    /// Misses whose value the tier had and the stack threw away.
    #[serde(default)]
    pub(super) dropped: u64,
    pub(super) fills: u64,
    #[serde(default)]
    pub(super) puts: u64,
    pub(super) refused: u64,
}
