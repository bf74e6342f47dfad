//! The points of a run in the layout of a chart: one coordinate along the axis, the others as a choice.

use std::collections::BTreeSet;

use super::axis;
use super::model::Axis;
use crate::model::{Operation, Point, PointValue, Run};
use crate::points::{distinct_coordinate, distinct_label, distinct_short_label};
use crate::ranking::Group;

/// The swept parameters, with the one along the axis.
#[derive(Debug)]
pub(super) struct Sweep<'a> {
    run: &'a Run,
    /// The coordinate along the axis; `None` without a sweep.
    along: Option<&'a str>,
    /// The other swept coordinates.
    others: Vec<&'a str>,
    /// The values along the axis: rising where all are numbers, otherwise in their original order.
    values: Vec<&'a PointValue>,
}

/// The groups of one operation that differ only along the axis.
#[derive(Debug)]
pub(super) struct AlongAxis<'a> {
    pub(super) operation: Operation,
    /// The other coordinates as text; empty where there are none.
    pub(super) label: String,
    pub(super) places: Vec<Place<'a>>,
}

/// A group at its place on the axis.
#[derive(Debug)]
pub(super) struct Place<'a> {
    pub(super) x: f64,
    /// Its coordinate as text.
    pub(super) label: String,
    pub(super) group: &'a Group<'a>,
}

impl<'a> Sweep<'a> {
    /// The coordinate with the most numbers runs along the axis; without numbers, the one with the most values.
    pub(super) fn of(run: &'a Run) -> Self {
        let swept = run.swept();
        let rank = |name: &&&str| {
            let values = values(run, name);
            let numbers = values.iter().filter(|v| matches!(v, PointValue::Number(_))).count();
            (numbers, values.len())
        };
        // The first of equals, where `max_by_key` would take the last.
        let along = swept.iter().rev().max_by_key(rank).copied();
        let others = swept.into_iter().filter(|name| Some(*name) != along).collect();
        Self { run, along, others, values: along.map(|name| values(run, name)).unwrap_or_default() }
    }

    /// The axis of the coordinate.
    pub(super) fn axis(&self) -> Axis {
        let label = self.along.unwrap_or_default();
        match numbers(&self.values) {
            Some(numbers) => axis::of_coordinate(label, &numbers),
            None => axis::of_categories(
                label,
                self.values.iter().map(|v| distinct_coordinate(self.run, label, v)).collect(),
            ),
        }
    }

    /// The groups, sorted into charts.
    pub(super) fn slices(&self, groups: &'a [Group<'a>]) -> Vec<AlongAxis<'a>> {
        let mut slices: Vec<AlongAxis<'a>> = Vec::new();
        for group in groups {
            let label = distinct_label(self.run, group.point, &self.others);
            let place = self.place(group);
            let mine = |slice: &&mut AlongAxis<'_>| {
                slice.operation == group.operation && slice.label == label
            };
            match slices.iter_mut().find(mine) {
                Some(slice) => slice.places.push(place),
                None => {
                    slices.push(AlongAxis {
                        operation: group.operation,
                        label,
                        places: vec![place],
                    });
                }
            }
        }
        for slice in &mut slices {
            slice.places.sort_by(|a, b| a.x.total_cmp(&b.x));
        }
        slices
    }

    #[expect(clippy::cast_precision_loss, reason = "a place on an axis")]
    fn place(&self, group: &'a Group<'a>) -> Place<'a> {
        let value = self.along.and_then(|name| Some((name, group.point.get(name)?)));
        let Some((name, value)) = value else {
            return Place { x: 0.0, label: String::new(), group };
        };
        let at = || self.values.iter().position(|known| *known == value).unwrap_or(0);
        let x = match (numbers(&self.values), value) {
            (Some(_), PointValue::Number(number)) => *number as f64,
            _ => at() as f64,
        };
        Place { x, label: distinct_coordinate(self.run, name, value), group }
    }
}

/// A point with all its swept coordinates, as the choice between points names it.
pub(super) fn point_label(run: &Run, point: &Point) -> String {
    distinct_short_label(run, point, &run.swept())
}

/// The values of a coordinate, each once: rising where all are numbers, otherwise in their original order.
fn values<'a>(run: &'a Run, name: &str) -> Vec<&'a PointValue> {
    let mut seen = BTreeSet::new();
    let all = run.cells.iter().filter_map(|cell| cell.point.get(name));
    let mut values: Vec<&PointValue> = all.filter(|value| seen.insert(*value)).collect();
    if numbers(&values).is_some() {
        values.sort();
    }
    values
}

/// The values as numbers; `None` where a value is a text.
#[expect(clippy::cast_precision_loss, reason = "places on an axis")]
fn numbers(values: &[&PointValue]) -> Option<Vec<f64>> {
    let number = |value: &&PointValue| match value {
        PointValue::Number(number) => Some(*number as f64),
        PointValue::Text(_) => None,
    };
    values.iter().map(number).collect()
}
