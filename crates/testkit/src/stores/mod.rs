//! Small stores for tests: a store that keeps every promise, and a store for each way of breaking them.
//!
//! A check that never fires is as bad as an unchecked figure, so a check or the contract must find each fault here:
//!
//! | engine | what it does |
//! |---|---|
//! | `map:` | nothing wrong: a map behind a lock |
//! | `drops:` | acknowledges every set and keeps all but each tenth |
//! | `truncates:` | keeps the first 1024 bytes of a value |
//! | `garbles:` | flips a bit in the middle of each tenth value |
//! | `swaps:` | answers each tenth hit with another key's value of the same length |
//! | `stale:` | keeps the older value at each tenth overwrite |
//! | `undead:` | acknowledges every delete and keeps each tenth entry |
//! | `stays:` | acknowledges a clear and keeps every entry |
//! | `fails:` | answers each tenth operation with an error |
//! | `drowns:` | refuses every set after the first thousand |
//! | `sleeps:` | sleeps 50 µs in each operation: time without work; with a `spread`, unevenly |
//! | `spins:` | works 25 µs in each operation |
//! | `tires:` | sleeps longer in each operation than in the one before |
//! | `misses:` | acknowledges every set and finds nothing |
//! | `lingers:` | answers expired entries |
//! | `hurries:` | takes the seconds of a TTL for milliseconds |
//! | `races:` | has a clock that runs twice as fast: an entry lives for half its TTL |
//! | `clings:` | keeps the tag of an entry that is set without one |
//! | `untags:` | keeps each tenth entry without its tag |
//! | `spills:` | drops the last byte of a prefix or tag before it reads by it |
//! | `trades:` | omits an entry of a prefix or tag when it reads by it, and returns an entry of another |
//! | `mistells:` | tells the version before that of a write |
//! | `rushes:` | adds to the initial number of an absent key |
//! | `miscounts:` | counts twice at each tenth count |
//! | `uncounts:` | tells the sum of each tenth count and keeps the number before |
//! | `forgives:` | deletes a key whatever the version |
//! | `scrambles:` | tells the outcomes of a batch backwards |
//! | `lags:` | reads and touches without the new TTL |
//! | `crowds:` | tells everyone to load an absent key |
//! | `revives:` | fills a key whatever happened to it meanwhile |
//! | `freshens:` | acknowledges an expire, and answers the value as fresh |
//! | `dawdles:` | gives no lease of an entry that ends soon |
//! | `hoards:` | keeps a lease an hour too long |
//! | `barters:` | gives each key of a batch the lease of the key before it |
//! | `waves:` | fills the keys of a batch whatever happened to them meanwhile |
//! | `overtakes:` | carries out each tenth pipelined request before the request ahead of it |
//! | `mixes:` | exchanges the answers of each tenth pipelined request and the request ahead of it |
//! | `loses:` | never gives the last answer to each hundredth pipelined request |
//! | `repeats:` | answers each hundredth pipelined request twice |
//! | `halts:` | answers no pipelined request behind one that fails, until the next flush |

mod answers;
mod faults;
mod leases;
mod map;
mod pipeline;

use std::sync::Arc;

use larder_store::{Catalog, Engine, Medium, Result, Store, StoreUrl};
use schemars::Schema;

pub use faults::{DrownOptions, EveryOptions, KeepOptions, SleepOptions, SpinOptions};
pub use map::MapOptions;

/// The test engines as a separate catalog.
pub const ENGINES: Catalog = Catalog::new(LIST);

/// The test engines, to be joined with other engines.
pub const LIST: &[Engine] = &[
    engine(map::SCHEME, "map:", "Keeps entries in a map", map::schema, map::open),
    faults::DROPS,
    faults::TRUNCATES,
    faults::GARBLES,
    faults::SWAPS,
    faults::STALE,
    faults::UNDEAD,
    faults::STAYS,
    faults::FAILS,
    faults::DROWNS,
    faults::SLEEPS,
    faults::SPINS,
    faults::TIRES,
    faults::MISSES,
    faults::LINGERS,
    faults::HURRIES,
    faults::RACES,
    faults::CLINGS,
    faults::UNTAGS,
    faults::SPILLS,
    faults::TRADES,
    faults::MISCOUNTS,
    faults::UNCOUNTS,
    answers::MISTELLS,
    answers::RUSHES,
    answers::FORGIVES,
    answers::SCRAMBLES,
    answers::LAGS,
    answers::CROWDS,
    answers::REVIVES,
    answers::FRESHENS,
    answers::DAWDLES,
    answers::HOARDS,
    answers::BARTERS,
    answers::WAVES,
    answers::OVERTAKES,
    answers::MIXES,
    answers::LOSES,
    answers::REPEATS,
    answers::HALTS,
];

/// The function that opens the stores of an engine.
type Open = fn(&StoreUrl, &Catalog) -> Result<Arc<dyn Store>>;

/// The shared part of all test engines.
const fn engine(
    scheme: &'static str,
    example: &'static str,
    summary: &'static str,
    options: fn() -> Schema,
    open: Open,
) -> Engine {
    Engine {
        scheme,
        aliases: &[],
        summary,
        example,
        medium: Medium::Memory,
        capacity_option: None,
        connections_option: None,
        recipes: &[],
        options,
        open,
    }
}

#[cfg(test)]
mod tests;
