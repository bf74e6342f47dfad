//! The numbers of messages: whether one is missing.

use std::collections::HashMap;

use larder_store::{Id, Origin};

/// The most publishers that are remembered. A process that publishes takes a place.
const MOST: usize = 1 << 14;

/// The last number of each publisher since the subscription began.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    last: HashMap<Id, u64>,
}

impl Numbers {
    /// Whether a message of this publisher is missing before this one. What a publisher sent before the subscription
    /// began is not missing: everything was ended then. A repeated message is not a gap.
    pub(super) fn is_gap(&mut self, origin: &Origin) -> bool {
        if self.last.len() >= MOST && !self.last.contains_key(&origin.publisher) {
            // What is forgotten could hide a gap.
            self.last.clear();
            self.last.insert(origin.publisher, origin.number);
            return true;
        }
        let last = self.last.entry(origin.publisher).or_insert(origin.number);
        let is_gap = origin.number > last.saturating_add(1);
        *last = origin.number.max(*last);
        is_gap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(publisher: u8, number: u64) -> Origin {
        Origin { group: Id([0; 16]), publisher: Id([publisher; 16]), number }
    }

    #[test]
    fn a_number_too_high_is_a_gap_and_a_repeated_one_is_not() {
        let mut numbers = Numbers::default();
        for (publisher, number, is_gap) in [
            (1, 7, false),
            (1, 8, false),
            (2, 1, false),
            (1, 8, false),
            (1, 7, false),
            (1, 10, true),
            (1, 11, false),
            (2, 3, true),
            (3, u64::MAX, false),
            (3, u64::MAX, false),
        ] {
            assert_eq!(numbers.is_gap(&origin(publisher, number)), is_gap, "{publisher} {number}");
        }
    }

    #[test]
    fn to_forget_publishers_counts_as_a_gap() {
        let mut numbers = Numbers::default();
        let of = |number: usize| Origin {
            publisher: Id((number as u128).to_ne_bytes()),
            ..origin(0, 1)
        };
        assert!((0..MOST).all(|number| !numbers.is_gap(&of(number))));
        assert!(numbers.is_gap(&of(MOST)));
        assert!(!numbers.is_gap(&of(MOST + 1)));
    }
}
