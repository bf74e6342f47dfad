//! The unit of bare numbers of time: the judgement, and how it is told.
//!
//! Units differ by a factor of a thousand, so that no number is a date from 2000 to 2100 in two of them. Smaller numbers count from 0
//! on, or from the start of a machine. Published traces have whole seconds; other programs write other units. What tells them apart is
//! the rate of the operations at the beginning of a file: a cache is asked once a second to a million times.

use super::clock::{Number, Unit};

/// The first and the last date that bare numbers are taken for, in seconds since 1970: the beginnings of 2000 and 2100.
pub(super) const EARLIEST_S: f64 = 946_684_800.0;
pub(super) const LATEST_S: f64 = 4_102_444_800.0;

/// The names of what tells the unit.
pub(super) const NAMED: &str = "write `?time=` with s, ms, us or ns, which tells the unit";

/// The mean length of a year in seconds.
const YEAR_S: f64 = 31_556_952.0;

/// Fewer operations tell no rate.
const FEWEST: u64 = 100;

/// Whole seconds are likely from this rate on, as published traces have them.
const SECONDS_FROM: f64 = 1.0;

/// A trace of a day at most may have so few operations a second.
const SPARSE: f64 = 1.0 / 60.0;
const DAY_S: f64 = 86_400.0;

/// The rates at which another unit is possible, the likeliest, and those at which it is told beside the one that was taken.
const POSSIBLE: std::ops::RangeInclusive<f64> = 1.0..=1e6;
const LIKELIEST: f64 = 1000.0;
const TOLD: std::ops::RangeInclusive<f64> = 2.0..=1e5;

/// Seconds are told beside another unit from this rate on.
const QUIET: f64 = 0.1;

/// A date is doubtful at a lower rate.
const LEAST_OF_DATES: f64 = 0.001;

/// The times at the beginning of a file.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Beginning {
    /// The least and the greatest number.
    span: Option<(f64, f64)>,
    operations: u64,
    /// Whether some number has a part of its unit: then it is seconds.
    has_parts: bool,
}

impl Beginning {
    /// Takes the time of the next row, where it has a bare one, and whether that has a part of its unit. The row stands for
    /// `times` operations.
    pub(super) fn push(&mut self, time: Option<(Number, bool)>, times: u64) {
        let Some((time, has_part)) = time else { return };
        let number = time.in_seconds(Unit::Seconds);
        let (least, greatest) = self.span.unwrap_or((number, number));
        self.span = Some((least.min(number), greatest.max(number)));
        self.operations += times;
        self.has_parts |= has_part;
    }

    /// The operations a second, if the numbers are in this unit; `None` where too few times tell of no rate.
    #[expect(clippy::cast_precision_loss, reason = "a rate needs few digits")]
    fn rate(&self, unit: Unit) -> Option<f64> {
        let (least, greatest) = self.span?;
        let lasts_s = (greatest - least) / f64::from(unit.a_second());
        (self.operations >= FEWEST && lasts_s > 0.0).then(|| self.operations as f64 / lasts_s)
    }

    /// The unit of numbers that count from 0 on.
    fn unit(&self) -> Counted {
        let seconds = Counted { unit: Unit::Seconds, rate: None, others: Vec::new() };
        let Some(rate) = self.rate(Unit::Seconds).filter(|_| !self.has_parts) else {
            return seconds;
        };
        let at = |unit: Unit| (unit, rate * f64::from(unit.a_second()));
        let lasts_s = self.span.map_or(0.0, |(least, greatest)| greatest - least);
        let others = |taken: Unit| -> Vec<(Unit, f64)> {
            let others = Unit::ALL.into_iter().filter(|unit| *unit != taken).map(at);
            let is_told = |(unit, rate): &(Unit, f64)| {
                TOLD.contains(rate) || *unit == Unit::Seconds && *rate >= QUIET
            };
            others.filter(is_told).collect()
        };
        if rate >= SECONDS_FROM || rate >= SPARSE && lasts_s <= DAY_S {
            return Counted { others: others(Unit::Seconds), ..seconds };
        }
        let far = |rate: f64| (rate / LIKELIEST).ln().abs();
        let finer = Unit::ALL.into_iter().skip(1).map(at);
        let possible = finer.filter(|(_, rate)| POSSIBLE.contains(rate));
        let likeliest = possible.min_by(|(_, one), (_, other)| far(*one).total_cmp(&far(*other)));
        likeliest.map_or(seconds, |(unit, rate)| Counted {
            unit,
            rate: Some(rate),
            others: others(unit),
        })
    }
}

/// The unit of numbers that count from 0 on.
struct Counted {
    unit: Unit,
    /// The rate that shows it; `None` where the smallness of the numbers does.
    rate: Option<f64>,
    others: Vec<(Unit, f64)>,
}

/// The unit of the bare numbers of a file, with the reason.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Judgement {
    pub(super) unit: Unit,
    first: Number,
    reason: Reason,
    /// What else they may be, with the rate that they then have.
    others: Vec<(Unit, f64)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Reason {
    /// The first number is a date.
    IsDate,
    /// The first number is too small for a date.
    IsSmall,
    /// The operations then come at a plausible rate.
    HasRate(f64),
}

impl Judgement {
    /// The judgement by the first number and by the times at the beginning; `None` where it is no time. `before` is the unit of a
    /// file of the same trace whose numbers count from 0 on.
    pub(super) fn of(
        first: Number,
        beginning: &Beginning,
        before: Option<Unit>,
    ) -> Option<Result<Self, String>> {
        let seconds = first.in_seconds(Unit::Seconds);
        if seconds.is_nan() || seconds < 0.0 {
            return None;
        }
        if let Some(unit) = before.filter(|unit| first.in_seconds(*unit) < EARLIEST_S) {
            let reason = Reason::IsSmall;
            return Some(Ok(Self { unit, first, reason, others: Vec::new() }));
        }
        if seconds < EARLIEST_S {
            let Counted { unit, rate, others } = beginning.unit();
            let reason = rate.map_or(Reason::IsSmall, Reason::HasRate);
            return Some(Ok(Self { unit, first, reason, others }));
        }
        let is_date = |unit: &Unit| (EARLIEST_S..=LATEST_S).contains(&first.in_seconds(*unit));
        let unlike = || {
            format!(
                "time {} is no date from 2000 to 2100 in seconds, milliseconds, microseconds or nanoseconds; {NAMED}",
                first.shown()
            )
        };
        let unit = Unit::ALL.into_iter().find(is_date).ok_or_else(unlike);
        Some(unit.map(|unit| {
            let is_rare = beginning.rate(unit).is_some_and(|rate| rate < LEAST_OF_DATES);
            let finer = Unit::ALL.into_iter().filter(|other| *other > unit && is_rare);
            let at = finer.filter_map(|unit| Some((unit, beginning.rate(unit)?)));
            let others = at.filter(|(_, rate)| TOLD.contains(rate)).collect();
            Self { unit, first, reason: Reason::IsDate, others }
        }))
    }

    /// The unit, where the numbers count from 0 on: the files behind have the same.
    pub(super) fn counted(&self) -> Option<Unit> {
        (self.reason != Reason::IsDate).then_some(self.unit)
    }

    /// The first number, for a message.
    pub(super) fn first(&self) -> String {
        self.first.shown()
    }

    /// Whether another file of the trace was judged alike.
    fn is_alike(&self, other: &Self) -> bool {
        let is_date = |it: &Self| it.reason == Reason::IsDate;
        self.unit == other.unit && is_date(self) == is_date(other)
    }

    /// The judgement in a sentence, and that this many files behind were judged alike.
    fn sentence(&self, others: usize) -> String {
        let (unit, first) = (self.unit.name(), self.first.shown());
        let mut told = match self.reason {
            Reason::IsSmall => {
                format!("times are {unit}, because the first, {first}, is too small for a date")
            }
            Reason::IsDate => {
                let year = 1970.0 + (self.first.in_seconds(self.unit) / YEAR_S).floor();
                format!(
                    "times are {unit}, because the first, {first}, is a date of {year:.0} in them"
                )
            }
            Reason::HasRate(rate) => {
                format!("times from {first} on are {unit}, because so they come at {}", shown(rate))
            }
        };
        match others {
            0 => {}
            1 => told += ", as in the other file",
            n => told.extend([format!(", as in the {n} other files")]),
        }
        if !self.others.is_empty() {
            let others: Vec<String> = self
                .others
                .iter()
                .map(|(unit, rate)| {
                    format!("{} (`?time={}`, {})", unit.name(), unit.symbol(), shown(*rate))
                })
                .collect();
            let so = if self.reason == Reason::IsDate { "likelier" } else { "as plausible" };
            told.extend([format!("; {so}: {}", others.join(" or "))]);
        }
        told
    }
}

/// A rate for a reader.
fn shown(rate: f64) -> String {
    let (number, unit) = match rate {
        rate if rate >= 1e6 => (rate / 1e6, "M/s"),
        rate if rate >= 1e3 => (rate / 1e3, "k/s"),
        rate => (rate, "/s"),
    };
    let decimals = usize::from(number < 100.0) + usize::from(number < 10.0);
    format!("{number:.decimals$} {unit}")
}

/// The judgements of the files of a trace, as they are told: one sentence for those that are alike.
#[derive(Debug, Default)]
pub(super) struct Judgements(Vec<(Judgement, usize)>);

impl Judgements {
    /// Adds that of the next file.
    pub(super) fn add(&mut self, judgement: Judgement) {
        match self.0.iter_mut().find(|(known, _)| known.is_alike(&judgement)) {
            Some((_, others)) => *others += 1,
            None => self.0.push((judgement, 0)),
        }
    }

    /// The unit of numbers that count from 0 on, in the files so far.
    pub(super) fn counted(&self) -> Option<Unit> {
        self.0.iter().find_map(|(judgement, _)| judgement.counted())
    }

    /// A sentence for each kind.
    pub(super) fn sentences(&self) -> Vec<String> {
        self.0.iter().map(|(judgement, others)| judgement.sentence(*others)).collect()
    }
}
