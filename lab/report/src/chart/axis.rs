//! The axes of charts, and the scale that suits the figures.

use super::model::{Axis, Scale, Series, Unit};
use crate::model::Run;
use crate::points::CAPACITY;

/// Beyond this ratio of the largest figure to the smallest, the small ones are lost on a linear scale.
const WIDE_SPREAD: f64 = 20.0;

/// The axis of measured figures.
pub(super) fn of_figures(label: &str, unit: Unit, series: &[Series]) -> Axis {
    let values: Vec<f64> = series.iter().flat_map(|series| &series.y).copied().flatten().collect();
    of_numbers(label, unit, &values, false)
}

/// The axis of sums with stacked parts: it must begin at 0.
pub(super) fn of_sums(label: &str, unit: Unit) -> Axis {
    Axis { label: label.to_owned(), unit, scale: Scale::Linear, scales: vec![], categories: vec![] }
}

/// The axis of spans, which cover many powers of ten and begin far from 0.
pub(super) fn of_spans(label: &str, unit: Unit) -> Axis {
    Axis { label: label.to_owned(), unit, scale: Scale::Log, scales: vec![], categories: vec![] }
}

/// The axis of a swept coordinate with numbers. Sizes, and numbers of keys and connections, are swept in
/// steps that multiply.
pub(super) fn of_coordinate(name: &str, numbers: &[f64]) -> Axis {
    let is_size = name.ends_with("_size") || name == CAPACITY;
    let unit = if is_size { Unit::Bytes } else { Unit::Number };
    of_numbers(name, unit, numbers, is_size || ["keys", "connections", "pipeline"].contains(&name))
}

/// The axis of amounts that multiply from place to place, with no other scale.
pub(super) fn of_amounts(label: &str, unit: Unit, numbers: &[f64]) -> Axis {
    Axis { scales: Vec::new(), ..of_numbers(label, unit, numbers, true) }
}

/// The axis of times from the beginning on.
pub(super) fn of_time() -> Axis {
    of_sums("time since the beginning", Unit::Seconds)
}

/// The axis of names.
pub(super) fn of_categories(label: &str, categories: Vec<String>) -> Axis {
    Axis {
        label: label.to_owned(),
        unit: Unit::Name,
        scale: Scale::Categories,
        scales: Vec::new(),
        categories,
    }
}

/// The axis of the targets, each at its place in the run.
pub(super) fn of_targets(run: &Run) -> Axis {
    of_categories("target", run.targets.iter().map(|target| target.name.clone()).collect())
}

/// Both scales, where all values are above 0; the logarithmic scale first for a wide spread.
fn of_numbers(label: &str, unit: Unit, values: &[f64], multiplies: bool) -> Axis {
    let (low, high) = values
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(*value), high.max(*value)));
    let possible = low > 0.0 && low.is_finite();
    let wanted = multiplies || high > low * WIDE_SPREAD;
    Axis {
        label: label.to_owned(),
        unit,
        scale: if possible && wanted { Scale::Log } else { Scale::Linear },
        scales: if possible { vec![Scale::Linear, Scale::Log] } else { Vec::new() },
        categories: Vec::new(),
    }
}
