//! Connections in a report: the answers of each, what was outstanding, the cost of idle ones, and the time of new ones.

use crate::figures::{bytes, nanoseconds, percent, rate, significant};
use crate::model::{Cell, Driven, Operation, Point, Run};
use crate::points::{distinct_label, points};

/// The heading of the tables.
pub(crate) const CONNECTIONS: &str = "Connections";

/// Marks an unknown figure.
pub(crate) const UNKNOWN: &str = "–";

/// A column: its heading in two lines, its importance where there is not room for all, and its figure.
pub(crate) struct ConnectionColumn {
    pub(crate) head: [&'static str; 2],
    pub(crate) importance: u8,
    /// `None` where the cell has no such connections; the inner `None` is an unknown figure.
    figure: fn(&ConnectionRow<'_>) -> Option<Option<String>>,
}

/// What the columns mean, a sentence for each group of them: its first column, and the sentence.
const MEANINGS: [(&str, &str); 7] = [
    (
        "least",
        "Answered: requests a second that a connection got answered: the least, the median and the most of all.",
    ),
    (
        "starved",
        "Starved: connections with less than a third of the median's answers, in the median round.",
    ),
    (
        "mean",
        "Outstanding: requests that were sent and had no answer yet, of all connections together.",
    ),
    ("lost", "Lost: requests whose answer never came."),
    (
        "thread",
        "Thread: the time for which the client's busiest thread had a processor; near 100 % it is the limit.",
    ),
    (
        "idle",
        "Idle: the server's memory for each idle connection; – where it did not grow, or is not known.",
    ),
    (
        "connect p50",
        "Connect and first answer: from the instant at which a connection was due until it was there, and until its read \
         was answered.",
    ),
];

/// From left to right: the answers, what was outstanding, the sides' work, and connections beside.
pub(crate) const COLUMNS: [ConnectionColumn; 14] = [
    column(["answered/s", "least"], 80, |row| Some(Some(rate(driven(row)?.answered_per_s.least)))),
    column(["answered/s", "median"], 90, |row| {
        Some(Some(rate(driven(row)?.answered_per_s.median)))
    }),
    column(["answered/s", "most"], 60, |row| Some(Some(rate(driven(row)?.answered_per_s.most)))),
    column(["", "starved"], 95, |row| Some(Some(driven(row)?.starved.to_string()))),
    column(["outstanding", "mean"], 70, |row| {
        Some(driven(row)?.outstanding_mean.map(|mean| significant(mean, 3)))
    }),
    column(["outstanding", "most"], 50, |row| {
        Some(Some(driven(row)?.outstanding_most.to_string()))
    }),
    column(["", "lost"], 94, |row| driven(row).map(|_| Some(row.lost.to_string()))),
    column(["client's", "thread"], 85, |row| {
        driven(row).map(|_| busiest(row.cell).map(|share| percent(share.min(1.0))))
    }),
    column(["servers'", "processors"], 65, |row| {
        Some(driven(row)?.server_processors.map(|used| significant(used, 2)))
    }),
    column(["memory", "idle"], 75, |row| {
        Some(row.cell.idle?.server_bytes_per_connection.map(|each| bytes(whole(each))))
    }),
    column(["came", "/s"], 40, |row| Some(Some(rate(row.cell.comers?.begun_per_s)))),
    column(["failed", "to come"], 93, |row| Some(Some(row.cell.comers?.failed.to_string()))),
    column(["connect", "p50"], 55, |row| {
        Some(row.cell.comers?.connect_ns.map(|latency| nanoseconds(real(latency.p50))))
    }),
    column(["first answer", "p99"], 72, |row| {
        Some(row.cell.comers?.first_answer_ns.map(|latency| nanoseconds(real(latency.p99))))
    }),
];

const fn column(
    head: [&'static str; 2],
    importance: u8,
    figure: fn(&ConnectionRow<'_>) -> Option<Option<String>>,
) -> ConnectionColumn {
    ConnectionColumn { head, importance, figure }
}

impl ConnectionColumn {
    /// Its heading in one line.
    pub(crate) fn name(&self) -> String {
        self.head.join(" ").trim().to_owned()
    }

    /// The figure of a row; empty where the row has no such connections.
    pub(crate) fn text(&self, row: &ConnectionRow<'_>) -> String {
        match (self.figure)(row) {
            None => String::new(),
            Some(figure) => figure.unwrap_or_else(|| UNKNOWN.to_owned()),
        }
    }
}

/// A target at a place.
#[derive(Debug)]
pub(crate) struct ConnectionRow<'a> {
    /// The target as the run lists it.
    pub(crate) target: usize,
    pub(crate) name: &'a str,
    cell: &'a Cell,
    operations: Vec<Operation>,
    /// The lost requests of all these operations.
    lost: u64,
}

/// The rows of the same operations at a point.
#[derive(Debug)]
pub(crate) struct ConnectionPlace<'a> {
    /// `get, connections 50`.
    pub(crate) label: String,
    pub(crate) rows: Vec<ConnectionRow<'a>>,
}

/// The connections of a run; `None` where each thread had one, and no others were open.
pub(crate) fn connections(run: &Run) -> Option<Vec<ConnectionPlace<'_>>> {
    let swept = run.swept();
    let mut places: Vec<ConnectionPlace<'_>> = Vec::new();
    for point in points(run) {
        for row in rows(run, point) {
            let operations: Vec<&str> = row.operations.iter().map(|it| it.as_str()).collect();
            let at = distinct_label(run, point, &swept);
            let at = if at.is_empty() { at } else { format!(", {at}") };
            let label = format!("{}{at}", operations.join(" and "));
            match places.iter_mut().find(|place| place.label == label) {
                Some(place) => place.rows.push(row),
                None => places.push(ConnectionPlace { label, rows: vec![row] }),
            }
        }
    }
    (!places.is_empty()).then_some(places)
}

/// The columns that have a figure in some row.
pub(crate) fn columns(places: &[ConnectionPlace<'_>]) -> Vec<&'static ConnectionColumn> {
    let rows = || places.iter().flat_map(|place| &place.rows);
    let is_told = |column: &&ConnectionColumn| rows().any(|row| (column.figure)(row).is_some());
    COLUMNS.iter().filter(is_told).collect()
}

/// The meaning of these columns.
pub(crate) fn meaning(columns: &[&ConnectionColumn]) -> String {
    let is_there = |first: &str| {
        columns.iter().any(|column| column.head[1] == first || column.name() == first)
    };
    let said = MEANINGS.iter().filter(|(first, _)| is_there(first));
    said.map(|(_, meaning)| *meaning).collect::<Vec<_>>().join(" ")
}

/// The rows at a point. Operations of a mix have the same connections, and one row.
fn rows<'a>(run: &'a Run, point: &Point) -> Vec<ConnectionRow<'a>> {
    let mut rows: Vec<ConnectionRow<'a>> = Vec::new();
    let has_any =
        |cell: &&Cell| cell.driven.is_some() || cell.idle.is_some() || cell.comers.is_some();
    for cell in run.cells.iter().filter(|cell| cell.point == *point).filter(has_any) {
        let Some(target) = run.targets.iter().position(|target| target.url == cell.target) else {
            continue;
        };
        let is_same = |row: &&mut ConnectionRow<'_>| {
            row.target == target
                && (row.cell.driven, row.cell.idle, row.cell.comers)
                    == (cell.driven, cell.idle, cell.comers)
        };
        match rows.iter_mut().find(is_same) {
            Some(row) => {
                row.operations.push(cell.operation);
                row.lost += cell.counts.lost;
            }
            None => rows.push(ConnectionRow {
                target,
                name: &run.targets[target].name,
                cell,
                operations: vec![cell.operation],
                lost: cell.counts.lost,
            }),
        }
    }
    rows
}

fn driven(row: &ConnectionRow<'_>) -> Option<Driven> {
    row.cell.driven
}

/// The busiest thread's share of its time with a processor, the median of the rounds.
fn busiest(cell: &Cell) -> Option<f64> {
    let whole = cell.samples.iter().filter(|sample| sample.complete);
    let mut shares: Vec<f64> = whole.filter_map(|sample| sample.client_busy).collect();
    shares.sort_by(f64::total_cmp);
    shares.get(shares.len() / 2).copied()
}

#[expect(clippy::cast_precision_loss, reason = "three figures are shown")]
fn real(number: u64) -> f64 {
    number as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some bytes")]
fn whole(number: f64) -> u64 {
    number.round() as u64
}
