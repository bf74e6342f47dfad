//! The faults of the test store, and their effect on each step.

use std::thread::sleep;
use std::time::{Duration, Instant};

use larder_store::{Delta, Error, Result};

/// The fault of a store. Counts run over the whole store, so that a run is reproducible with one thread.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    None,
    DropsSets { every: u64 },
    Truncates { keep: usize },
    FlipsBits { every: u64 },
    SwapsValues { every: u64 },
    KeepsOldValues { every: u64 },
    KeepsDeleted { every: u64 },
    KeepsCleared,
    Fails { every: u64, after: u64 },
    FillsUp { after: u64 },
    Sleeps { time: Duration, spread: Duration },
    Spins(Duration),
    SlowsDown,
    MissesAll,
    KeepsExpired,
    ShortensTtls,
    HasFastClock,
    KeepsTags,
    LosesTags { every: u64 },
    ShortensPrefixes,
    MisplacesEntries,
    ReportsOldVersions,
    AddsToInitials,
    IgnoresVersions,
    ReversesOutcomes,
    CountsTwice { every: u64 },
    LosesCounts { every: u64 },
    KeepsTtls,
    LeasesToAll,
    IgnoresTokens,
    IgnoresExpire,
    LeasesLate,
    KeepsLeases,
    SwapsTokens,
    IgnoresBatchTokens,
    ReordersRequests,
    SwapsAnswers,
    LosesAnswers,
    RepeatsAnswers,
    StopsAtErrors,
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
            Self::SlowsDown => sleep(FIRST_TIME + ADDED_TIME * operations()),
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
    pub(super) fn stored_value(self, mut value: Vec<u8>, sets: u64) -> Vec<u8> {
        match self {
            Self::Truncates { keep } => value.truncate(keep),
            Self::FlipsBits { every } if sets.is_multiple_of(every) => {
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
        !matches!(self, Self::KeepsCleared)
    }

    /// Whether there is space for this set.
    pub(super) fn check_space(self, engine: &'static str, sets: u64) -> Result<()> {
        match self {
            Self::FillsUp { after } if sets >= after => {
                Err(Error::Full { engine, what: format!("no room after {after} sets") })
            }
            _ => Ok(()),
        }
    }

    /// Whether this set is kept, or only acknowledged.
    pub(super) fn keeps_set(self, sets: u64, is_overwrite: bool) -> bool {
        match self {
            Self::DropsSets { every } => !sets.is_multiple_of(every),
            Self::KeepsOldValues { every } => !(is_overwrite && sets.is_multiple_of(every)),
            _ => true,
        }
    }

    /// Whether this delete is carried out, or only acknowledged.
    pub(super) fn deletes(self, operations: u64) -> bool {
        !matches!(self, Self::KeepsDeleted { every } if operations.is_multiple_of(every))
    }

    /// Whether every read misses.
    pub(super) fn misses_all(self) -> bool {
        matches!(self, Self::MissesAll)
    }

    /// The TTL that an entry really gets.
    pub(super) fn ttl(self, requested: Option<Duration>) -> Option<Duration> {
        match self {
            Self::KeepsExpired => None,
            Self::ShortensTtls => requested.map(|ttl| ttl / 1000),
            Self::HasFastClock => requested.map(|ttl| ttl / 2),
            _ => requested,
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
            Self::KeepsTags => tag.or(old),
            Self::LosesTags { every } => tag.filter(|_| !(sets + 1).is_multiple_of(every)),
            _ => tag,
        }
    }

    /// The prefix that the store really searches.
    pub(super) fn searched(self, prefix: &[u8]) -> &[u8] {
        match self {
            Self::ShortensPrefixes => &prefix[..prefix.len().saturating_sub(1)],
            _ => prefix,
        }
    }

    /// Whether a read by `tag` finds an entry with the tag `own`.
    pub(super) fn matches_tag(self, own: &[u8], tag: &[u8]) -> bool {
        match self {
            Self::ShortensPrefixes => own.starts_with(self.searched(tag)),
            _ => own == tag,
        }
    }

    /// The version that a write reports, which made this one.
    pub(super) fn reported_version(self, version: u64) -> u64 {
        if matches!(self, Self::ReportsOldVersions) { version - 1 } else { version }
    }

    /// The number that is stored of an absent key's initial number.
    pub(super) fn initial_number(self, number: u64, delta: Delta) -> u64 {
        if matches!(self, Self::AddsToInitials) { delta.applied_to(number) } else { number }
    }

    /// The number that a count reports, from the number before. It is the `nth` count, from 1.
    pub(super) fn counted_number(self, number: u64, delta: Delta, nth: u64) -> u64 {
        let sum = delta.applied_to(number);
        match self {
            Self::CountsTwice { every } if nth.is_multiple_of(every) => delta.applied_to(sum),
            _ => sum,
        }
    }

    /// Whether a count is kept, or only reported.
    pub(super) fn keeps_count(self, nth: u64) -> bool {
        !matches!(self, Self::LosesCounts { every } if nth.is_multiple_of(every))
    }

    /// Whether a delete compares the version.
    pub(super) fn compares_versions(self) -> bool {
        !matches!(self, Self::IgnoresVersions)
    }

    /// Whether the outcomes of a batch are reported in the order of its entries.
    pub(super) fn is_in_order(self) -> bool {
        !matches!(self, Self::ReversesOutcomes)
    }

    /// Whether a read that should renew the TTL does so.
    pub(super) fn renews_ttl(self) -> bool {
        !matches!(self, Self::KeepsTtls)
    }

    /// Whether only one caller at a time gets the lease of a key.
    pub(super) fn leases_to_one(self) -> bool {
        !matches!(self, Self::LeasesToAll)
    }

    /// Whether a fill compares its token.
    pub(super) fn compares_tokens(self) -> bool {
        !matches!(self, Self::IgnoresTokens)
    }

    /// Whether an entry that is expired is marked as stale.
    pub(super) fn marks_stale(self) -> bool {
        !matches!(self, Self::IgnoresExpire)
    }

    /// Whether an entry that ends soon is leased before its end.
    pub(super) fn leases_early(self) -> bool {
        !matches!(self, Self::LeasesLate)
    }

    /// The time that a lease really gets.
    pub(super) fn lease_time(self, time: Duration) -> Duration {
        if matches!(self, Self::KeepsLeases) { time + Duration::from_hours(1) } else { time }
    }

    /// Whether each key of a batch has its own lease.
    pub(super) fn keeps_tokens_apart(self) -> bool {
        !matches!(self, Self::SwapsTokens)
    }

    /// Whether the fills of a batch compare their tokens.
    pub(super) fn compares_tokens_of_batches(self) -> bool {
        !matches!(self, Self::IgnoresBatchTokens)
    }

    /// Whether this pipelined request is carried out and answered ahead of the request before it.
    pub(super) fn reorders(self, n: u64) -> bool {
        matches!(self, Self::ReordersRequests) && is_last_of(10, n)
    }

    /// Whether this pipelined request and the request before it have each other's answers.
    pub(super) fn swaps_answers(self, n: u64) -> bool {
        matches!(self, Self::SwapsAnswers) && is_last_of(10, n)
    }

    /// Whether the last answer to this pipelined request is lost.
    pub(super) fn loses_answer(self, n: u64) -> bool {
        matches!(self, Self::LosesAnswers) && is_last_of(100, n)
    }

    /// Whether this pipelined request is answered once more.
    pub(super) fn repeats_answer(self, n: u64) -> bool {
        matches!(self, Self::RepeatsAnswers) && is_last_of(100, n)
    }

    /// Whether a failure leaves the pipelined requests behind it without answers.
    pub(super) fn stops_at_errors(self) -> bool {
        matches!(self, Self::StopsAtErrors)
    }

    /// Whether a read of a group omits one of its entries and returns an entry of another group.
    pub(super) fn misplaces_entries(self) -> bool {
        matches!(self, Self::MisplacesEntries)
    }

    /// Whether this hit gets the value of another key.
    pub(super) fn swaps_value(self, operations: u64) -> bool {
        matches!(self, Self::SwapsValues { every } if operations.is_multiple_of(every))
    }
}

/// Whether `n`, from 0, is the last of each group of this size.
fn is_last_of(each: u64, n: u64) -> bool {
    (n + 1).is_multiple_of(each)
}

/// A part of a time that differs by operation and by time, and is the same in each run.
fn part_of(whole: Duration, operation: u32) -> Duration {
    // Fibonacci hashing twice, so that consecutive operations have no even spread.
    let seed = u64::from(whole.subsec_micros());
    let mixed = (seed << 32 | u64::from(operation)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    whole * u32::try_from(mixed >> 48).unwrap_or(0) / (1 << 16)
}

/// The time of the first operation of a store that slows down.
const FIRST_TIME: Duration = Duration::from_micros(100);
/// The additional time of each of its operations over the previous one: more than a busy machine's delays, in a few rounds.
const ADDED_TIME: Duration = Duration::from_micros(25);
