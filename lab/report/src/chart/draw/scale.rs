//! Maps figures to places on an axis, and chooses its ticks.

use super::labels::tick;
use crate::chart::model::{Axis, Scale, Unit};

/// The most labels that fit beside each other.
const MAX_LABELS: usize = 8;

/// The distance between the last quantile of a tail and its end, in decades.
const TO_THE_END: f64 = 0.4;

/// An axis between two figures.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mapping {
    scale: Scale,
    unit: Unit,
    low: f64,
    high: f64,
}

/// A place on an axis, from 0 to 1, with its label; minor ticks have no label.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    pub(super) at: f64,
    pub(super) label: Option<String>,
}

impl Mapping {
    /// The axis of figures: it begins at 0 or, on a logarithmic scale, at a round figure below the lowest.
    pub(super) fn of_figures(axis: &Axis, figures: impl Iterator<Item = f64>) -> Self {
        let log = axis.scale == Scale::Log;
        let (low, high) = range(figures.filter(|figure| !log || *figure > 0.0));
        let (low, high) = match (axis.scale, axis.unit) {
            (Scale::Log, Unit::Bytes) => (power_below(low), power_below(high * 2.0)),
            (Scale::Log, _) => (round_below(low), round_above(high)),
            (_, Unit::Share) => (0.0, 1.0),
            _ => (0.0, (high / step(axis.unit, high)).ceil() * step(axis.unit, high)),
        };
        let high = if high > low { high } else { low + 1.0 };
        Self { scale: axis.scale, unit: axis.unit, low, high }
    }

    /// The axis of places: from the first to the last, with room on both sides for marks.
    pub(super) fn of_places(axis: &Axis, places: impl Iterator<Item = f64>, room: f64) -> Self {
        let inner = places.filter(|place| axis.scale != Scale::Tail || *place < 1.0);
        let (mut low, mut high) = range(inner);
        match axis.scale {
            Scale::Tail => (low, high) = (0.0, tail(high) + TO_THE_END),
            Scale::Log => {
                let margin = (high / low).powf(room);
                (low, high) = (low / margin, high * margin);
            }
            Scale::Linear if axis.unit == Unit::Seconds => low = 0.0,
            Scale::Linear => {
                let margin = (high - low) * room;
                (low, high) = (low - margin, high + margin);
            }
            Scale::Categories => (low, high) = (-0.5, count(axis.categories.len()) - 0.5),
        }
        let high = if high > low { high } else { low + 1.0 };
        Self { scale: axis.scale, unit: axis.unit, low, high }
    }

    /// The place of a figure, from 0 to 1.
    pub(super) fn place(&self, figure: f64) -> f64 {
        match self.scale {
            Scale::Log => (figure.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
            Scale::Tail if figure >= 1.0 => 1.0,
            Scale::Tail => tail(figure) / self.high,
            Scale::Linear | Scale::Categories => (figure - self.low) / (self.high - self.low),
        }
    }

    /// Ticks at round figures.
    pub(super) fn ticks(&self) -> Vec<Tick> {
        match (self.scale, self.unit) {
            (Scale::Log, Unit::Bytes) => self.powers_of_two(),
            (Scale::Log, _) => self.decades(),
            (Scale::Tail, _) => self.nines(),
            (Scale::Linear | Scale::Categories, _) => {
                let step = step(self.unit, self.high - self.low);
                let first = (self.low / step).ceil();
                let ticks = (0..=MAX_LABELS * 2).map(|n| (first + count(n)) * step);
                ticks
                    .take_while(|figure| *figure <= self.high + step * 1e-9)
                    .map(|figure| self.labelled(figure))
                    .collect()
            }
        }
    }

    /// Ticks at the tried places, with their names.
    pub(super) fn ticks_at(&self, places: &[f64], name: impl Fn(f64) -> String) -> Vec<Tick> {
        let tick = |place: &f64| Tick { at: self.place(*place), label: Some(name(*place)) };
        places.iter().map(tick).collect()
    }

    fn labelled(&self, figure: f64) -> Tick {
        Tick { at: self.place(figure), label: Some(tick(self.unit, figure)) }
    }

    /// The figures from 1 to 9 of each decade, with labels as far as there is room.
    fn decades(&self) -> Vec<Tick> {
        const LABELLED: [&[u8]; 3] = [&[1, 2, 3, 4, 5, 6, 7, 8, 9], &[1, 2, 5], &[1]];
        let (first, last) = (exponent(self.low), exponent(self.high));
        let figures: Vec<(i32, u8, f64)> = (first..=last)
            .flat_map(|power| (1..=9).map(move |digit| (power, digit)))
            .map(|(power, digit)| (power, digit, f64::from(digit) * 10_f64.powi(power)))
            .filter(|(.., figure)| (self.low * 0.999..=self.high * 1.001).contains(figure))
            .collect();
        let fits = |digits: &&&[u8]| {
            figures.iter().filter(|(_, digit, _)| digits.contains(digit)).count() <= MAX_LABELS
        };
        let digits = LABELLED.iter().find(fits).unwrap_or(&LABELLED[2]);
        let decades = usize::try_from(last - first).unwrap_or(0) + 1;
        let stride = i32::try_from(decades.div_ceil(MAX_LABELS)).unwrap_or(1);
        let tick = |(power, digit, figure): &(i32, u8, f64)| {
            let has_label = digits.contains(digit) && power.rem_euclid(stride) == 0;
            let label = has_label.then(|| tick(self.unit, *figure));
            Tick { at: self.place(*figure), label }
        };
        figures.iter().map(tick).collect()
    }

    fn powers_of_two(&self) -> Vec<Tick> {
        let (first, last) = (binary_exponent(self.low), binary_exponent(self.high));
        let stride = [1, 2, 5].into_iter().find(|stride| (last - first) / stride < 8);
        let tick = |power: i32| {
            let figure = 2_f64.powi(power);
            let has_label = power % stride.unwrap_or(10) == 0;
            let label = has_label.then(|| tick(self.unit, figure));
            Tick { at: self.place(figure), label }
        };
        (first..=last).map(tick).collect()
    }

    /// 0, a half, the nines up to the last, then the end.
    fn nines(&self) -> Vec<Tick> {
        let nines = (1..).map(|nines| 1.0 - 0.1_f64.powi(nines));
        // The last nine has no label where it would overlap the label of the end.
        let known = nines.take_while(|quantile| tail(*quantile) <= self.high - TO_THE_END + 1e-6);
        [0.0, 0.5].into_iter().chain(known).chain([1.0]).map(|q| self.labelled(q)).collect()
    }
}

/// log10(1 / (1 − q)).
fn tail(quantile: f64) -> f64 {
    -(1.0 - quantile).log10()
}

/// The lowest and the highest figure; 1 and 1 without figures.
fn range(figures: impl Iterator<Item = f64>) -> (f64, f64) {
    let wider = |(low, high): (f64, f64), figure: f64| (low.min(figure), high.max(figure));
    let (low, high) = figures.fold((f64::INFINITY, f64::NEG_INFINITY), wider);
    if low <= high { (low, high) } else { (1.0, 1.0) }
}

/// A round step that divides a span into four to eight. It is 1, 2 or 5 times a power of ten; for bytes, a power of
/// two.
fn step(unit: Unit, span: f64) -> f64 {
    if span <= 0.0 {
        return 1.0;
    }
    match unit {
        Unit::Bytes => power_below(span / 4.0).max(1.0),
        _ => round_below(span / 4.0),
    }
}

/// The largest of 1, 2 and 5 times a power of ten that is not above the figure.
fn round_below(figure: f64) -> f64 {
    let power = 10_f64.powi(exponent(figure));
    let digit = figure / power * (1.0 + 1e-9);
    let round = [5.0, 2.0, 1.0].into_iter().find(|round| digit >= *round);
    round.unwrap_or(1.0) * power
}

/// The next such figure above.
fn round_above(figure: f64) -> f64 {
    let below = round_below(figure);
    let power = 10_f64.powi(exponent(below));
    let next = match below / power {
        digit if digit < 1.5 => 2.0,
        digit if digit < 3.0 => 5.0,
        _ => 10.0,
    };
    next * power
}

fn power_below(figure: f64) -> f64 {
    2_f64.powi(binary_exponent(figure))
}

#[expect(clippy::cast_possible_truncation, reason = "exponents of finite figures are small")]
fn exponent(figure: f64) -> i32 {
    (figure.log10() + 1e-9).floor() as i32
}

#[expect(clippy::cast_possible_truncation, reason = "exponents of finite figures are small")]
fn binary_exponent(figure: f64) -> i32 {
    (figure.log2() + 1e-9).floor() as i32
}

#[expect(clippy::cast_precision_loss, reason = "a place on an axis")]
fn count(number: usize) -> f64 {
    number as f64
}
