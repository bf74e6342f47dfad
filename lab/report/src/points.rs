//! Points of a sweep as text.

use larder_store::ByteSize;

use crate::figures::percent;
use crate::model::{Cell, Point, PointValue, Run};

/// The coordinate that distinguishes the parts of a scenario.
pub const PART: &str = "part";

/// The coordinate with the capacity of each target, in bytes.
pub const CAPACITY: &str = "capacity";

/// The points of a run, each once: in numeric order where all coordinates are numbers, otherwise in their original
/// order.
pub fn points(run: &Run) -> Vec<&Point> {
    let mut points: Vec<&Point> = Vec::new();
    for cell in &run.cells {
        if !points.contains(&&cell.point) {
            points.push(&cell.point);
        }
    }
    let is_number = |value: &PointValue| matches!(value, PointValue::Number(_));
    if points.iter().all(|point| point.values().all(is_number)) {
        points.sort();
    }
    points
}

/// A point with the names of its coordinates: `data_size 4 KiB, threads 4`. Only swept coordinates are named, so the
/// text is empty where there is only one point.
pub fn label(point: &Point, swept: &[&str]) -> String {
    join(point, swept, |name, value| named(name, coordinate(name, value)))
}

/// A coordinate with its name. The name of a part needs no name of its coordinate.
fn named(name: &str, value: String) -> String {
    if name == PART { value } else { format!("{name} {value}") }
}

/// A point by its values where one coordinate was swept, otherwise by names and values: `4 KiB`.
pub fn short_label(point: &Point, swept: &[&str]) -> String {
    match swept {
        [_] => join(point, swept, coordinate),
        _ => label(point, swept),
    }
}

/// One coordinate: a size in its unit, any other value unchanged.
pub fn coordinate(name: &str, value: &PointValue) -> String {
    match value {
        PointValue::Number(bytes) if name.ends_with("_size") || name == CAPACITY => {
            ByteSize(*bytes).to_string()
        }
        other => other.to_string(),
    }
}

/// The label of a point of this run; different points have different labels.
pub(crate) fn distinct_label(run: &Run, point: &Point, swept: &[&str]) -> String {
    join(point, swept, |name, value| named(name, distinct_coordinate(run, name, value)))
}

/// The short label of a point of this run; different points have different labels.
pub(crate) fn distinct_short_label(run: &Run, point: &Point, swept: &[&str]) -> String {
    match swept {
        [_] => join(point, swept, |name, value| distinct_coordinate(run, name, value)),
        _ => distinct_label(run, point, swept),
    }
}

/// One coordinate of this run: in bytes where its unit would make it look like another.
pub(crate) fn distinct_coordinate(run: &Run, name: &str, value: &PointValue) -> String {
    if let PointValue::Number(bytes) = value
        && let Some(share) = share_of_working_set(run, name, *bytes)
    {
        return format!("{} ({})", percent(share), coordinate(name, value));
    }
    distinct_from(name, value, run.cells.iter().filter_map(|cell| cell.point.get(name)))
}

/// One coordinate: in bytes where its unit would make it look like another of these.
fn distinct_from<'a>(
    name: &str,
    value: &PointValue,
    mut others: impl Iterator<Item = &'a PointValue>,
) -> String {
    let text = coordinate(name, value);
    let PointValue::Number(bytes) = value else { return text };
    let is_exact = || text.parse().is_ok_and(|ByteSize(read)| read == *bytes);
    let reads_alike = |other: &PointValue| other != value && coordinate(name, other) == text;
    if is_exact() || !others.any(reads_alike) { text } else { format!("{bytes} B") }
}

/// The labels of these points; different points have different labels.
#[derive(Debug)]
pub(crate) struct Labels(Vec<Point>);

impl Labels {
    pub(crate) fn of<'a>(points: impl Iterator<Item = &'a Point>) -> Self {
        let mut distinct: Vec<Point> = Vec::new();
        for point in points {
            if !distinct.contains(point) {
                distinct.push(point.clone());
            }
        }
        Self(distinct)
    }

    /// A point with the names of its coordinates, as in [`label`].
    pub(crate) fn long(&self, point: &Point, swept: &[&str]) -> String {
        join(point, swept, |name, value| named(name, self.coordinate(name, value)))
    }

    /// The same as short as in [`short_label`].
    pub(crate) fn short(&self, point: &Point, swept: &[&str]) -> String {
        match swept {
            [_] => join(point, swept, |name, value| self.coordinate(name, value)),
            _ => self.long(point, swept),
        }
    }

    fn coordinate(&self, name: &str, value: &PointValue) -> String {
        distinct_from(name, value, self.0.iter().filter_map(|point| point.get(name)))
    }
}

/// The share of all keys and values that a capacity is, where the share is the same at all points.
#[expect(clippy::cast_precision_loss, reason = "a share for people")]
fn share_of_working_set(run: &Run, name: &str, bytes: u64) -> Option<f64> {
    let at = PointValue::Number(bytes);
    let is_there = |cell: &&Cell| name == CAPACITY && cell.point.get(name) == Some(&at);
    let mut sets = run.cells.iter().filter(is_there).map(|cell| cell.working_set_bytes);
    let set = sets.next().filter(|set| *set > 0)?;
    sets.all(|other| other == set).then(|| bytes as f64 / set as f64)
}

fn join(point: &Point, swept: &[&str], text: impl Fn(&str, &PointValue) -> String) -> String {
    let shown: Vec<String> = point
        .iter()
        .filter(|(name, _)| swept.contains(&name.as_str()))
        .map(|(name, value)| text(name, value))
        .collect();
    shown.join(", ")
}
