//! Values that are numbers for additions. A number stands in a word of the record, so that a change
//! is one store.
//!
//! ```text
//! number 40 | changes in place 8 | check 16
//! ```
//!
//! Larger numbers, and values without an addition so far, are texts like all other values. After 255 changes in place the
//! record is written anew, because its version has 8 bits for them.

/// The largest number that has room in the word, and the most changes.
const MOST: u64 = (1 << 40) - 1;
const MOST_CHANGES: u64 = 0xff;

/// A number in a record, without its check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Number(pub(crate) u64);

impl Number {
    /// The bits without the check.
    const BITS: u64 = (1 << 48) - 1;

    /// `None` where the number does not fit in the word.
    pub(crate) fn new(number: u64) -> Option<Self> {
        (number <= MOST).then_some(Self(number))
    }

    pub(crate) fn of(word: u64) -> Self {
        Self(word & Self::BITS)
    }

    pub(crate) fn with_check(self, check: u64) -> u64 {
        self.0 | check << 48
    }

    pub(crate) fn value(self) -> u64 {
        self.0 & MOST
    }

    /// The number of changes in place.
    #[inline]
    pub(crate) fn changes(self) -> u64 {
        self.0 >> 40 & MOST_CHANGES
    }

    /// The next number in the same record, if it fits there.
    pub(crate) fn changed_to(self, number: u64) -> Option<Self> {
        let changes = self.changes() + 1;
        (number <= MOST && changes <= MOST_CHANGES).then_some(Self(number | changes << 40))
    }
}

/// The number that a text spells: decimal digits alone, below 2^64.
pub(crate) fn parse(text: &[u8]) -> Option<u64> {
    // `parse` alone would accept a sign.
    let digits = text.first().is_some_and(u8::is_ascii_digit);
    digits.then(|| str::from_utf8(text).ok()?.parse().ok())?
}

/// A change of a number: it stops at 0 and wraps at 2^64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delta {
    /// Adds this.
    Up(u64),
    /// Takes this away.
    Down(u64),
}

impl Delta {
    pub(crate) fn applied_to(self, number: u64) -> u64 {
        match self {
            Self::Up(more) => number.wrapping_add(more),
            Self::Down(less) => number.saturating_sub(less),
        }
    }
}

/// Spells a number at the end of `text`.
pub(crate) fn spell(number: u64, text: &mut Vec<u8>) {
    let (mut digits, mut first, mut rest) = ([0; 20], 20, number);
    loop {
        first -= 1;
        digits[first] = b"0123456789"[crate::memory::size(rest % 10)];
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    text.extend_from_slice(&digits[first..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spelled_and_read_as_they_are() {
        for number in [0, 9, 10, 1 << 40, u64::MAX] {
            let mut text = Vec::new();
            spell(number, &mut text);
            assert_eq!(text, number.to_string().as_bytes());
            assert_eq!(parse(&text), Some(number));
        }
        for text in [&b""[..], b"+5", b"-5", b" 5", b"5 ", b"18446744073709551616", b"\xff"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
        let [up, down] = [Delta::Up, Delta::Down];
        let sums = [up(3), down(9), down(u64::MAX)].map(|delta| delta.applied_to(5));
        assert_eq!(sums, [8, 0, 0]);
        assert_eq!(up(2).applied_to(u64::MAX), 1);
    }

    #[test]
    fn a_word_takes_what_has_room_in_it() {
        assert_eq!(Number::new(1 << 40), None);
        let mut number = Number::new(7).unwrap();
        for changes in 1..=255 {
            number = number.changed_to(MOST).unwrap();
            assert_eq!((number.value(), number.changes()), (MOST, changes));
        }
        assert_eq!(number.changed_to(1), None);
        assert_eq!(Number::of(number.with_check(0xffff)), number);
    }
}
