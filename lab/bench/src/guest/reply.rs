//! The answers of a guest's program, as `docs/guests.md` defines them.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The version of the protocol that is spoken here.
pub(super) const PROTOCOL: u32 = 2;

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

/// The results of one process in a phase.
#[derive(Debug, Deserialize)]
pub(super) struct Ran {
    pub(super) start_ns: u64,
    pub(super) wall_ns: u64,
    pub(super) cpu_user_ns: u64,
    pub(super) cpu_system_ns: u64,
    pub(super) rss_bytes: u64,
    pub(super) connections: Option<u64>,
    /// Numbers of values whose set was not acknowledged.
    pub(super) failed: Vec<u32>,
    pub(super) first_error: Option<String>,
    pub(super) tiers: Vec<TierRan>,
    /// The work of the language's garbage collector, where the program tells it; of all its threads, by one of them.
    #[serde(default)]
    pub(super) collector: Option<CollectorRan>,
    pub(super) operations: BTreeMap<String, OperationRan>,
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

/// The outcomes of one kind of operation.
#[derive(Debug, Deserialize)]
pub(super) struct OperationRan {
    pub(super) ops: u64,
    pub(super) hits: u64,
    pub(super) misses: u64,
    /// Misses of keys that must be absent.
    pub(super) planned_misses: u64,
    pub(super) wrong: u64,
    pub(super) truncated: u64,
    pub(super) stale: u64,
    pub(super) other_key: u64,
    pub(super) damaged: u64,
    /// The first value that is wrong in each of these ways, under the name of the way.
    pub(super) wrong_examples: BTreeMap<String, WrongRan>,
    pub(super) errors: u64,
    pub(super) failed_fills: u64,
    pub(super) succeeded: u64,
    pub(super) bytes: u64,
    pub(super) busy_ns: u64,
    /// Latencies in nanoseconds, each with the number of its operations.
    pub(super) latencies: Vec<(u64, u64)>,
    pub(super) errors_by_kind: BTreeMap<String, u64>,
    pub(super) timeline: TimelineRan,
}

/// A value that was wrong.
#[derive(Debug, Deserialize)]
pub(super) struct WrongRan {
    /// The index of the key that was asked for.
    pub(super) key: u32,
    /// The number of the oldest right value, from the plan's operation.
    pub(super) value: u32,
    /// The length of the value that came, in bytes.
    pub(super) length: usize,
    /// The first of these bytes, in hexadecimal digits.
    pub(super) begins: String,
}

/// The course of a phase.
#[derive(Debug, Deserialize)]
pub(super) struct TimelineRan {
    pub(super) bin_ns: u64,
    pub(super) ops: Vec<u64>,
    pub(super) max_ns: Vec<u64>,
}
