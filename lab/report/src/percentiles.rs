//! Latencies of operations up to some percentiles: the table of an article with such figures.

use crate::figures::nanoseconds;
use crate::model::{Cell, LatencyTo, Run};
use crate::points::label;
use crate::ranking::{Row, Standing, groups};

/// The shares of fastest operations whose figures are shown, by their names: 90, 95 and 99 %, then all.
pub(crate) const PERCENTILES: [(&str, f64); 4] =
    [("90 %", 0.9), ("95 %", 0.95), ("99 %", 0.99), ("all", 1.0)];

/// The figures of all targets for one operation at one point.
#[derive(Debug)]
pub(crate) struct Percentiles {
    /// The operation, and the place in the sweep.
    pub(crate) caption: String,
    pub(crate) rows: Vec<PercentilesRow>,
}

/// The figures of a target.
#[derive(Debug)]
pub(crate) struct PercentilesRow {
    pub(crate) target: String,
    /// The least latency; empty where it is unknown.
    pub(crate) least: String,
    /// Mean and greatest up to each of [`PERCENTILES`]; empty where too few operations tell.
    pub(crate) up_to: [String; PERCENTILES.len()],
    /// The reason why the figures are missing, or are no result.
    pub(crate) remark: Option<String>,
    /// Whether the figures are no result.
    pub(crate) doubtful: bool,
}

/// The heads of the columns behind the targets.
pub(crate) fn heads() -> impl Iterator<Item = &'static str> {
    std::iter::once("least").chain(PERCENTILES.iter().map(|(name, _)| *name))
}

impl PercentilesRow {
    /// The figures, in the order of [`heads`].
    pub(crate) fn figures(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.least.as_str()).chain(self.up_to.iter().map(String::as_str))
    }
}

/// The operations of a cell up to a percentile, where enough operations tell.
pub(crate) fn up_to(cell: &Cell, quantile: f64) -> Option<&LatencyTo> {
    cell.latency_to.iter().find(|to| (to.quantile - quantile).abs() < 1e-9)
}

/// The tables of a run that repeats an article with such figures; empty for other runs.
pub(crate) fn percentiles(run: &Run) -> Vec<Percentiles> {
    if !run.article.as_ref().is_some_and(|article| article.percentiles) {
        return Vec::new();
    }
    let swept = run.swept();
    let table = |group: &crate::ranking::Group<'_>| {
        let at = label(group.point, &swept);
        let at = if at.is_empty() { at } else { format!(", {at}") };
        let caption =
            format!("{}{at}: latency up to percentiles, mean / greatest", group.operation);
        Percentiles { caption, rows: group.rows.iter().map(row).collect() }
    };
    groups(run).iter().map(table).collect()
}

#[expect(clippy::cast_precision_loss, reason = "three figures are shown")]
fn row(row: &Row<'_>) -> PercentilesRow {
    let (remark, doubtful) = match &row.standing {
        Standing::Empty(reason) => (Some((*reason).to_owned()), false),
        Standing::Withheld(why) => (Some(format!("no result: {why}")), true),
        Standing::Unlike { reason, .. } => (Some(reason.clone()), false),
        Standing::Ranked { .. } => (None, false),
    };
    let least = row.cell.latency_ns.as_ref().map(|latency| nanoseconds(latency.min as f64));
    let text = |(_, quantile): (&str, f64)| {
        let to = up_to(row.cell, quantile)?;
        Some(format!("{} / {}", nanoseconds(to.mean), nanoseconds(to.max as f64)))
    };
    PercentilesRow {
        target: row.name.to_owned(),
        least: least.unwrap_or_default(),
        up_to: PERCENTILES.map(|percentile| text(percentile).unwrap_or_default()),
        remark,
        doubtful,
    }
}
