//! The faults, and the engines that have them.

use std::thread::sleep;
use std::time::{Duration, Instant};

use larder_store::{Delta, Engine, Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use super::engine;
use super::map::{Map, MapStore};

/// The fault of a store. Counts run over the whole store, so that a run is reproducible with one thread.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    None,
    Drops { every: u64 },
    Truncates { keep: usize },
    Garbles { every: u64 },
    Swaps { every: u64 },
    Stale { every: u64 },
    Undead { every: u64 },
    Stays,
    Fails { every: u64, after: u64 },
    Drowns { after: u64 },
    Sleeps { time: Duration, spread: Duration },
    Spins(Duration),
    Tires,
    Misses,
    Lingers,
    Hurries,
    Races,
    Clings,
    Untags { every: u64 },
    Spills,
    Trades,
    Mistells,
    Rushes,
    Forgives,
    Scrambles,
    Miscounts { every: u64 },
    Uncounts { every: u64 },
    Lags,
    Crowds,
    Revives,
    Freshens,
    Dawdles,
    Hoards,
    Barters,
    Waves,
    Overtakes,
    Mixes,
    Loses,
    Repeats,
    Halts,
}

impl Fault {
    /// Adds the fault's cost to an operation, after `operations` earlier ones.
    pub(super) fn pass_time(self, operations: impl FnOnce() -> u32) {
        match self {
            Self::Sleeps { time, spread } => sleep(time + part_of(spread, operations())),
            Self::Spins(time) => {
                let start = Instant::now();
                while start.elapsed() < time {
                    std::hint::spin_loop();
                }
            }
            Self::Tires => sleep(FRESH + TIRING * operations()),
            _ => {}
        }
    }

    /// Whether this operation fails.
    pub(super) fn fail(self, engine: &'static str, operations: u64) -> Result<()> {
        match self {
            Self::Fails { every, after }
                if operations >= after && operations.is_multiple_of(every) =>
            {
                Err(Error::Busy { engine, what: format!("each {every}th operation fails") })
            }
            _ => Ok(()),
        }
    }

    /// The part of a value that the store keeps.
    pub(super) fn kept(self, mut value: Vec<u8>, sets: u64) -> Vec<u8> {
        match self {
            Self::Truncates { keep } => value.truncate(keep),
            Self::Garbles { every } if sets.is_multiple_of(every) => {
                let middle = value.len() / 2;
                if let Some(byte) = value.get_mut(middle) {
                    *byte ^= 0x10;
                }
            }
            _ => {}
        }
        value
    }

    /// Whether a clear is carried out, or only acknowledged.
    pub(super) fn clears(self) -> bool {
        !matches!(self, Self::Stays)
    }

    /// Whether there is room for this set.
    pub(super) fn refuse(self, engine: &'static str, sets: u64) -> Result<()> {
        match self {
            Self::Drowns { after } if sets >= after => {
                Err(Error::Full { engine, what: format!("no room after {after} sets") })
            }
            _ => Ok(()),
        }
    }

    /// Whether this set is kept, or only acknowledged.
    pub(super) fn keeps(self, sets: u64, is_overwrite: bool) -> bool {
        match self {
            Self::Drops { every } => !sets.is_multiple_of(every),
            Self::Stale { every } => !(is_overwrite && sets.is_multiple_of(every)),
            _ => true,
        }
    }

    /// Whether this delete is carried out, or only acknowledged.
    pub(super) fn deletes(self, operations: u64) -> bool {
        !matches!(self, Self::Undead { every } if operations.is_multiple_of(every))
    }

    /// Whether every read misses.
    pub(super) fn hides(self) -> bool {
        matches!(self, Self::Misses)
    }

    /// The TTL that an entry really gets.
    pub(super) fn ttl(self, asked: Option<Duration>) -> Option<Duration> {
        match self {
            Self::Lingers => None,
            Self::Hurries => asked.map(|ttl| ttl / 1000),
            Self::Races => asked.map(|ttl| ttl / 2),
            _ => asked,
        }
    }

    /// The stored tag of an entry that is set with `tag`, in place of an entry with the tag `old`.
    pub(super) fn tag<'a>(
        self,
        sets: u64,
        tag: Option<&'a [u8]>,
        old: Option<&'a [u8]>,
    ) -> Option<&'a [u8]> {
        match self {
            Self::Clings => tag.or(old),
            Self::Untags { every } => tag.filter(|_| !(sets + 1).is_multiple_of(every)),
            _ => tag,
        }
    }

    /// The prefix that the store really looks for.
    pub(super) fn looked_for(self, prefix: &[u8]) -> &[u8] {
        match self {
            Self::Spills => &prefix[..prefix.len().saturating_sub(1)],
            _ => prefix,
        }
    }

    /// Whether a read by `tag` finds an entry with the tag `own`.
    pub(super) fn finds(self, own: &[u8], tag: &[u8]) -> bool {
        match self {
            Self::Spills => own.starts_with(self.looked_for(tag)),
            _ => own == tag,
        }
    }

    /// The version that a write tells, of the version that it made.
    pub(super) fn told(self, version: u64) -> u64 {
        if matches!(self, Self::Mistells) { version - 1 } else { version }
    }

    /// The number that is stored of an absent key's initial number.
    pub(super) fn initial(self, number: u64, delta: Delta) -> u64 {
        if matches!(self, Self::Rushes) { delta.applied_to(number) } else { number }
    }

    /// The number that a count tells, of the number before. It is the `nth` count, from 1.
    pub(super) fn counted(self, number: u64, delta: Delta, nth: u64) -> u64 {
        let sum = delta.applied_to(number);
        match self {
            Self::Miscounts { every } if nth.is_multiple_of(every) => delta.applied_to(sum),
            _ => sum,
        }
    }

    /// Whether a count is kept, or only told.
    pub(super) fn keeps_count(self, nth: u64) -> bool {
        !matches!(self, Self::Uncounts { every } if nth.is_multiple_of(every))
    }

    /// Whether a delete looks at the version.
    pub(super) fn compares(self) -> bool {
        !matches!(self, Self::Forgives)
    }

    /// Whether the outcomes of a batch are told in the order of its entries.
    pub(super) fn is_in_order(self) -> bool {
        !matches!(self, Self::Scrambles)
    }

    /// Whether a read that should renew the TTL does so.
    pub(super) fn renews(self) -> bool {
        !matches!(self, Self::Lags)
    }

    /// Whether only one caller at a time is told to load a key.
    pub(super) fn elects(self) -> bool {
        !matches!(self, Self::Crowds)
    }

    /// Whether a fill looks at its token.
    pub(super) fn compares_tokens(self) -> bool {
        !matches!(self, Self::Revives)
    }

    /// Whether an entry that is expired is marked as stale.
    pub(super) fn marks(self) -> bool {
        !matches!(self, Self::Freshens)
    }

    /// Whether an entry that ends soon is leased before its end.
    pub(super) fn leases_early(self) -> bool {
        !matches!(self, Self::Dawdles)
    }

    /// The time that a lease really gets.
    pub(super) fn lease(self, time: Duration) -> Duration {
        if matches!(self, Self::Hoards) { time + Duration::from_hours(1) } else { time }
    }

    /// Whether each key of a batch has its own lease.
    pub(super) fn keeps_tokens_apart(self) -> bool {
        !matches!(self, Self::Barters)
    }

    /// Whether the fills of a batch look at their tokens.
    pub(super) fn compares_tokens_of_batches(self) -> bool {
        !matches!(self, Self::Waves)
    }

    /// Whether this pipelined request is carried out and answered ahead of the request before it.
    pub(super) fn overtakes(self, n: u64) -> bool {
        matches!(self, Self::Overtakes) && is_last_of(10, n)
    }

    /// Whether this pipelined request and the request before it have each other's answers.
    pub(super) fn mixes(self, n: u64) -> bool {
        matches!(self, Self::Mixes) && is_last_of(10, n)
    }

    /// Whether the last answer to this pipelined request is lost.
    pub(super) fn loses(self, n: u64) -> bool {
        matches!(self, Self::Loses) && is_last_of(100, n)
    }

    /// Whether this pipelined request is answered once more.
    pub(super) fn repeats(self, n: u64) -> bool {
        matches!(self, Self::Repeats) && is_last_of(100, n)
    }

    /// Whether a failure leaves the pipelined requests behind it without answers.
    pub(super) fn halts(self) -> bool {
        matches!(self, Self::Halts)
    }

    /// Whether a read of a group omits one of its entries and returns an entry of another group.
    pub(super) fn trades(self) -> bool {
        matches!(self, Self::Trades)
    }

    /// The answer to a hit: the value, or another key's value of the same length where there is one.
    pub(super) fn answered<'a>(self, map: &'a Map, key: &[u8], value: &'a [u8]) -> &'a [u8] {
        match self {
            Self::Swaps { every } if map.operations.is_multiple_of(every) => {
                let mut others = map.entries.iter().filter(|(other, _)| other.as_slice() != key);
                let other = others.find(|(_, entry)| entry.value.len() == value.len());
                other.map_or(value, |(_, entry)| &entry.value)
            }
            _ => value,
        }
    }
}

/// Whether `n`, from 0, is the last of each so many.
fn is_last_of(each: u64, n: u64) -> bool {
    (n + 1).is_multiple_of(each)
}

/// The options of the stores with an occasional fault.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EveryOptions {
    /// The fault occurs at each n-th occasion. At least 1.
    pub every: u64,
}

impl Default for EveryOptions {
    fn default() -> Self {
        Self { every: 10 }
    }
}

/// The options of `fails:`.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct FailOptions {
    /// Each n-th operation fails. At least 1.
    every: u64,
    /// The number of operations before the first that fails.
    after: u64,
}

impl Default for FailOptions {
    fn default() -> Self {
        Self { every: 10, after: 0 }
    }
}

/// The options of `truncates:`.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct KeepOptions {
    /// The bytes of a value that are kept.
    pub keep: u32,
}

impl Default for KeepOptions {
    fn default() -> Self {
        Self { keep: 1024 }
    }
}

/// The options of `drowns:`.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DrownOptions {
    /// The number of sets that have room.
    pub after: u64,
}

impl Default for DrownOptions {
    fn default() -> Self {
        Self { after: 1000 }
    }
}

/// The options of `sleeps:`.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SleepOptions {
    /// The sleep in each operation, in microseconds; the system adds some time.
    pub micros: u64,
    /// The longest additional sleep, in microseconds: a different part of it in each operation.
    pub spread: u64,
}

impl Default for SleepOptions {
    fn default() -> Self {
        Self { micros: 50, spread: 0 }
    }
}

/// The options of `spins:`.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SpinOptions {
    /// The processor time of each operation, in microseconds.
    pub micros: u64,
}

impl Default for SpinOptions {
    fn default() -> Self {
        Self { micros: 25 }
    }
}

/// A part of a time that differs by operation and by time, and is the same in each run.
fn part_of(whole: Duration, operation: u32) -> Duration {
    // Fibonacci hashing twice, so that consecutive operations have no even spread.
    let seed = u64::from(whole.subsec_micros());
    let mixed = (seed << 32 | u64::from(operation)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    whole * u32::try_from(mixed >> 48).unwrap_or(0) / (1 << 16)
}

/// The time of the first operation of `tires:`.
const FRESH: Duration = Duration::from_micros(100);
/// The additional time of each operation of `tires:` over the previous one: more than a busy machine's delays, in a few rounds.
const TIRING: Duration = Duration::from_micros(25);

/// Checks `every`, which is a divisor.
fn every(engine: &'static str, url: &larder_store::StoreUrl) -> Result<u64> {
    let EveryOptions { every } = url.options(engine)?;
    divisor(engine, every)
}

fn divisor(engine: &'static str, every: u64) -> Result<u64> {
    if every == 0 {
        let reason = "option `every`: `0` is not a whole number from 1".into();
        return Err(Error::InvalidOptions { engine, reason });
    }
    Ok(every)
}

pub(super) const DROPS: Engine = engine(
    "drops",
    "drops:?every=10",
    "Acknowledges every set and keeps all but some",
    || schemars::schema_for!(EveryOptions),
    |url, _| Ok(MapStore::open("drops", url, Fault::Drops { every: every("drops", url)? })),
);

pub(super) const TRUNCATES: Engine = engine(
    "truncates",
    "truncates:?keep=1024",
    "Keeps the beginning of a value",
    || schemars::schema_for!(KeepOptions),
    |url, _| {
        let KeepOptions { keep } = url.options("truncates")?;
        Ok(MapStore::open("truncates", url, Fault::Truncates { keep: keep as usize }))
    },
);

pub(super) const GARBLES: Engine = engine(
    "garbles",
    "garbles:?every=10",
    "Flips a bit of some values",
    || schemars::schema_for!(EveryOptions),
    |url, _| Ok(MapStore::open("garbles", url, Fault::Garbles { every: every("garbles", url)? })),
);

pub(super) const SWAPS: Engine = engine(
    "swaps",
    "swaps:?every=10",
    "Answers some hits with another key's value",
    || schemars::schema_for!(EveryOptions),
    |url, _| Ok(MapStore::open("swaps", url, Fault::Swaps { every: every("swaps", url)? })),
);

pub(super) const STALE: Engine = engine(
    "stale",
    "stale:?every=10",
    "Keeps the older value at some overwrites",
    || schemars::schema_for!(EveryOptions),
    |url, _| Ok(MapStore::open("stale", url, Fault::Stale { every: every("stale", url)? })),
);

pub(super) const UNDEAD: Engine = engine(
    "undead",
    "undead:?every=10",
    "Keeps some deleted keys",
    || schemars::schema_for!(EveryOptions),
    |url, _| Ok(MapStore::open("undead", url, Fault::Undead { every: every("undead", url)? })),
);

pub(super) const MISCOUNTS: Engine = engine(
    "miscounts",
    "miscounts:?every=10",
    "Counts twice at some counts",
    || schemars::schema_for!(EveryOptions),
    |url, _| {
        let every = every("miscounts", url)?;
        Ok(MapStore::open("miscounts", url, Fault::Miscounts { every }))
    },
);

pub(super) const UNCOUNTS: Engine = engine(
    "uncounts",
    "uncounts:?every=10",
    "Tells the sum of some counts and keeps the number before",
    || schemars::schema_for!(EveryOptions),
    |url, _| {
        let every = every("uncounts", url)?;
        Ok(MapStore::open("uncounts", url, Fault::Uncounts { every }))
    },
);

pub(super) const STAYS: Engine =
    engine("stays", "stays:", "Keeps all entries at a clear", super::map::schema, |url, _| {
        let super::map::MapOptions {} = url.options("stays")?;
        Ok(MapStore::open("stays", url, Fault::Stays))
    });

pub(super) const FAILS: Engine = engine(
    "fails",
    "fails:?every=10",
    "Answers some operations with an error",
    || schemars::schema_for!(FailOptions),
    |url, _| {
        let FailOptions { every, after } = url.options("fails")?;
        let every = divisor("fails", every)?;
        Ok(MapStore::open("fails", url, Fault::Fails { every, after }))
    },
);

pub(super) const DROWNS: Engine = engine(
    "drowns",
    "drowns:?after=1000",
    "Refuses every set after some, for good",
    || schemars::schema_for!(DrownOptions),
    |url, _| {
        let DrownOptions { after } = url.options("drowns")?;
        Ok(MapStore::open("drowns", url, Fault::Drowns { after }))
    },
);

pub(super) const SLEEPS: Engine = engine(
    "sleeps",
    "sleeps:?micros=50",
    "Sleeps in each operation",
    || schemars::schema_for!(SleepOptions),
    |url, _| {
        let SleepOptions { micros, spread } = url.options("sleeps")?;
        let [time, spread] = [micros, spread].map(Duration::from_micros);
        Ok(MapStore::open("sleeps", url, Fault::Sleeps { time, spread }))
    },
);

pub(super) const SPINS: Engine = engine(
    "spins",
    "spins:?micros=25",
    "Keeps the processor busy in each operation",
    || schemars::schema_for!(SpinOptions),
    |url, _| {
        let SpinOptions { micros } = url.options("spins")?;
        Ok(MapStore::open("spins", url, Fault::Spins(Duration::from_micros(micros))))
    },
);

pub(super) const TIRES: Engine = engine(
    "tires",
    "tires:",
    "Sleeps longer in each operation than in the previous operation",
    super::map::schema,
    |url, _| Ok(MapStore::open("tires", url, Fault::Tires)),
);

pub(super) const MISSES: Engine = engine(
    "misses",
    "misses:",
    "Acknowledges every set and finds nothing",
    super::map::schema,
    |url, _| {
        let super::map::MapOptions {} = url.options("misses")?;
        Ok(MapStore::open("misses", url, Fault::Misses))
    },
);

pub(super) const LINGERS: Engine =
    engine("lingers", "lingers:", "Answers with expired entries", super::map::schema, |url, _| {
        let super::map::MapOptions {} = url.options("lingers")?;
        Ok(MapStore::open("lingers", url, Fault::Lingers))
    });

pub(super) const HURRIES: Engine = engine(
    "hurries",
    "hurries:",
    "Takes the seconds of a TTL for milliseconds",
    super::map::schema,
    |url, _| {
        let super::map::MapOptions {} = url.options("hurries")?;
        Ok(MapStore::open("hurries", url, Fault::Hurries))
    },
);

pub(super) const RACES: Engine = engine(
    "races",
    "races:",
    "Has a clock that runs twice as fast",
    super::map::schema,
    |url, _| {
        let super::map::MapOptions {} = url.options("races")?;
        Ok(MapStore::open("races", url, Fault::Races))
    },
);

pub(super) const CLINGS: Engine = engine(
    "clings",
    "clings:",
    "Keeps the tag of an entry that is set without a tag",
    super::map::schema,
    |url, _| {
        let super::map::MapOptions {} = url.options("clings")?;
        Ok(MapStore::open("clings", url, Fault::Clings))
    },
);

pub(super) const UNTAGS: Engine = engine(
    "untags",
    "untags:?every=10",
    "Keeps some entries without their tag",
    || schemars::schema_for!(EveryOptions),
    |url, _| Ok(MapStore::open("untags", url, Fault::Untags { every: every("untags", url)? })),
);

pub(super) const SPILLS: Engine = engine(
    "spills",
    "spills:",
    "Leaves the last byte of a prefix or tag out when it reads by it",
    super::map::schema,
    |url, _| {
        let super::map::MapOptions {} = url.options("spills")?;
        Ok(MapStore::open("spills", url, Fault::Spills))
    },
);

pub(super) const TRADES: Engine = engine(
    "trades",
    "trades:",
    "Leaves out one entry of a prefix or tag, and returns another entry",
    super::map::schema,
    |url, _| {
        let super::map::MapOptions {} = url.options("trades")?;
        Ok(MapStore::open("trades", url, Fault::Trades))
    },
);
