//! The numbers of an axis as text.

use larder_store::ByteSize;

use crate::chart::marks::index;
use crate::chart::model::{Axis, Unit};
use crate::figures;

/// A figure as tables write it.
pub(super) fn figure(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Rate => figures::rate(value),
        Unit::Nanoseconds => figures::nanoseconds(value),
        Unit::Seconds => figures::seconds(value),
        Unit::Bytes => figures::bytes(whole(value)),
        Unit::Share | Unit::Quantile => figures::percent(value),
        // Six figures, as in the page, so that a step of 0.05 shows no rounding error.
        Unit::Number | Unit::Name => {
            format!("{value:.5e}").parse::<f64>().unwrap_or(value).to_string()
        }
    }
}

/// A figure with its interval, where it has one.
pub(super) fn figure_with(unit: Unit, value: f64, ci95: Option<[f64; 2]>) -> String {
    match (unit, ci95) {
        (Unit::Rate, Some(ci95)) => figures::rate_interval(value, ci95),
        (Unit::Nanoseconds, Some(ci95)) => figures::nanoseconds_interval(value, ci95),
        (_, Some([low, high])) => {
            format!("{} [{}–{}]", figure(unit, value), figure(unit, low), figure(unit, high))
        }
        (_, None) => figure(unit, value),
    }
}

/// A round figure without trailing zeros, which would suggest precision: `1 M/s`, `0.5 ms`.
pub(super) fn tick(unit: Unit, value: f64) -> String {
    let ends = match (unit, value) {
        (Unit::Quantile, 0.0) => Some("min"),
        (Unit::Quantile, 1.0) => Some("max"),
        (Unit::Rate | Unit::Nanoseconds | Unit::Seconds | Unit::Bytes, 0.0) => Some("0"),
        _ => None,
    };
    if let Some(end) = ends {
        return end.to_owned();
    }
    if unit == Unit::Bytes {
        return ByteSize(whole(value)).to_string();
    }
    let text = figure(unit, value);
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
    }
}

/// A place on the axis of a chart, as text.
pub(super) fn place(axis: &Axis, x: f64) -> String {
    let named = axis.categories.iter().enumerate();
    let mut named = named.filter(|(number, _)| index(*number) >= x);
    named.next().map_or_else(|| tick(axis.unit, x), |(_, name)| name.clone())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bytes are not negative"
)]
fn whole(value: f64) -> u64 {
    value.round() as u64
}
