//! One use of a key, as it is kept for the analysis.

use larder_workload::trace::{Outcome, Row, Verb};
use rapidhash::RapidHashMap;

/// What a row did to a look-aside cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Read, and it is not known whether it was found.
    Read = 0,
    /// Read, and not found by the recorded cache.
    Missed = 1,
    /// Stored, whatever was there.
    Write = 2,
    /// Stored where something was there.
    Change = 3,
    /// Renewed its TTL.
    Renew = 4,
    /// Removed.
    Drop = 5,
    /// Read, and found by the recorded cache.
    Found = 6,
    /// Stored where nothing was there.
    Add = 7,
}

impl Kind {
    /// The kind of a row. What failed where it was recorded may be carried out by another cache, and counts.
    pub(crate) fn of(row: &Row<'_>) -> Self {
        match (row.operation, row.result) {
            (Verb::Get | Verb::Gat, Some(Outcome::Miss)) => Self::Missed,
            (Verb::Get | Verb::Gat, Some(Outcome::Hit)) => Self::Found,
            (Verb::Get | Verb::Gat, _) => Self::Read,
            (Verb::Delete, _) => Self::Drop,
            (Verb::Touch, _) => Self::Renew,
            (Verb::Set, _) | (Verb::Add, Some(Outcome::Stored)) => Self::Write,
            (Verb::Add, _) => Self::Add,
            _ if row.creates() => Self::Add,
            (
                Verb::Replace | Verb::Append | Verb::Prepend | Verb::Cas | Verb::Incr | Verb::Decr,
                _,
            ) => Self::Change,
        }
    }

    fn of_number(number: u64) -> Self {
        match number {
            0 => Self::Read,
            1 => Self::Missed,
            2 => Self::Write,
            3 => Self::Change,
            4 => Self::Renew,
            6 => Self::Found,
            7 => Self::Add,
            _ => Self::Drop,
        }
    }

    /// Whether the kind is a read.
    pub(crate) fn reads(self) -> bool {
        matches!(self, Self::Read | Self::Missed | Self::Found)
    }
}

/// The bits of a time.
const TIME_BITS: u32 = 31;

/// The last time.
const LAST: u32 = (1 << TIME_BITS) - 1;

/// Marks a size that is not known.
const UNKNOWN: u32 = u32::MAX;

/// The bits of a hash that are kept. Two keys of a level of millions have the same bits with a probability of a few percent.
const HASH_BITS: u32 = 48;
const KIND_BITS: u32 = 3;

/// A use of a key, in 16 bytes: samples are as large as memory allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reference {
    /// The high bits of the hash, then the number of the TTL, then the kind.
    packed: u64,
    /// Whether the time is a part of a tick later, then the whole ticks since the beginning: up to four years.
    at: u32,
    size: u32,
}

/// A time in ticks since the beginning of a trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ticks {
    /// The whole ticks.
    pub(crate) whole: u32,
    /// Whether it is a part of a tick later.
    pub(crate) is_later: bool,
}

impl Reference {
    /// A use with all that is known of it. The size is that of key and value; a TTL has a number in [`Ttls`].
    #[inline]
    pub(crate) fn new(hash: u64, kind: Kind, size: Option<u32>, ttl: TtlNumber, at: Ticks) -> Self {
        let packed = Self::kept_hash(hash) | u64::from(ttl.0) << KIND_BITS | kind as u64;
        let size = size.map_or(UNKNOWN, |size| size.min(UNKNOWN - 1));
        Self { packed, at: u32::from(at.is_later) << TIME_BITS | at.whole.min(LAST), size }
    }

    /// The low bits of a kept hash, all of which are 0.
    pub(crate) const FREE_BITS: u64 = u64::MAX >> HASH_BITS;

    /// The bits of a hash that are kept.
    #[inline]
    pub(crate) fn kept_hash(hash: u64) -> u64 {
        hash & !Self::FREE_BITS
    }

    /// Whether another use differs in its time at most.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        Self { at: self.at, ..*other } == *self
    }

    /// The number of the key, scattered; its low bits are 0.
    #[inline]
    pub(crate) fn hash(&self) -> u64 {
        Self::kept_hash(self.packed)
    }

    /// What was done.
    pub(crate) fn kind(&self) -> Kind {
        Kind::of_number(self.packed & ((1 << KIND_BITS) - 1))
    }

    /// The size of key and value in bytes, where it was recorded.
    pub(crate) fn size(&self) -> Option<u32> {
        (self.size != UNKNOWN).then_some(self.size)
    }

    /// Whether the time is a part of a tick later than the whole ticks.
    pub(crate) fn is_later(&self) -> bool {
        self.at >> TIME_BITS == 1
    }

    /// The time, in whole ticks since the beginning.
    pub(crate) fn at(&self) -> u32 {
        self.at & LAST
    }

    /// The number of its TTL.
    #[expect(clippy::cast_possible_truncation, reason = "the bits of a number")]
    pub(crate) fn ttl(&self) -> TtlNumber {
        TtlNumber((self.packed >> KIND_BITS) as u16 & Ttls::LAST)
    }
}

/// The number of a TTL.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TtlNumber(u16);

/// The TTLs of a trace, each with a number. Applications have few; of many thousands, the later ones get the nearest.
#[derive(Debug)]
pub(crate) struct Ttls {
    /// In seconds, by number; 0 for none.
    seconds: Vec<u32>,
    numbers: RapidHashMap<u32, TtlNumber>,
}

impl Ttls {
    /// The largest number.
    const LAST: u16 = (1 << (64 - HASH_BITS - KIND_BITS)) - 1;

    /// Only the number 0, which is no TTL.
    pub(crate) fn new() -> Self {
        let none = (0, TtlNumber(0));
        Self { seconds: vec![0], numbers: RapidHashMap::from_iter([none]) }
    }

    /// The number of a TTL in seconds.
    pub(crate) fn number(&mut self, seconds: u32) -> TtlNumber {
        if seconds == 0 {
            return TtlNumber(0);
        }
        if let Some(number) = self.numbers.get(&seconds) {
            return *number;
        }
        let number = match u16::try_from(self.seconds.len()) {
            Ok(next) if next <= Self::LAST => {
                self.seconds.push(seconds);
                TtlNumber(next)
            }
            _ => return self.nearest(seconds),
        };
        self.numbers.insert(seconds, number);
        number
    }

    fn nearest(&self, seconds: u32) -> TtlNumber {
        let numbered = self.numbers.iter().filter(|(known, _)| **known > 0);
        let nearest = numbered.min_by_key(|(known, _)| known.abs_diff(seconds));
        nearest.map_or(TtlNumber(0), |(_, number)| *number)
    }

    /// The TTL of a number, in seconds.
    pub(crate) fn seconds(&self, number: TtlNumber) -> u32 {
        self.seconds[usize::from(number.0)]
    }
}
