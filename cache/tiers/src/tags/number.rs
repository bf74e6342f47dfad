//! The numbers of counters, and the state of an entry by them.

use std::hash::{BuildHasher, RandomState};

/// The step that ends all entries of a tag: the numbers before and after have no common upper part.
pub(crate) const DELETES: u64 = 1 << LOWER_BITS;
/// The step that marks the entries of a tag as expired, to be kept for the time of grace: the upper part stays.
pub(crate) const EXPIRES: u64 = 1;

const LOWER_BITS: u32 = 20;

/// A number for a counter that is made anew. The numbers of a lost counter of the tag are unknown, so it is a random one
/// among 2^63.
pub(crate) fn draw_number() -> u64 {
    RandomState::new().hash_one(std::process::id()) >> 1
}

/// The number of a counter as a tier keeps it.
pub(crate) fn read_number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.trim_ascii().parse().ok()
}

/// What is known of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    /// Its number.
    Is(u64),
    /// Its number some time ago: the lowest tier fails.
    Was(u64),
    /// The lowest tier has none.
    Absent,
    /// The lowest tier fails.
    Unknown,
}

/// The state of an entry by the counters of its tags. The greatest of several is the entry's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TagState {
    /// No tag of the entry has ended.
    Valid,
    /// No tag had ended some time ago, and the lowest tier fails.
    WasValid,
    /// A tag has expired: the entry has expired too, and is kept for the time of grace.
    Expired,
    /// The lowest tier fails, and no tier above knows the counter.
    Unknown,
    /// A tag has ended: the entry is invalidated.
    Invalidated,
}

impl TagState {
    /// Whether only the lowest tier could decide.
    pub(crate) fn is_unsure(self) -> bool {
        matches!(self, Self::WasValid | Self::Unknown)
    }
}

/// The state of an entry with this version of a tag, by the present number of the tag's counter.
pub(crate) fn tag_state(tag_version: u64, now: Number) -> TagState {
    match now {
        Number::Absent => TagState::Invalidated,
        Number::Unknown => TagState::Unknown,
        Number::Is(now) | Number::Was(now) if now >> LOWER_BITS != tag_version >> LOWER_BITS => {
            TagState::Invalidated
        }
        Number::Is(now) | Number::Was(now) if now != tag_version => TagState::Expired,
        Number::Is(_) => TagState::Valid,
        Number::Was(_) => TagState::WasValid,
    }
}

/// Whether a counter has counted on since a tag version: then an older copy of the counter cannot be why they differ. Two random
/// numbers lie so close together once in 500,000 times.
pub(crate) fn is_later(tag_version: u64, now: Number) -> bool {
    let Number::Is(now) = now else { return false };
    (1..1 << LATER_BITS).contains(&now.wrapping_sub(tag_version))
}

/// The numbers within which a counter is taken for the same one: 16 million ends of a tag.
const LATER_BITS: u32 = LOWER_BITS + 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_says_what_became_of_an_entry() {
        let tag_version = 5 * DELETES + 7;
        for (now, says) in [
            (Number::Is(tag_version), TagState::Valid),
            (Number::Was(tag_version), TagState::WasValid),
            (Number::Is(tag_version + EXPIRES), TagState::Expired),
            (Number::Was(tag_version + EXPIRES), TagState::Expired),
            (Number::Is(tag_version + DELETES), TagState::Invalidated),
            (Number::Is(tag_version + DELETES - EXPIRES), TagState::Invalidated),
            (Number::Is(tag_version.wrapping_sub(DELETES)), TagState::Invalidated),
            (Number::Absent, TagState::Invalidated),
            (Number::Unknown, TagState::Unknown),
        ] {
            assert_eq!(tag_state(tag_version, now), says, "{now:?}");
        }
        assert_eq!(tag_state(u64::MAX, Number::Is(DELETES - 1)), TagState::Invalidated, "it wraps");
        assert!(
            [TagState::Expired, TagState::Invalidated, TagState::Unknown].iter().max()
                == Some(&TagState::Invalidated)
        );
    }

    #[test]
    fn a_counter_that_has_counted_on_is_told_from_an_older_one() {
        let tag_version = 5 * DELETES + 7;
        for (now, is_later_one) in [
            (Number::Is(tag_version + EXPIRES), true),
            (Number::Is(tag_version + 1000 * DELETES), true),
            (Number::Is(tag_version), false),
            (Number::Is(tag_version - EXPIRES), false),
            (Number::Is(tag_version + (1 << LATER_BITS)), false),
            (Number::Was(tag_version + DELETES), false),
            (Number::Absent, false),
        ] {
            assert_eq!(is_later(tag_version, now), is_later_one, "{now:?}");
        }
    }

    #[test]
    fn numbers_are_drawn_anew_and_read_as_servers_keep_them() {
        let drawn: std::collections::HashSet<_> = (0..1000).map(|_| draw_number()).collect();
        assert!(drawn.len() == 1000 && drawn.iter().all(|number| *number < 1 << 63));
        assert_eq!(
            (read_number(b"17"), read_number(b"17 "), read_number(b"17\xF6"), read_number(b"")),
            (Some(17), Some(17), None, None)
        );
    }
}
