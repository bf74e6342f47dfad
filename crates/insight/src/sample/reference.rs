//! One use of a key, as it is kept for the analysis.

use larder_workload::trace::{Outcome, Row, Verb};
use rapidhash::RapidHashMap;

/// What a row did to a look-aside cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Read, and found or not known.
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
}

impl Kind {
    /// The kind of a row; `None` where it left the cache as it was.
    pub(crate) fn of(row: &Row<'_>) -> Option<Self> {
        match (row.operation, row.result) {
            (_, Some(Outcome::Error)) => None,
            (Verb::Get | Verb::Gat, Some(Outcome::Miss)) => Some(Self::Missed),
            (Verb::Get | Verb::Gat, _) => Some(Self::Read),
            (Verb::Delete, _) => Some(Self::Drop),
            (Verb::Touch, _) => Some(Self::Renew),
            (_, Some(Outcome::NotStored | Outcome::Exists)) => None,
            (Verb::Set | Verb::Add, _) => Some(Self::Write),
            _ if row.creates() => Some(Self::Write),
            (
                Verb::Replace | Verb::Append | Verb::Prepend | Verb::Cas | Verb::Incr | Verb::Decr,
                _,
            ) => Some(Self::Change),
        }
    }

    fn of_number(number: u64) -> Self {
        match number {
            0 => Self::Read,
            1 => Self::Missed,
            2 => Self::Write,
            3 => Self::Change,
            4 => Self::Renew,
            _ => Self::Drop,
        }
    }

    /// Whether the kind is a read.
    pub(crate) fn reads(self) -> bool {
        matches!(self, Self::Read | Self::Missed)
    }
}

/// Marks a size that is not known.
const UNKNOWN: u32 = u32::MAX;

/// The bits of a hash that are kept. Two keys of a level of millions have the same bits with a probability of a few percent.
const HASH_BITS: u32 = 48;
const KIND_BITS: u32 = 3;

/// A use of a key, in 16 bytes: samples are as large as memory allows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reference {
    /// The high bits of the hash, then the number of the TTL, then the kind.
    packed: u64,
    /// The time, in ticks since the beginning.
    pub(crate) at: u32,
    size: u32,
}

impl Reference {
    /// A use with all that is known of it. The size is that of key and value; a TTL has a number in [`Ttls`].
    #[inline]
    pub(crate) fn new(hash: u64, kind: Kind, size: Option<u32>, ttl: TtlNumber, at: u32) -> Self {
        let high = hash & !(u64::MAX >> HASH_BITS);
        let packed = high | u64::from(ttl.0) << KIND_BITS | kind as u64;
        Self { packed, at, size: size.unwrap_or(UNKNOWN) }
    }

    /// The number of the key, scattered; its low bits are 0.
    #[inline]
    pub(crate) fn hash(&self) -> u64 {
        self.packed & !(u64::MAX >> HASH_BITS)
    }

    /// What was done.
    pub(crate) fn kind(&self) -> Kind {
        Kind::of_number(self.packed & ((1 << KIND_BITS) - 1))
    }

    /// The size of key and value in bytes, where it was recorded.
    pub(crate) fn size(&self) -> Option<u32> {
        (self.size != UNKNOWN).then_some(self.size)
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
