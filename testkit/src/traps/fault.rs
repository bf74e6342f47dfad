//! The faults of a server, and their effect on each step.

use std::time::Duration;

/// The fault of a server. `every: n` means each n-th occasion; counts run over all connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// No fault: the server is sound, and no check may fire.
    None,
    /// Acknowledges deletes and does not carry them out. NOT-EMPTIED, and STALE where a deleted key is read.
    IgnoresDeletes {
        /// 1 ignores all of them.
        every: u64,
    },
    /// Keeps the first value of a key until it is deleted, and acknowledges every later one. STALE.
    KeepsFirst,
    /// Answers a set of an existing key with an error. ERR-AS-OP, because the read-back sets some keys again.
    RefusesOverwrites,
    /// Stops answering once an existing key is set. The target is lost, with the reason.
    HangsOnOverwrites,
    /// Acknowledges sets and forgets some. SILENT-DROP.
    DropsSets {
        /// The fault occurs at each n-th set.
        every: u64,
    },
    /// The same, and counts each as an eviction. A client cannot tell the server from a small cache: CAPACITY.
    DropsAndCounts {
        /// The fault occurs at each n-th set.
        every: u64,
    },
    /// Acknowledges a set before it has read the value, and loses some of these values. SILENT-DROP.
    AcknowledgesEarly {
        /// The fault occurs at each n-th set.
        every: u64,
    },
    /// Acknowledges every set and stores nothing. SILENT-DROP and NEVER-HITS.
    NeverStores,
    /// Is right until it holds this many entries; then each new entry replaces the oldest, and no counter reports it.
    /// SILENT-DROP.
    DropsWhenFull {
        /// The most entries that it holds.
        entries: usize,
    },
    /// Loses all entries now and then, like a server that restarts. SILENT-DROP.
    Restarts {
        /// The fault occurs at each n-th request.
        every: u64,
    },
    /// Answers some hits as misses. SILENT-DROP, because the read-back asks for absent keys only once.
    Misses {
        /// The fault occurs at each n-th hit.
        every: u64,
    },
    /// Leaves the last key out of the answer to a request for several keys. NEVER-HITS where the plan reads several at
    /// once.
    LeavesOut,
    /// Flips one bit of a value that it answers. DAMAGED.
    FlipsBits {
        /// The fault occurs at each n-th hit.
        every: u64,
    },
    /// Answers a value with more bytes behind it, and counts them in its length. DAMAGED.
    AppendsBytes {
        /// The fault occurs at each n-th hit.
        every: u64,
    },
    /// Keeps the beginning of each value. TRUNCATED.
    CutsValues {
        /// The number of bytes kept.
        keep: usize,
    },
    /// Answers the value of another key. OTHER-KEY.
    SwapsValues {
        /// The fault occurs at each n-th hit.
        every: u64,
    },
    /// Ignores the last character of a key, so that keys of several namespaces share an entry. OTHER-KEY.
    FoldsKeys,
    /// Answers with the overwritten value of a key, like a lagging replica. STALE.
    AnswersOld {
        /// The fault occurs at each n-th hit on an overwritten key.
        every: u64,
    },
    /// Carries a set out only after this many further requests. STALE, or SILENT-DROP where the key is new.
    Lags {
        /// The number of further requests.
        by: u64,
    },
    /// Restores a deleted entry after the first request for it. STALE where a plan asks for deleted keys twice.
    Revives,
    /// Restores a deleted entry after two more connections, like a failover to an old copy. NOT-EMPTIED, because
    /// removed keys are looked up again before the next turn.
    ReturnsLater,
    /// Lets other connections find a deleted entry for this many more requests, like lagging replicas. STALE where
    /// several threads mix deletes with reads.
    LingersElsewhere {
        /// The number of further requests.
        by: u64,
    },
    /// Acknowledges sets of keys whose last byte is odd and stores nothing, like a shard that is down. SILENT-DROP and
    /// NEVER-HITS.
    DropsOddKeys,
    /// Answers some hits that follow a set as misses, though never two in a row. NEVER-HITS.
    MissesAfterSets {
        /// The fault occurs at each n-th of these hits.
        every: u64,
    },
    /// Accepts TTLs and keeps entries for ever. TTL-TRUTH.
    IgnoresTtl,
    /// Has a clock that runs twice as fast, so that entries live half as long. TTL-TRUTH.
    RunsFast,
    /// Ends every other entry a second early, as servers with a clock of whole seconds may, memcached included. The
    /// server is sound: no check may fire.
    TicksOnceASecond,
    /// Acknowledges touches and leaves the TTL unchanged. TTL-TRUTH.
    IgnoresTouch,
    /// Leaves the TTL of an entry unchanged when it is set again. TTL-TRUTH.
    KeepsFirstTtl,
    /// Renews the TTL of an entry when it is read. TTL-TRUTH.
    Slides,
    /// Keeps entries for ever while it holds more than this many. TTL-TRUTH where reads go on for longer than the TTL.
    ExpiresWhenFew {
        /// The number of entries up to which TTLs apply.
        entries: usize,
    },
    /// Keeps values longer than this many bytes for ever. TTL-TRUTH, because the trial has values of the plan's size.
    KeepsLargeForEver {
        /// The longest value with a working TTL.
        bytes: usize,
    },
    /// Keeps entries whose keys are longer than this many bytes for ever. TTL-TRUTH, because the trial has keys of the
    /// plan's length.
    KeepsLongKeysForEver {
        /// The longest key with a working TTL.
        bytes: usize,
    },
    /// Acknowledges sets and touches that would prolong an entry with a long value, and leaves its end unchanged.
    /// TTL-TRUTH.
    NeverProlongsLarge {
        /// The longest value that can be prolonged.
        bytes: usize,
    },
    /// Answers requests for this many keys from copies that no set replaces. STALE, because the read-back asks for
    /// several keys in one request before and after it sets them again.
    AnswersCopiesTogether {
        /// The fewest keys of such a request.
        keys: usize,
    },
    /// Answers entries that have ended to requests for several keys. TTL-TRUTH.
    AnswersEndedTogether,
    /// Keeps no flags: every value comes back with 0. DAMAGED, because the read-back sets some values with other flags.
    ForgetsFlags,
    /// Denies some existing keys when they are touched. NEVER-HITS.
    DeniesTouches {
        /// The fault occurs at each n-th touch.
        every: u64,
    },
    /// Denies some existing keys when they are deleted, and deletes them. NEVER-HITS.
    DeniesDeletes {
        /// The fault occurs at each n-th delete.
        every: u64,
    },
    /// Answers touches with an error, and keeps entries for ever. TTL-TRUTH, whatever happens to the touches.
    FailsTouches,
    /// Acknowledges `flush_all` and does nothing. Larder never flushes an external server, so no check fires.
    IgnoresFlush,
    /// Answers some requests after half a second. EXCLUDED-TIME.
    Stalls {
        /// The fault occurs at each n-th request.
        every: u64,
    },
    /// Closes the connection in place of an answer. ERR-AS-OP.
    Closes {
        /// The fault occurs at each n-th request.
        every: u64,
    },
    /// Stops answering, on any connection. The target is lost, with the reason.
    Hangs {
        /// The number of requests before that.
        after: u64,
    },
    /// Answers some requests with an invalid line. ERR-AS-OP.
    AnswersGarbage {
        /// The fault occurs at each n-th request.
        every: u64,
    },
    /// Answers a hit with another key in its `VALUE` line. ERR-AS-OP.
    NamesOtherKey {
        /// The fault occurs at each n-th hit.
        every: u64,
    },
    /// Answers a read with the last answer of another connection, like a proxy that mixes up its pool. ERR-AS-OP,
    /// because the `VALUE` line names a key that was not asked for.
    CrossesConnections {
        /// The fault occurs at each n-th read.
        every: u64,
    },
    /// Ends the answer to a hit with a second `END`. ERR-AS-OP.
    EndsTwice {
        /// The fault occurs at each n-th read.
        every: u64,
    },
    /// Answers a hit with other flags than it was set with. DAMAGED.
    ChangesFlags {
        /// The fault occurs at each n-th hit.
        every: u64,
    },
}

/// The fate of an acknowledged set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// The value is stored.
    Stored,
    /// The value is forgotten.
    Forgotten,
    /// The value is forgotten, and counted as an eviction.
    Evicted,
}

/// The fate of an answer on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// The answer is sent.
    Whole,
    /// The answer is sent after this time.
    Later(Duration),
    /// The connection is closed.
    Closed,
    /// No answer is sent.
    Nothing,
    /// An invalid line is sent instead.
    Garbage,
}

/// The length of a stall.
const STALL: Duration = Duration::from_millis(500);

impl Fault {
    /// The key under which the server really stores an entry.
    pub(super) fn key(self, key: &[u8]) -> &[u8] {
        match self {
            Self::FoldsKeys => &key[..key.len().saturating_sub(1)],
            _ => key,
        }
    }

    /// Whether a set is acknowledged before its value is read.
    pub(super) fn is_early(self) -> bool {
        matches!(self, Self::AcknowledgesEarly { .. })
    }

    /// The fate of the `n`-th set.
    pub(super) fn keeps(self, n: u64, key: &[u8], is_overwrite: bool) -> Kept {
        match self {
            Self::DropsOddKeys if key.last().is_some_and(|last| last % 2 == 1) => Kept::Forgotten,
            Self::DropsSets { every } | Self::AcknowledgesEarly { every }
                if n.is_multiple_of(every) =>
            {
                Kept::Forgotten
            }
            Self::DropsAndCounts { every } if n.is_multiple_of(every) => Kept::Evicted,
            Self::NeverStores => Kept::Forgotten,
            Self::KeepsFirst if is_overwrite => Kept::Forgotten,
            _ => Kept::Stored,
        }
    }

    /// The part of a value that is kept.
    pub(super) fn kept(self, mut value: Vec<u8>) -> Vec<u8> {
        if let Self::CutsValues { keep } = self {
            value.truncate(keep);
        }
        value
    }

    /// The most entries that the server holds; their evictions are not counted.
    pub(super) fn room(self) -> Option<usize> {
        match self {
            Self::DropsWhenFull { entries } => Some(entries),
            _ => None,
        }
    }

    /// Whether the `n`-th delete is carried out.
    pub(super) fn deletes(self, n: u64) -> bool {
        !matches!(self, Self::IgnoresDeletes { every } if n.is_multiple_of(every))
    }

    /// Whether all entries are lost at the `n`-th request.
    pub(super) fn restarts(self, n: u64) -> bool {
        matches!(self, Self::Restarts { every } if n.is_multiple_of(every))
    }

    /// Whether the `n`-th hit is answered as a miss. `after_set` is its number among the hits that follow a set.
    pub(super) fn misses(self, n: u64, after_set: Option<u64>) -> bool {
        match self {
            Self::Misses { every } => n.is_multiple_of(every),
            Self::MissesAfterSets { every } => {
                after_set.is_some_and(|after_set| after_set.is_multiple_of(every))
            }
            _ => false,
        }
    }

    /// The number of keys that a request for `keys` keys looks up.
    pub(super) fn asks_for(self, keys: usize) -> usize {
        if self == Self::LeavesOut && keys > 1 { keys - 1 } else { keys }
    }

    /// The number of requests by which a set is delayed; `None` for no delay.
    pub(super) fn lag(self) -> Option<u64> {
        match self {
            Self::Lags { by } => Some(by),
            _ => None,
        }
    }

    /// Whether a deleted entry comes back after the first request for it.
    pub(super) fn revives(self) -> bool {
        self == Self::Revives
    }

    /// The number of further connections after which a deleted entry comes back; `None` for never.
    pub(super) fn returns_after(self) -> Option<u64> {
        (self == Self::ReturnsLater).then_some(2)
    }

    /// Whether requests for this many keys are answered from copies.
    pub(super) fn answers_copies(self, keys: usize) -> bool {
        matches!(self, Self::AnswersCopiesTogether { keys: fewest } if keys >= fewest)
    }

    /// The new end of an entry with a value of this length, given the old end and the requested end; `None` is never.
    pub(super) fn end(
        self,
        before: Option<Duration>,
        after: Option<Duration>,
        len: usize,
    ) -> Option<Duration> {
        match self {
            Self::KeepsFirstTtl => before,
            Self::NeverProlongsLarge { bytes } if len > bytes => {
                before.into_iter().chain(after).min()
            }
            _ => after,
        }
    }

    /// Whether the TTL applies to a value of this length under a key of this length.
    pub(super) fn expires(self, key_len: usize, len: usize) -> bool {
        match self {
            Self::KeepsLongKeysForEver { bytes } => key_len <= bytes,
            Self::IgnoresTtl | Self::FailsTouches => false,
            Self::KeepsLargeForEver { bytes } => len <= bytes,
            _ => true,
        }
    }

    /// The number of further requests in which other connections find a deleted entry; `None` for no such delay.
    pub(super) fn lingers(self) -> Option<u64> {
        match self {
            Self::LingersElsewhere { by } => Some(by),
            _ => None,
        }
    }

    /// Whether a request for this many keys finds ended entries.
    pub(super) fn finds_ended(self, keys: usize) -> bool {
        self == Self::AnswersEndedTogether && keys > 1
    }

    /// Whether an ended entry is removed while there are this many entries.
    pub(super) fn drops_ended(self, entries: usize) -> bool {
        !matches!(self, Self::ExpiresWhenFew { entries: few } if entries > few)
    }

    /// Whether a read renews the TTL of an entry.
    pub(super) fn slides(self) -> bool {
        self == Self::Slides
    }

    /// Whether the `n`-th touch of an existing key denies that the key is there.
    pub(super) fn denies_touch(self, n: u64) -> bool {
        matches!(self, Self::DeniesTouches { every } if n.is_multiple_of(every))
    }

    /// Whether the `n`-th delete of an existing key denies that the key was there.
    pub(super) fn denies_delete(self, n: u64) -> bool {
        matches!(self, Self::DeniesDeletes { every } if n.is_multiple_of(every))
    }

    /// Whether a server with this fault stops answering at some point.
    pub fn hangs(self) -> bool {
        matches!(self, Self::Hangs { .. } | Self::HangsOnOverwrites)
    }

    /// Whether a touch is carried out.
    pub(super) fn touches(self) -> bool {
        self != Self::IgnoresTouch
    }

    /// Whether a flush is carried out.
    pub(super) fn flushes(self) -> bool {
        self != Self::IgnoresFlush
    }

    /// The time on the server's clock after a real time.
    pub(super) fn clock(self, elapsed: Duration) -> Duration {
        if self == Self::RunsFast { 2 * elapsed } else { elapsed }
    }

    /// Whether the `n`-th hit is answered with the value of another key.
    pub(super) fn swaps(self, n: u64) -> bool {
        matches!(self, Self::SwapsValues { every } if n.is_multiple_of(every))
    }

    /// Whether the `n`-th hit on an overwritten key is answered with the value before.
    pub(super) fn is_behind(self, n: u64) -> bool {
        matches!(self, Self::AnswersOld { every } if n.is_multiple_of(every))
    }

    /// The value that the `n`-th hit answers.
    pub(super) fn value(self, n: u64, mut value: Vec<u8>) -> Vec<u8> {
        match self {
            Self::FlipsBits { every } if n.is_multiple_of(every) => {
                let at = value.len() * 2 / 3;
                value.get_mut(at).into_iter().for_each(|byte| *byte ^= 0x10);
            }
            Self::AppendsBytes { every } if n.is_multiple_of(every) => {
                value.extend_from_slice(b"garbage");
            }
            _ => {}
        }
        value
    }

    /// The flags that the `n`-th hit answers.
    pub(super) fn flags(self, n: u64, flags: u32) -> u32 {
        match self {
            Self::ChangesFlags { every } if n.is_multiple_of(every) => flags ^ 1,
            Self::ForgetsFlags => 0,
            _ => flags,
        }
    }

    /// Whether the `n`-th hit names another key.
    pub(super) fn misnames(self, n: u64) -> bool {
        matches!(self, Self::NamesOtherKey { every } if n.is_multiple_of(every))
    }

    /// Whether the `n`-th read gets the answer of another connection.
    pub(super) fn crosses(self, n: u64) -> bool {
        matches!(self, Self::CrossesConnections { every } if n.is_multiple_of(every))
    }

    /// Whether the answer to the `n`-th read ends twice.
    pub(super) fn ends_twice(self, n: u64) -> bool {
        matches!(self, Self::EndsTwice { every } if n.is_multiple_of(every))
    }

    /// The fate of the answer to the `n`-th request about an entry.
    pub(super) fn sends(self, n: u64, has_overwritten: bool) -> Sent {
        match self {
            Self::HangsOnOverwrites if has_overwritten => Sent::Nothing,
            Self::Stalls { every } if n.is_multiple_of(every) => Sent::Later(STALL),
            Self::Closes { every } if n.is_multiple_of(every) => Sent::Closed,
            Self::AnswersGarbage { every } if n.is_multiple_of(every) => Sent::Garbage,
            Self::Hangs { after } if n > after => Sent::Nothing,
            _ => Sent::Whole,
        }
    }
}
