//! Who hits more or less often than an exact LRU of the same capacity.

use larder_store::ByteSize;

use super::{Role, Sentence, about};
use crate::hit_ratio::{Reached, capacity, ratio, reached};
use crate::model::{Cell, HitCurve, PointValue, Run};
use crate::points::{CAPACITY, label};
use crate::ranking::{Group, groups};

/// A difference that deserves a sentence: a point of percent.
const WORTH_SAYING: f64 = 0.01;

/// For each target the capacity at which it is farthest from an exact LRU, and where it could hold less than was asked.
pub(super) fn beside_lru(run: &Run) -> Vec<Sentence> {
    let groups = groups(run);
    let mut sentences: Vec<Sentence> =
        run.hit_curves.iter().flat_map(|curve| of_curve(run, curve, &groups)).collect();
    sentences.extend(smaller(run));
    sentences
}

fn of_curve(run: &Run, curve: &HitCurve, groups: &[Group<'_>]) -> Vec<Sentence> {
    let place = label(&curve.point, &run.swept());
    let subject = if place.is_empty() { "hits".to_owned() } else { format!("hits, {place}") };
    let mut farthest: Vec<Reached<'_>> = Vec::new();
    for one in reached(run, curve, groups) {
        match farthest.iter_mut().find(|known| known.name == one.name) {
            Some(known) if off(known).abs() < off(&one).abs() => *known = one,
            Some(_) => {}
            None => farthest.push(one),
        }
    }
    farthest.retain(|one| off(one).abs() > WORTH_SAYING);
    let sentence = |one: Reached<'_>| Sentence {
        role: Role::Remark,
        operation: Some(curve.operation),
        point: None,
        subject: subject.clone(),
        text: text(curve, &one),
    };
    farthest.into_iter().map(sentence).collect()
}

fn off(one: &Reached<'_>) -> f64 {
    one.ratio - one.at.lru
}

/// `at 10 % (8.1 MiB) of the working set moka: hits 61.2 %, more than an exact LRU with 58.9 %; the optimal choice has 68.0 %`.
fn text(curve: &HitCurve, one: &Reached<'_>) -> String {
    let than = if off(one) > 0.0 { "more" } else { "less" };
    format!(
        "at {} of the working set {} hits {}, {than} than an exact LRU with {}; the optimal choice has {}",
        capacity(curve, one.at),
        one.name,
        ratio(one.ratio),
        ratio(one.at.lru),
        ratio(one.at.optimal)
    )
}

/// Says of each target where the capacity that it keeps to is smaller than the one that was asked.
fn smaller(run: &Run) -> Vec<Sentence> {
    let less = |cell: &Cell| match (cell.point.get(CAPACITY), cell.capacity_bytes) {
        (Some(PointValue::Number(asked)), Some(held)) if held < *asked => Some((*asked, held)),
        _ => None,
    };
    let of_target = |target: &crate::model::Target| {
        let mut cells: Vec<(u64, u64)> =
            run.cells.iter().filter(|cell| cell.target == target.url).filter_map(less).collect();
        cells.sort_unstable();
        cells.dedup();
        let each: Vec<String> = cells
            .iter()
            .map(|(asked, held)| {
                format!("{} where {} were asked", ByteSize(*held), ByteSize(*asked))
            })
            .collect();
        let text = format!("{} could hold {}", target.name, each.join(", "));
        (!each.is_empty()).then(|| about("capacity", text))
    };
    run.targets.iter().filter_map(of_target).collect()
}
