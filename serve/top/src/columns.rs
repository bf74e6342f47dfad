//! The columns of the table, and the rows that fill them.

use crate::figures::{bytes, known, latency, number, percent, up_time};
use crate::order::Order;
use crate::sample::Figures;
use crate::server::{Server, State};

/// One line of the table: a server, or all of them together.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) state: String,
    /// The reason in place of figures, for a server that is down.
    pub(crate) reason: Option<String>,
    pub(crate) version: String,
    pub(crate) figures: Figures,
}

impl Row {
    /// The row of a server.
    pub(crate) fn of(server: &Server) -> Self {
        let (state, reason) = match &server.state {
            State::Waiting => ("wait", Some("not asked yet".to_owned())),
            State::Up => ("up", None),
            State::Down { reason, .. } => ("down", Some(reason.clone())),
        };
        Self {
            name: server.address.clone(),
            state: state.to_owned(),
            reason,
            version: server.version.clone(),
            figures: server.figures,
        }
    }

    /// The row of all servers; `None` for one server, which is its own total.
    pub(crate) fn total(servers: &[Server]) -> Option<Self> {
        let figures: Vec<_> = servers.iter().map(|server| server.figures).collect();
        let n_up = servers.iter().filter(|server| server.state == State::Up).count();
        (servers.len() > 1).then(|| Self {
            name: "total".to_owned(),
            state: format!("{n_up}/{}", servers.len()),
            reason: None,
            version: String::new(),
            figures: Figures::total(&figures),
        })
    }
}

/// A column of the table.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) title: &'static str,
    /// The usual width, so that the columns stay in place while figures change.
    pub(crate) width: usize,
    /// A narrow terminal keeps the columns with the lowest ranks.
    pub(crate) rank: u8,
    /// The order in which this column decides.
    pub(crate) order: Option<Order>,
    pub(crate) cell: fn(&Row) -> String,
}

impl Column {
    const fn new(title: &'static str, width: usize, rank: u8, cell: fn(&Row) -> String) -> Self {
        Self { title, width, rank, order: None, cell }
    }

    const fn sorts(self, order: Order) -> Self {
        Self { order: Some(order), ..self }
    }

    /// Whether its cells are words, which stand on the left.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.title, "server" | "state" | "version")
    }

    /// Whether the column has any figure: servers that report no latency need no column for it.
    pub(crate) fn is_needed(&self, rows: &[Row]) -> bool {
        self.title != "p99" || rows.iter().any(|row| row.figures.p99_us.is_some())
    }
}

/// Every column, from left to right. The first two also stand before the reason of a server that is down.
pub(crate) const COLUMNS: &[Column] = &[
    Column::new("server", 0, 0, |row| row.name.clone()).sorts(Order::Address),
    Column::new("state", 5, 1, |row| row.state.clone()),
    Column::new("req/s", 5, 2, |row| rate(row.figures.requests())).sorts(Order::Requests),
    Column::new("get/s", 5, 4, |row| rate(row.figures.gets)),
    Column::new("set/s", 5, 5, |row| rate(row.figures.sets)),
    Column::new("other/s", 7, 14, |row| rate(row.figures.others)),
    Column::new("hit", 6, 3, |row| share(row.figures.hit_rate())).sorts(Order::HitRate),
    Column::new("p99", 6, 7, |row| known(row.figures.p99_us, latency)).sorts(Order::Latency),
    Column::new("conns", 9, 8, |row| {
        of(row.figures.connections, row.figures.max_connections, number)
    })
    .sorts(Order::Connections),
    Column::new("items", 5, 13, |row| known(row.figures.items, number)),
    Column::new("bytes", 11, 16, |row| of(row.figures.bytes, row.figures.limit_bytes, bytes)),
    Column::new("full", 5, 6, |row| share(row.figures.fill())).sorts(Order::Fill),
    Column::new("evict/s", 7, 10, |row| rate(row.figures.evictions)).sorts(Order::Evictions),
    Column::new("in/s", 5, 12, |row| known(row.figures.read_bytes, bytes)),
    Column::new("out/s", 5, 11, |row| known(row.figures.written_bytes, bytes)),
    Column::new("cpu", 5, 9, |row| share(row.figures.cpu)).sorts(Order::Cpu),
    Column::new("up", 6, 15, |row| known(row.figures.up_s, up_time)),
    Column::new("version", 7, 17, |row| row.version.clone()),
];

fn rate(figure: Option<f64>) -> String {
    known(figure, number)
}

fn share(figure: Option<f64>) -> String {
    known(figure, percent)
}

/// A figure of its limit, where it has one.
fn of(figure: Option<f64>, limit: Option<f64>, shown: fn(f64) -> String) -> String {
    match limit {
        Some(limit) => format!("{}/{}", known(figure, shown), shown(limit)),
        None => known(figure, shown),
    }
}
