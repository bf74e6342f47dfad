//! The engine `faulty:`, a map with one fault, and the table of its faults.

use std::sync::Arc;
use std::time::Duration;

use larder_store::{Catalog, Error, Result, Store, StoreUrl};
use schemars::JsonSchema;
use serde::Deserialize;

use super::fault::Fault;
use super::map::MapStore;

pub(super) const SCHEME: &str = "faulty";

/// The options of `faulty:`. Each fault takes some of them, and refuses the others.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct FaultyOptions {
    /// The name of the fault.
    pub fault: String,
    /// The fault occurs at each n-th occasion. At least 1; 10 by default.
    pub every: Option<u64>,
    /// The bytes of a value that are kept; 1024 by default.
    pub keep: Option<u32>,
    /// What passes before the fault: operations for `fail`, 0 by default; sets for `full`, 1000 by default.
    pub after: Option<u64>,
    /// The time of each operation, in microseconds: 50 for `sleep`, to which the system adds some, and 25 for `spin`.
    pub micros: Option<u64>,
    /// The longest additional sleep, in microseconds: a different part of it in each operation.
    pub spread: Option<u64>,
}

pub(super) fn schema() -> schemars::Schema {
    schemars::schema_for!(FaultyOptions)
}

/// A fault by its name.
struct Entry {
    name: &'static str,
    /// The options that it takes.
    options: &'static [&'static str],
    fault: fn(&FaultyOptions) -> Fault,
}

const fn entry(
    name: &'static str,
    options: &'static [&'static str],
    fault: fn(&FaultyOptions) -> Fault,
) -> Entry {
    Entry { name, options, fault }
}

/// A fault that occurs at each n-th occasion.
const EVERY: &[&str] = &["every"];

/// The faults. `every` is 10 unless the URL sets it.
const FAULTS: &[Entry] = &[
    // Sets and values:

    // Acknowledges each n-th set without keeping it.
    entry("drop", EVERY, |o| Fault::DropsSets { every: o.every() }),
    // Keeps the first bytes of a value.
    entry("truncate", &["keep"], |o| Fault::Truncates { keep: o.keep.unwrap_or(1024) as usize }),
    // Flips a bit in the middle of each n-th value.
    entry("flip-bit", EVERY, |o| Fault::FlipsBits { every: o.every() }),
    // Answers each n-th hit with another key's value of the same length.
    entry("swap-values", EVERY, |o| Fault::SwapsValues { every: o.every() }),
    // Keeps the older value at each n-th overwrite.
    entry("keep-old-value", EVERY, |o| Fault::KeepsOldValues { every: o.every() }),
    // Acknowledges every set and finds nothing.
    entry("miss", &[], |_| Fault::MissesAll),
    // Reports the previous version after a write.
    entry("old-version", &[], |_| Fault::ReportsOldVersions),
    // Reports the outcomes of a batch in reverse.
    entry("reverse-outcomes", &[], |_| Fault::ReversesOutcomes),
    // Deletes:

    // Acknowledges every delete and keeps each n-th entry.
    entry("keep-deleted", EVERY, |o| Fault::KeepsDeleted { every: o.every() }),
    // Acknowledges a clear and keeps every entry.
    entry("keep-cleared", &[], |_| Fault::KeepsCleared),
    // Deletes a key whatever the version.
    entry("ignore-version", &[], |_| Fault::IgnoresVersions),
    // Failures and times:

    // Answers each n-th operation with an error.
    entry("fail", &["every", "after"], |o| Fault::Fails {
        every: o.every(),
        after: o.after.unwrap_or(0),
    }),
    // Refuses every set after the first ones.
    entry("full", &["after"], |o| Fault::FillsUp { after: o.after.unwrap_or(1000) }),
    // Sleeps in each operation: time without work. With a spread the times differ.
    entry("sleep", &["micros", "spread"], |o| Fault::Sleeps {
        time: Duration::from_micros(o.micros.unwrap_or(50)),
        spread: Duration::from_micros(o.spread.unwrap_or(0)),
    }),
    // Keeps the processor busy in each operation.
    entry("spin", &["micros"], |o| Fault::Spins(Duration::from_micros(o.micros.unwrap_or(25)))),
    // Sleeps longer in each operation than in the previous one.
    entry("slow-down", &[], |_| Fault::SlowsDown),
    // TTLs:

    // Answers expired entries.
    entry("keep-expired", &[], |_| Fault::KeepsExpired),
    // Takes the seconds of a TTL for milliseconds.
    entry("short-ttl", &[], |_| Fault::ShortensTtls),
    // Has a clock that runs twice as fast: an entry lives for half its TTL.
    entry("fast-clock", &[], |_| Fault::HasFastClock),
    // Reads and touches without the new TTL.
    entry("keep-ttl", &[], |_| Fault::KeepsTtls),
    // Prefixes and tags:

    // Keeps the tag of an entry that is set without one.
    entry("keep-tag", &[], |_| Fault::KeepsTags),
    // Keeps each n-th entry without its tag.
    entry("lose-tag", EVERY, |o| Fault::LosesTags { every: o.every() }),
    // Drops the last byte of a prefix or tag before it reads by it.
    entry("short-prefix", &[], |_| Fault::ShortensPrefixes),
    // Omits an entry of a prefix or tag when it reads by it, and returns an entry of another.
    entry("misplace-entry", &[], |_| Fault::MisplacesEntries),
    // Counters:

    // Adds to the initial number of an absent key.
    entry("add-to-initial", &[], |_| Fault::AddsToInitials),
    // Counts twice at each n-th count.
    entry("count-twice", EVERY, |o| Fault::CountsTwice { every: o.every() }),
    // Reports the sum of each n-th count and keeps the number before.
    entry("lose-count", EVERY, |o| Fault::LosesCounts { every: o.every() }),
    // Leases:

    // Gives every caller the lease of an absent key.
    entry("lease-to-all", &[], |_| Fault::LeasesToAll),
    // Fills a key although its token is void.
    entry("ignore-token", &[], |_| Fault::IgnoresTokens),
    // The same in a batch.
    entry("ignore-batch-tokens", &[], |_| Fault::IgnoresBatchTokens),
    // Acknowledges an expire, and answers the value as fresh.
    entry("ignore-expire", &[], |_| Fault::IgnoresExpire),
    // Gives no lease of an entry that ends soon.
    entry("lease-late", &[], |_| Fault::LeasesLate),
    // Keeps a lease an hour too long.
    entry("keep-lease", &[], |_| Fault::KeepsLeases),
    // Gives each key of a batch the lease of the previous key.
    entry("swap-tokens", &[], |_| Fault::SwapsTokens),
    // Pipelines:

    // Carries out each tenth request before the request ahead of it.
    entry("reorder", &[], |_| Fault::ReordersRequests),
    // Exchanges the answers of each tenth request and the request ahead of it.
    entry("swap-answers", &[], |_| Fault::SwapsAnswers),
    // Never gives the last answer to each hundredth request.
    entry("lose-answer", &[], |_| Fault::LosesAnswers),
    // Answers each hundredth request twice.
    entry("repeat-answer", &[], |_| Fault::RepeatsAnswers),
    // Answers no request behind one that fails, until the next flush.
    entry("stop-at-error", &[], |_| Fault::StopsAtErrors),
];

impl FaultyOptions {
    fn every(&self) -> u64 {
        self.every.unwrap_or(10)
    }

    /// The names of the options that are set, but for `fault`.
    fn set(&self) -> impl Iterator<Item = &'static str> {
        let options = [
            ("every", self.every.is_some()),
            ("keep", self.keep.is_some()),
            ("after", self.after.is_some()),
            ("micros", self.micros.is_some()),
            ("spread", self.spread.is_some()),
        ];
        options.into_iter().filter_map(|(name, is_set)| is_set.then_some(name))
    }

    fn fault(&self) -> Result<Fault, String> {
        let Some(entry) = FAULTS.iter().find(|entry| entry.name == self.fault) else {
            let names: Vec<_> = FAULTS.iter().map(|entry| entry.name).collect();
            let names = names.join(", ");
            return Err(format!("option `fault`: `{}` is not one of {names}", self.fault));
        };
        if let Some(option) = self.set().find(|option| !entry.options.contains(option)) {
            return Err(format!("option `{option}`: the fault `{}` does not take it", entry.name));
        }
        if self.every == Some(0) {
            return Err("option `every`: `0` is not a whole number from 1".into());
        }
        Ok((entry.fault)(self))
    }
}

pub(super) fn open(url: &StoreUrl, _: &Catalog) -> Result<Arc<dyn Store>> {
    let options: FaultyOptions = url.options(SCHEME)?;
    let fault = options.fault();
    let fault = fault.map_err(|reason| Error::InvalidOptions { engine: SCHEME, reason })?;
    Ok(MapStore::open(SCHEME, url, fault))
}
