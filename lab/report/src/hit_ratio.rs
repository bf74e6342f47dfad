//! Hit ratios by capacity: those of each target beside an exact LRU and the optimal choice.

use std::cmp::Ordering;

use larder_store::ByteSize;

use crate::content::keeps_to_capacity;
use crate::figures;
use crate::findings::said_of;
use crate::model::{Cell, HitCurve, HitRatios, Point, PointValue, Run, Target};
use crate::points::{CAPACITY, label};
use crate::ranking::{Group, Row, Standing, groups};

/// The heading of the tables.
pub(crate) const HIT_RATIOS: &str = "Hit ratio by capacity";

/// The note below them.
pub(crate) const READING: &str = "Both models saw the measured operations and count only keys and values; a \
                                  target's other data comes out of its capacity. With entries of one size, no \
                                  cache hits more often than the optimal choice; with several sizes that choice \
                                  is good, and not the best.";

/// Marks a missing ratio; the reason follows below the table.
pub(crate) const NO_RATIO: &str = "–";

/// The names of the models.
pub(crate) const LRU: &str = "exact LRU";
pub(crate) const OPTIMAL: &str = "optimal choice";

/// The ratios at one place of the sweep.
#[derive(Debug)]
pub(crate) struct HitTable {
    /// The place, without the capacity; empty where no other coordinate was swept.
    pub(crate) place: String,
    /// The capacities.
    pub(crate) columns: Vec<String>,
    /// The targets, then the models.
    pub(crate) rows: Vec<HitRow>,
}

/// A target or a model.
#[derive(Debug)]
pub(crate) struct HitRow {
    /// The target as the run lists it; `None` for a model.
    pub(crate) target: Option<usize>,
    pub(crate) name: String,
    /// A ratio for each capacity, 0 to 1, or the reason why it is missing. [`ratio`] writes it.
    pub(crate) figures: Vec<Result<f64, String>>,
    /// Whether the target kept to each capacity: a ratio of more room is no praise.
    pub(crate) kept: Vec<bool>,
}

/// The hit ratio of a target at a capacity.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reached<'a> {
    pub(crate) target: &'a Target,
    pub(crate) cell: &'a Cell,
    pub(crate) ratio: f64,
    pub(crate) at: &'a HitRatios,
}

/// A table for each curve, its targets in the order of their hits.
pub(crate) fn hit_tables(run: &Run) -> Vec<HitTable> {
    let groups = groups(run);
    let swept = run.swept();
    run.hit_curves
        .iter()
        .map(|curve| HitTable {
            place: label(&curve.point, &swept),
            columns: curve.capacities.iter().map(|at| capacity(curve, at)).collect(),
            rows: rows(run, curve, &groups),
        })
        .collect()
}

/// The hit ratio of each ranked target, at each capacity of a curve.
pub(crate) fn reached<'a>(
    run: &'a Run,
    curve: &'a HitCurve,
    groups: &'a [Group<'a>],
) -> Vec<Reached<'a>> {
    let mut all = Vec::new();
    for target in run.targets.iter().filter(|target| target.stores == Some(true)) {
        for at in &curve.capacities {
            let row = row(run, curve, groups, at, &target.url);
            let ranked = row.filter(|row| {
                matches!(row.standing, Standing::Ranked { .. } | Standing::Unlike { .. })
            });
            if let Some(row) = ranked
                && let Some(ratio) = row.cell.hit_ratio()
            {
                all.push(Reached { target, cell: row.cell, ratio, at });
            }
        }
    }
    all
}

/// A ratio to a tenth of a percent, so that the ratios of a table can be compared.
pub(crate) fn ratio(ratio: f64) -> String {
    format!("{:.1} %", ratio * 100.0)
}

/// A capacity as text: `10 % (8.1 MiB)`.
#[expect(clippy::cast_precision_loss, reason = "a share for people")]
pub(crate) fn capacity(curve: &HitCurve, at: &HitRatios) -> String {
    let share = at.capacity_bytes as f64 / curve.working_set_bytes.max(1) as f64;
    format!("{} ({})", figures::percent(share), ByteSize(at.capacity_bytes))
}

fn rows(run: &Run, curve: &HitCurve, groups: &[Group<'_>]) -> Vec<HitRow> {
    let targets = run.targets.iter().enumerate();
    let of_target = targets.filter(|(_, target)| target.stores != Some(false)).filter_map(
        |(number, target)| {
            let found: Vec<Option<&Row<'_>>> = curve
                .capacities
                .iter()
                .map(|at| row(run, curve, groups, at, &target.url))
                .collect();
            found.iter().any(Option::is_some).then(|| HitRow {
                target: Some(number),
                name: target.name.clone(),
                kept: found
                    .iter()
                    .map(|row| row.is_none_or(|row| keeps_to_capacity(run, row.cell)))
                    .collect(),
                figures: found.into_iter().map(figure).collect(),
            })
        },
    );
    let mut of_target: Vec<HitRow> = of_target.collect();
    of_target.sort_by(by_hits);
    let model = |name: &str, of: fn(&HitRatios) -> f64| HitRow {
        target: None,
        name: name.to_owned(),
        figures: curve.capacities.iter().map(|at| Ok(of(at))).collect(),
        kept: vec![true; curve.capacities.len()],
    };
    of_target.extend([model(LRU, |at| at.lru), model(OPTIMAL, |at| at.optimal)]);
    of_target
}

/// The order of the names beside a chart: by the hits at the largest capacity, then at the smaller ones. A missing ratio
/// stands behind all others.
fn by_hits(a: &HitRow, b: &HitRow) -> Ordering {
    let ratio = |figure: &Result<f64, String>| figure.as_ref().copied().unwrap_or(-1.0);
    let from_largest = a.figures.iter().zip(&b.figures).rev();
    from_largest
        .fold(Ordering::Equal, |order, (a, b)| order.then_with(|| ratio(b).total_cmp(&ratio(a))))
}

fn figure(row: Option<&Row<'_>>) -> Result<f64, String> {
    let Some(row) = row else { return Err(String::new()) };
    match &row.standing {
        Standing::Empty(reason) => Err((*reason).to_owned()),
        Standing::Withheld(why) => Err(format!("no result: {why}")),
        Standing::Ranked { .. } | Standing::Unlike { .. } => {
            row.cell.hit_ratio().ok_or_else(|| "no read was answered".to_owned())
        }
    }
}

/// The row of a target at a capacity: the requested capacity, or its own without a request.
fn row<'a>(
    run: &Run,
    curve: &HitCurve,
    groups: &'a [Group<'a>],
    at: &HitRatios,
    url: &str,
) -> Option<&'a Row<'a>> {
    let target = run.target(url)?;
    let here = groups.iter().filter(|group| group.operation == curve.operation);
    let mut rows = here.flat_map(|group| &group.rows);
    rows.find(|row| row.cell.target == url && has_capacity(target, row.cell, &curve.point, at))
}

/// Whether a cell is at this place of the sweep, apart from the capacity, and has the capacity of these models. The
/// cell's capacity is the requested one, or the target's own without a request.
pub(crate) fn has_capacity(target: &Target, cell: &Cell, place: &Point, at: &HitRatios) -> bool {
    let mut point = cell.point.clone();
    let capacity = match point.remove(CAPACITY) {
        Some(PointValue::Number(asked)) => Some(asked),
        Some(PointValue::Text(_)) => None,
        None => target.capacity_bytes,
    };
    point == *place && capacity == Some(at.capacity_bytes)
}

/// The reasons for missing ratios: a line for each target, with the capacities of each reason.
pub(crate) fn reasons(table: &HitTable) -> Vec<String> {
    table.rows.iter().filter_map(|row| reasons_of(row, &table.columns)).collect()
}

fn reasons_of(HitRow { name, figures, .. }: &HitRow, capacities: &[String]) -> Option<String> {
    let mut of_reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for (figure, capacity) in figures.iter().zip(capacities) {
        let Err(reason) = figure else { continue };
        // Some reasons already name the target.
        let reason = reason.strip_prefix(name.as_str()).unwrap_or(reason).trim_start_matches(':');
        let reason = reason.trim_start();
        match of_reasons.iter_mut().find(|(known, _)| *known == reason) {
            _ if reason.is_empty() => {}
            Some((_, at)) => at.push(capacity),
            None => of_reasons.push((reason, vec![capacity])),
        }
    }
    let said = |(reason, at): &(&str, Vec<&str>)| {
        // A reason for all capacities needs no list of them.
        let is_of_all = at.len() == capacities.len();
        if is_of_all { (*reason).to_owned() } else { format!("at {}: {reason}", at.join(", ")) }
    };
    let all: Vec<String> = of_reasons.iter().map(said).collect();
    (!all.is_empty()).then(|| said_of(name, &all.join("; ")))
}
