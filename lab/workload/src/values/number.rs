//! Numbers in place of values, under the keys that a replay counts.
//!
//! A store counts a decimal number by itself, so such a value has no room for a header. The number has the version and a
//! start, from which every count is a step: 10^18 + 2^30 * version + start + steps. All numbers have 19 digits, so that no
//! count makes a value longer or shorter. They are below 2^63, because Redis' own counter ends there. A start is near the
//! middle of the 2^30, so that no count reaches another version. It is another one for each key, so that a number of
//! another key is found.

use std::ops::RangeInclusive;

use super::{Correctness, NOTHING, Values};

/// The digits of every number.
pub(crate) const NUMBER_LEN: u32 = 19;

/// The smallest number of this many digits.
const LEAST: u64 = 1_000_000_000_000_000_000;
/// The numbers of a version.
const STEPS: u64 = 1 << 30;
/// The numbers at which counters start.
const STARTS: u64 = 1 << 26;

/// What a number says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number {
    /// The version that was stored.
    pub version: u32,
    /// The steps that were counted since, up less down.
    pub steps: i64,
}

impl Values {
    /// Whether the values of a key are numbers.
    #[inline]
    pub fn is_counter(&self, index: u32) -> bool {
        self.counters.has(index as usize)
    }

    /// The number of a key in a version, from which it is counted.
    pub fn number(&self, index: u32, version: u32) -> u64 {
        LEAST + u64::from(version) * STEPS + self.start(index)
    }

    /// The version of a number of a key, and its steps; `None` for a number that no key has.
    pub fn apart(&self, index: u32, number: u64) -> Option<Number> {
        let number = number.checked_sub(LEAST)?;
        let version = u32::try_from(number / STEPS).ok()?;
        let steps = (number % STEPS).cast_signed() - self.start(index).cast_signed();
        Some(Number { version, steps })
    }

    /// Judges a number that a store gave for a key; `None` stands for a value that is no number. The versions from `oldest`
    /// to `newest` are right, with the steps that are possible for each. [`NOTHING`] says that no number is right.
    pub fn verify_number(
        &self,
        index: u32,
        oldest: u32,
        newest: u32,
        steps: impl FnOnce(u32) -> RangeInclusive<i64>,
        number: Option<u64>,
    ) -> Correctness {
        let Some(Number { version, steps: counted }) =
            number.and_then(|number| self.apart(index, number))
        else {
            return Correctness::Damaged;
        };
        if oldest == NOTHING || version < oldest {
            let is_near = counted.unsigned_abs() < STARTS / 2;
            return if is_near { Correctness::Stale } else { Correctness::Damaged };
        }
        let is_right = version <= newest.max(oldest) && steps(version).contains(&counted);
        if is_right { Correctness::Right } else { Correctness::Damaged }
    }

    /// Where the counts of a key start.
    fn start(&self, index: u32) -> u64 {
        STEPS / 2 - STARTS / 2 + self.tag(index) % STARTS
    }
}

/// The number that a value spells; `None` where it is no number of a counter.
pub fn parse_number(value: &[u8]) -> Option<u64> {
    let is_number = value.len() == NUMBER_LEN as usize && value.iter().all(u8::is_ascii_digit);
    let add = |number: u64, digit: &u8| number * 10 + u64::from(digit - b'0');
    is_number.then(|| value.iter().fold(0, add))
}

/// Spells a number.
pub(super) fn write(mut number: u64, digits: &mut [u8; NUMBER_LEN as usize]) {
    for digit in digits.iter_mut().rev() {
        *digit = b"0123456789"[(number % 10) as usize];
        number /= 10;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Composer, base_version};
    use super::*;
    use crate::trace::Trace;
    use crate::{KeySpace, Lengths, ReadExpectation, Sizes};

    /// Values of a hundred keys, of which all but the first are counters.
    fn values() -> Values {
        let rows = (1..100).map(|key| format!("{key},incr\n")).collect::<Vec<_>>().concat();
        let csv = format!("key,op\n0,get\n{rows}");
        let trace = Trace::read("test.csv", csv.as_bytes(), None, None).unwrap();
        Values::random(Sizes::Drawn("100".parse().unwrap()), 100, 0.0, 7).with_counters(&trace)
    }

    proptest! {
        #[test]
        fn a_number_has_its_version_and_its_steps(
            index in 1..100_u32,
            version in 0..u32::MAX,
            steps in -400_000_000..400_000_000_i64,
        ) {
            let values = values();
            let number = values.number(index, version).checked_add_signed(steps).unwrap();
            prop_assert!(number < 1 << 63);
            prop_assert_eq!(values.apart(index, number), Some(Number { version, steps }));
            let mut digits = [0; NUMBER_LEN as usize];
            write(number, &mut digits);
            prop_assert_eq!(std::str::from_utf8(&digits).unwrap(), number.to_string());
            prop_assert_eq!(parse_number(&digits), Some(number));
        }
    }

    #[test]
    fn a_counter_is_composed_as_its_number_and_other_keys_as_before() {
        let values = values();
        let mut composer = Composer::new(&values);
        assert_eq!((values.len_of(0), values.len_of(1), values.largest_of(1)), (100, 19, 19));
        assert_eq!(composer.compose(0, 5, 100).len(), 100);
        let number = values.number(1, 5).to_string();
        assert_eq!(composer.compose(1, 5, 19), number.as_bytes());
    }

    #[test]
    fn a_number_is_right_only_for_its_key_its_versions_and_its_steps() {
        let values = values();
        let base = base_version(3);
        let verify = |index: u32, number: Option<u64>| {
            values.verify_number(index, base + 2, base + 4, |_| -1..=2, number)
        };
        let number =
            |version: u32, steps: i64| values.number(5, base + version).checked_add_signed(steps);
        for version in 2..=4 {
            for steps in -1..=2 {
                assert_eq!(verify(5, number(version, steps)), Correctness::Right);
            }
            for steps in [-2, 3, 70_000] {
                assert_eq!(verify(5, number(version, steps)), Correctness::Damaged);
            }
            // All but a few of many keys start elsewhere.
            let others =
                (1..100).filter(|index| verify(*index, number(version, 0)) == Correctness::Right);
            assert_eq!(others.collect::<Vec<_>>(), [5]);
        }
        assert_eq!(verify(5, number(1, 0)), Correctness::Stale);
        assert_eq!(verify(5, number(5, 0)), Correctness::Damaged, "it was never drawn");
        for none in [None, Some(0), Some(41), Some(u64::MAX)] {
            assert_eq!(verify(5, none), Correctness::Damaged);
        }
        let gone = values.verify_number(5, NOTHING, base + 4, |_| 0..=0, number(4, 0));
        assert_eq!(gone, Correctness::Stale);
        for text in [&b"1"[..], b"1000000000000000000 ", b"+100000000000000000", b""] {
            assert_eq!(parse_number(text), None);
        }
    }

    #[test]
    fn a_wrong_number_is_described_by_its_steps() {
        let values = values();
        let keys = KeySpace::new(b"k", 100, Lengths::Drawn("8".parse().unwrap()), 7);
        let base = base_version(2);
        let asked = |oldest: u32| ReadExpectation { key: 5, oldest, base };
        let number = values.number(5, base + 3) + 2;
        let said = |oldest: u32, finding: Correctness, value: &[u8]| {
            values.describe(&keys, asked(oldest), finding, value)
        };
        let text = number.to_string();
        assert_eq!(
            [
                said(base + 3, Correctness::Damaged, text.as_bytes()),
                said(base + 4, Correctness::Stale, text.as_bytes()),
                said(base + 3, Correctness::Damaged, b"4\n"),
            ],
            [
                format!(
                    "`k0000005` came back as {text}, +2 from the start of version 3, which is not what was counted"
                ),
                "asked for `k0000005`, got version 3 of it, but version 4 is the oldest right version".into(),
                "`k0000005` came back as `4\\n` with 2 bytes, where a number of 19 digits was stored".into(),
            ]
        );
    }
}
