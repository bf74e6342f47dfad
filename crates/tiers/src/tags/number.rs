//! The numbers of counters, and what they say of an entry.

use std::hash::{BuildHasher, RandomState};

/// The step that ends all entries of a tag: the numbers before and after have no common upper part.
pub(super) const DELETES: u64 = 1 << LOWER_BITS;
/// The step after which the entries of a tag are over, and are kept for the time of grace: the upper part stays.
pub(super) const EXPIRES: u64 = 1;

const LOWER_BITS: u32 = 20;

/// A number for a counter that is made anew. Nobody can tell which numbers a lost counter of the tag had, so it is a random
/// one among 2^63.
pub(super) fn draw() -> u64 {
    RandomState::new().hash_one(std::process::id()) >> 1
}

/// The number of a counter as a tier keeps it.
pub(super) fn read(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.trim_ascii().parse().ok()
}

/// What is known of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    /// Its number.
    Is(u64),
    /// Its number some time ago: the lowest tier fails.
    Was(u64),
    /// The lowest tier has none.
    Absent,
    /// The lowest tier fails.
    Unknown,
}

/// What the counters of its tags say of an entry. The greatest of several is the entry's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standing {
    /// No tag of the entry has ended.
    Holds,
    /// No tag had ended some time ago, and the lowest tier fails.
    Held,
    /// A tag has expired: the entry is over, and is kept for the time of grace.
    Over,
    /// The lowest tier fails, and no tier above knows the counter.
    Unknown,
    /// A tag has ended: the entry is gone.
    Gone,
}

impl Standing {
    /// Whether the lowest tier would have to tell more.
    pub(crate) fn is_unsure(self) -> bool {
        matches!(self, Self::Held | Self::Unknown)
    }
}

/// What one counter says of an entry that has this number of it.
pub(super) fn standing(stamp: u64, now: Number) -> Standing {
    match now {
        Number::Absent => Standing::Gone,
        Number::Unknown => Standing::Unknown,
        Number::Is(now) | Number::Was(now) if now >> LOWER_BITS != stamp >> LOWER_BITS => {
            Standing::Gone
        }
        Number::Is(now) | Number::Was(now) if now != stamp => Standing::Over,
        Number::Is(_) => Standing::Holds,
        Number::Was(_) => Standing::Held,
    }
}

/// Whether a counter has counted on since a stamp: then an older copy of the counter cannot be why they differ. Two random
/// numbers lie so close together once in 500,000 times.
pub(super) fn is_later(stamp: u64, now: Number) -> bool {
    let Number::Is(now) = now else { return false };
    (1..1 << LATER_BITS).contains(&now.wrapping_sub(stamp))
}

/// The numbers within which a counter is taken for the same one: 16 million ends of a tag.
const LATER_BITS: u32 = LOWER_BITS + 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_says_what_became_of_an_entry() {
        let stamp = 5 * DELETES + 7;
        for (now, says) in [
            (Number::Is(stamp), Standing::Holds),
            (Number::Was(stamp), Standing::Held),
            (Number::Is(stamp + EXPIRES), Standing::Over),
            (Number::Was(stamp + EXPIRES), Standing::Over),
            (Number::Is(stamp + DELETES), Standing::Gone),
            (Number::Is(stamp + DELETES - EXPIRES), Standing::Gone),
            (Number::Is(stamp.wrapping_sub(DELETES)), Standing::Gone),
            (Number::Absent, Standing::Gone),
            (Number::Unknown, Standing::Unknown),
        ] {
            assert_eq!(standing(stamp, now), says, "{now:?}");
        }
        assert_eq!(standing(u64::MAX, Number::Is(DELETES - 1)), Standing::Gone, "it wraps");
        assert!(
            [Standing::Over, Standing::Gone, Standing::Unknown].iter().max()
                == Some(&Standing::Gone)
        );
    }

    #[test]
    fn a_counter_that_has_counted_on_is_told_from_an_older_one() {
        let stamp = 5 * DELETES + 7;
        for (now, is_later_one) in [
            (Number::Is(stamp + EXPIRES), true),
            (Number::Is(stamp + 1000 * DELETES), true),
            (Number::Is(stamp), false),
            (Number::Is(stamp - EXPIRES), false),
            (Number::Is(stamp + (1 << LATER_BITS)), false),
            (Number::Was(stamp + DELETES), false),
            (Number::Absent, false),
        ] {
            assert_eq!(is_later(stamp, now), is_later_one, "{now:?}");
        }
    }

    #[test]
    fn numbers_are_drawn_anew_and_read_as_servers_keep_them() {
        let drawn: std::collections::HashSet<_> = (0..1000).map(|_| draw()).collect();
        assert!(drawn.len() == 1000 && drawn.iter().all(|number| *number < 1 << 63));
        assert_eq!(
            (read(b"17"), read(b"17 "), read(b"17\xF6"), read(b"")),
            (Some(17), Some(17), None, None)
        );
    }
}
