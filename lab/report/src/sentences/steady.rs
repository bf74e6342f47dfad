//! Rounds that differ far from all others of their cell: named, never left out.

use super::{Sentence, about};
use crate::figures::significant;
use crate::model::{Cell, Outlier, Run};
use crate::points::label;
use crate::ranking::name;

/// The number of named rounds; the farthest ones.
const NAMED: usize = 5;

/// The rounds far from the others, grouped by round.
pub(super) fn outliers(run: &Run) -> Option<Sentence> {
    let of = |cell: &'_ Cell| cell.ops_per_s.is_some() && cell.reason.is_none();
    let mut all: Vec<(&Cell, &Outlier)> = run
        .cells
        .iter()
        .filter(|cell| of(cell))
        .flat_map(|cell| cell.outliers.iter().map(move |outlier| (cell, outlier)))
        .collect();
    if all.is_empty() {
        return None;
    }
    all.sort_by(|(_, a), (_, b)| b.score.abs().total_cmp(&a.score.abs()));
    let left_out = all.len().saturating_sub(NAMED);
    all.truncate(NAMED);
    all.sort_by_key(|(_, outlier)| outlier.round);
    let swept = run.swept();
    let said = |(cell, Outlier { ratio, .. }): &(&Cell, &Outlier)| {
        let place = label(&cell.point, &swept);
        let place = if place.is_empty() { place } else { format!(", {place}") };
        let name = name(run, &cell.target);
        let how = if cell.is_paced() {
            format!("had a p99 of {}× its median", significant(ratio.recip(), 2))
        } else {
            format!("ran at {}× its median", significant(*ratio, 2))
        };
        format!("{} of {name}{place} {how}", cell.operation)
    };
    let mut texts: Vec<String> = all
        .chunk_by(|(_, a), (_, b)| a.round == b.round)
        .map(|of_round| {
            let said: Vec<String> = of_round.iter().map(said).collect();
            format!("in round {} {}", of_round[0].1.round, said.join(", "))
        })
        .collect();
    if left_out > 0 {
        texts.push(format!("run.json names {left_out} more"));
    }
    let text = format!("{}; these rounds count like all others", texts.join("; "));
    Some(about("outliers", text))
}
