//! The cost of the operations: processor time, memory, disk.

use super::axis;
use super::family::Family;
use super::marks::{BarPart, Figure, stacked};
use super::model::{Chart, Shape, Unit};
use super::subject::{Picture, Subject};
use super::sweep::point_label;
use crate::columns::nanoseconds_per_operation;
use crate::model::{Run, Target};
use crate::ranking::{Group, Row, groups};

/// A figure of cost, in one part or in several that add up.
struct Cost {
    name: &'static str,
    what: &'static str,
    reading: &'static str,
    label: &'static str,
    unit: Unit,
    parts: &'static [BarPart],
}

const COSTS: [Cost; 3] = [
    Cost {
        name: "CPU",
        what: "processor time per operation",
        reading: "Less is better. Processor time that one operation took, on all cores together: of this client, \
                  with the engine in it where it is embedded, and of the servers.",
        label: "CPU time per operation",
        unit: Unit::Nanoseconds,
        parts: &[
            BarPart { name: "client", colour: Some(0), concerns: |_| true, read: client_cpu },
            BarPart { name: "server", colour: Some(4), concerns: has_server, read: server_cpu },
        ],
    },
    Cost {
        name: "memory",
        what: "memory",
        reading: "Less is better. Memory resident when the operations were done: of the servers, or for an embedded \
                  engine the growth of this process.",
        label: "memory resident",
        unit: Unit::Bytes,
        parts: &[BarPart {
            name: "memory",
            colour: None,
            concerns: |_| true,
            read: |row| bytes(row.cell.rss_bytes),
        }],
    },
    Cost {
        name: "disk",
        what: "disk",
        reading: "Less is better. The size of the files when the operations were done.",
        label: "disk",
        unit: Unit::Bytes,
        parts: &[BarPart {
            name: "disk",
            colour: None,
            concerns: |_| true,
            read: |row| bytes(row.cell.disk_bytes),
        }],
    },
];

/// A chart for each operation, point and cost.
pub(super) fn charts(run: &Run) -> Vec<Chart> {
    let chart = |group: &Group<'_>, cost: &Cost| {
        let point = point_label(run, group.point);
        let subject = Subject::new(Family::Resources, group.operation, &point);
        subject.at("figure", cost.name).chart(cost.what, cost.reading, cost.picture(run, group))
    };
    let groups = groups(run);
    groups
        .iter()
        .flat_map(|group| COSTS.iter().filter_map(move |cost| chart(group, cost)))
        .collect()
}

impl Cost {
    fn picture(&self, run: &Run, group: &Group<'_>) -> Picture {
        let (series, absent) = stacked(run, group, self.parts);
        let y = match self.parts {
            [_] => axis::of_figures(self.label, self.unit, &series),
            _ => axis::of_sums(self.label, self.unit),
        };
        Picture { shape: Shape::Bars, x: axis::of_targets(run), y, series, absent }
    }
}

fn client_cpu(row: &Row<'_>) -> Option<Figure> {
    nanoseconds_per_operation(row.cell, row.cell.client_cpu_s).map(Figure::plain)
}

fn server_cpu(row: &Row<'_>) -> Option<Figure> {
    nanoseconds_per_operation(row.cell, row.cell.server_cpu_s).map(Figure::plain)
}

/// An embedded engine has no process of its own that uses CPU time.
fn has_server(target: &Target) -> bool {
    target.ownership.as_deref() != Some("embedded")
}

#[expect(clippy::cast_precision_loss, reason = "three figures are shown")]
fn bytes(figure: Option<u64>) -> Option<Figure> {
    figure.map(|bytes| Figure::plain(bytes as f64))
}
