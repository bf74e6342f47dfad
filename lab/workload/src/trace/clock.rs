//! What the numbers of times count, in all formats.
//!
//! A column's type or its name tells its unit, or the user does. Bare numbers are judged by the beginning of a file (`time_unit.rs`).
//! Whatever is implausible is refused: a wrong unit would spoil each rate, TTL and replay silently.

use std::str::FromStr;

use super::cell::{decimal, is_missing, whole};
use super::iso;
use super::lines::shown;
use super::time_unit::{Beginning, Judgement, LATEST_S, NAMED};

/// The first date that bare numbers are taken for, in microseconds.
pub(super) const FIRST_DATE_US: u64 = 946_684_800_000_000;

/// The longest time in a float, in seconds: longer than any clock has run, and far from the most microseconds that a number
/// holds.
const MAX_TIME_S: f64 = 1e12;

/// A unit of time, from the longest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Thousandths of a second.
    Millis,
    /// Millionths of a second.
    Micros,
    /// Thousand millionths of a second.
    Nanos,
}

impl Unit {
    pub(super) const ALL: [Self; 4] = [Self::Seconds, Self::Millis, Self::Micros, Self::Nanos];

    /// How many are a second.
    pub(super) fn a_second(self) -> u32 {
        match self {
            Self::Seconds => 1,
            Self::Millis => 1_000,
            Self::Micros => 1_000_000,
            Self::Nanos => 1_000_000_000,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Millis => "milliseconds",
            Self::Micros => "microseconds",
            Self::Nanos => "nanoseconds",
        }
    }

    /// The name as typed.
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Millis => "ms",
            Self::Micros => "us",
            Self::Nanos => "ns",
        }
    }
}

impl FromStr for Unit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|unit| unit.symbol() == text);
        found.ok_or_else(|| format!("time: `{text}` is no unit of times; write s, ms, us or ns"))
    }
}

/// A number as a column has it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Whole(i128),
    Float(f64),
}

impl Number {
    #[expect(clippy::cast_precision_loss, reason = "a date needs few digits")]
    pub(super) fn in_seconds(self, unit: Unit) -> f64 {
        let number = match self {
            Self::Whole(number) => number as f64,
            Self::Float(number) => number,
        };
        number / f64::from(unit.a_second())
    }

    /// Microseconds, as a number of this unit; `None` before 0, and beyond all clocks.
    fn in_us(self, unit: Unit) -> Option<u64> {
        match self {
            Self::Whole(number) => {
                let us = number.checked_mul(1_000_000)?.div_euclid(unit.a_second().into());
                u64::try_from(us).ok()
            }
            Self::Float(_) => {
                let seconds = self.in_seconds(unit);
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "it is in range"
                )]
                (0.0..=MAX_TIME_S).contains(&seconds).then(|| (seconds * 1e6).round() as u64)
            }
        }
    }

    pub(super) fn shown(self) -> String {
        match self {
            Self::Whole(number) => number.to_string(),
            Self::Float(number) => number.to_string(),
        }
    }
}

/// The clock of a column of times.
#[derive(Debug)]
pub(super) struct Clock {
    unit: Option<Unit>,
    /// The times at the beginning of the file, by which bare numbers are judged.
    beginning: Beginning,
    /// The unit of bare numbers in the files of the trace before, where they count from 0 on.
    before: Option<Unit>,
    /// How bare numbers were judged.
    judgement: Option<Judgement>,
    is_told: bool,
}

impl Clock {
    /// The clock of a column that tells its unit, or of bare numbers that are judged by the first of them.
    pub(super) fn new(unit: Option<Unit>) -> Self {
        let beginning = Beginning::default();
        Self { unit, beginning, before: None, judgement: None, is_told: false }
    }

    /// The same, where bare numbers are judged by what is known of the file and of the files before.
    pub(super) fn judging(unit: Option<Unit>, beginning: Beginning, before: Option<Unit>) -> Self {
        Self { beginning, before, ..Self::new(unit) }
    }

    /// A time in microseconds, from a number or from a date; `None` where there is none.
    pub(super) fn text(&mut self, field: &[u8]) -> Result<Option<u64>, String> {
        if is_missing(field) {
            return Ok(None);
        }
        if let Some(us) = iso::micros(field) {
            return us.map(Some);
        }
        let unlike = || {
            let unit = self.unit.unwrap_or(Unit::Seconds).name();
            format!("time `{}` is not a number of {unit} from 0 on", shown(field))
        };
        let number = number(field).ok_or_else(unlike)?;
        self.us(number).map(Some)
    }

    /// A time in microseconds.
    pub(super) fn us(&mut self, time: Number) -> Result<u64, String> {
        let unlike = || format!("{} is no time from 1970 on", time.shown());
        let Some(unit) = self.unit else {
            let judgement = Judgement::of(time, &self.beginning, self.before);
            let judgement = judgement.ok_or_else(unlike)??;
            let unit = judgement.unit;
            (self.unit, self.judgement) = (Some(unit), Some(judgement));
            return time.in_us(unit).ok_or_else(unlike);
        };
        match &self.judgement {
            Some(judgement) if time.in_seconds(unit) > LATEST_S => Err(format!(
                "time {} is beyond the year 2100 in {}, for which the times were taken by the first, {}; {NAMED}",
                time.shown(),
                unit.name(),
                judgement.first()
            )),
            _ => time.in_us(unit).ok_or_else(unlike),
        }
    }

    /// How bare numbers were judged, the first time that it is asked.
    pub(super) fn take_judgement(&mut self) -> Option<Judgement> {
        if self.is_told {
            return None;
        }
        self.is_told = self.judgement.is_some();
        self.judgement.clone()
    }
}

/// The unit of a column of times: the one that its name or its type tells, or the one that the user has typed; `None` for bare
/// numbers that are judged.
///
/// # Errors
///
/// A sentence, where a typed unit is of no use.
pub(super) fn unit_of(
    typed: Option<Unit>,
    known: Option<Unit>,
    has_times: bool,
) -> Result<Option<Unit>, String> {
    let Some(unit) = typed else { return Ok(known) };
    let typed = unit.symbol();
    match known {
        Some(known) => Err(format!(
            "the times are {} by the name or the type of their column; leave out ?time={typed}",
            known.name()
        )),
        None if has_times => Ok(Some(unit)),
        None => {
            Err(format!("no column has times for ?time={typed}; name it by `?columns=time:NAME`"))
        }
    }
}

/// The number in a field of a text, where it is none of a date.
fn number(field: &[u8]) -> Option<Number> {
    let whole = whole(field).map(|number| Number::Whole(number.into()));
    let number = whole.or_else(|| decimal(field).map(Number::Float));
    number.filter(|number| number.in_us(Unit::Nanos).is_some())
}

/// The number in a field at the beginning of a file, and whether it is written with parts of its unit. A single 0 behind the point is
/// what data frames write.
pub(super) fn bare(field: &[u8]) -> Option<(Number, bool)> {
    let point = field.iter().position(|byte| *byte == b'.');
    let parts = point.map_or(&[][..], |point| &field[point + 1..]);
    let number = number(field).filter(|_| !is_missing(field))?;
    Some((number, !matches!(parts, [] | [b'0'])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::time_unit::Judgements;

    fn note(clock: &mut Clock) -> Option<String> {
        let mut judgements = Judgements::default();
        judgements.add(clock.take_judgement()?);
        judgements.sentences().pop()
    }

    #[test]
    fn the_first_bare_number_tells_the_unit_of_all_and_the_reason_is_told() {
        for (first, second, us, expected) in [
            ("0", "12.5", 12_500_000, "seconds, because the first, 0, is too small for a date"),
            (
                "946684799",
                "4102444800",
                4_102_444_800_000_000,
                "seconds, because the first, 946684799, is too small",
            ),
            (
                "1700000000",
                "5",
                5_000_000,
                "seconds, because the first, 1700000000, is a date of 2023 in them",
            ),
            (
                "1700000000000.0",
                "1700000000123.5",
                1_700_000_000_123_500,
                "milliseconds, because the first, 1700000000000, is",
            ),
            (
                "1700000000000000",
                "1700000000000001",
                1_700_000_000_000_001,
                "microseconds, because",
            ),
            (
                "1700000000000000000",
                "1700000000000001999",
                1_700_000_000_000_001,
                "nanoseconds, because",
            ),
        ] {
            let mut clock = Clock::new(None);
            assert!(clock.text(first.as_bytes()).unwrap().is_some());
            let note = note(&mut clock).unwrap();
            assert!(note.starts_with(&format!("times are {expected}")), "{note}");
            assert_eq!(clock.text(second.as_bytes()), Ok(Some(us)), "{first} {second}");
            assert_eq!((clock.text(b""), clock.take_judgement()), (Ok(None), None));
        }
    }

    #[test]
    fn a_number_that_is_a_time_in_no_unit_is_refused_with_the_way_out() {
        let first = |text: &str| Clock::new(None).text(text.as_bytes()).unwrap_err();
        for text in ["4102444801", "900000000000", "72000000000", "18000000000000000000"] {
            let expected =
                format!("time {text} is no date from 2000 to 2100 in seconds, milliseconds, ");
            assert!(first(text).starts_with(&expected), "{}", first(text));
            assert!(
                first(text)
                    .ends_with("; write `?time=` with s, ms, us or ns, which tells the unit")
            );
        }
        for text in ["-1", "inf", "1e400", "noon", "1 2"] {
            let expected = format!("time `{text}` is not a number of seconds from 0 on");
            assert_eq!(first(text), expected);
        }
        // Milliseconds from 0 on begin like seconds, until they are too large for seconds.
        let mut clock = Clock::new(None);
        assert_eq!(clock.text(b"0"), Ok(Some(0)));
        let error = clock.text(b"4102444801").unwrap_err();
        assert!(
            error.starts_with("time 4102444801 is beyond the year 2100 in seconds, for which"),
            "{error}"
        );
    }

    #[test]
    fn dates_and_missing_times_tell_nothing_of_the_unit_of_numbers() {
        let mut clock = Clock::new(None);
        for text in ["", "nan", "NULL"] {
            assert_eq!(clock.text(text.as_bytes()), Ok(None), "{text}");
        }
        assert_eq!(clock.text(b"2023-11-14 22:13:20Z"), Ok(Some(1_700_000_000_000_000)));
        assert_eq!(clock.take_judgement(), None);
        assert_eq!(clock.text(b"1700000000000"), Ok(Some(1_700_000_000_000_000)));
        assert!(note(&mut clock).unwrap().starts_with("times are milliseconds"));
        let error = clock.text(b"2023-11-31 22:13:20").unwrap_err();
        assert!(error.starts_with("time `2023-11-31 22:13:20` is no date with a time"), "{error}");
    }

    #[test]
    fn a_unit_that_is_told_is_not_judged() {
        for (unit, us) in [
            (Unit::Seconds, 5_000_000_000_000_000),
            (Unit::Millis, 5_000_000_000_000),
            (Unit::Micros, 5_000_000_000),
            (Unit::Nanos, 5_000_000),
        ] {
            let mut clock = Clock::new(Some(unit));
            assert_eq!(clock.text(b"5000000000"), Ok(Some(us)));
            assert_eq!(clock.us(Number::Float(5e9)), Ok(us));
            assert_eq!(clock.us(Number::Whole(-1)), Err("-1 is no time from 1970 on".into()));
            assert_eq!(clock.take_judgement(), None);
        }
    }
}
