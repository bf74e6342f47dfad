//! Targets that hit less often than others, so that their speed is not compared. Also targets that hit more or less
//! often than an exact LRU of the same capacity.

use larder_store::ByteSize;

use super::{Role, Sentence, about};
use crate::content::{Lru, NO_NOISE, held_above, lru_of};
use crate::figures;
use crate::figures::percent;
use crate::hit_ratio::{Reached, capacity, ratio, reached};
use crate::model::{Cell, HitCurve, PointValue, Run};
use crate::points::{CAPACITY, label};
use crate::ranking::{Group, Row, Standing, groups};

/// The targets of a group that hit less often than its best; `None` where all hit equally often.
pub(super) fn less_often(group: &Group<'_>) -> Option<String> {
    let unlike: Vec<String> = group.rows.iter().filter_map(named_with_hits).collect();
    let (does, what) = match (group.operation.reads(), unlike.len()) {
        (true, 1) => ("hits", "less often"),
        (true, _) => ("hit", "less often"),
        (false, 1) => ("finds", "fewer keys"),
        (false, _) => ("find", "fewer keys"),
    };
    let best: Vec<&Row<'_>> = group.ranked().collect();
    let most = best.iter().filter_map(|row| row.cell.found_ratio()).fold(0.0, f64::max);
    let names: Vec<&str> = best.iter().map(|row| row.name).collect();
    (!unlike.is_empty()).then(|| {
        format!(
            "{} {does} {what} than {} ({}): a miss is other work than a hit, so their speed is not compared",
            figures::list(&unlike.iter().map(String::as_str).collect::<Vec<_>>()),
            figures::list(&names),
            figures::percent(most)
        )
    })
}

/// `small (8.91 %)`, for a target that hit less often than the best.
fn named_with_hits(row: &Row<'_>) -> Option<String> {
    match row.standing {
        Standing::Unlike { hits, .. } => Some(format!("{} ({})", row.name, figures::percent(hits))),
        _ => None,
    }
}

/// For each target the capacity at which it is farthest from an exact LRU, and the requested capacities that it could
/// not offer.
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
        match farthest.iter_mut().find(|known| known.target.url == one.target.url) {
            Some(known) if off(known).abs() < off(&one).abs() => *known = one,
            Some(_) => {}
            None => farthest.push(one),
        }
    }
    farthest.retain(|one| off(one).abs() > NO_NOISE);
    let sentence = |one: Reached<'_>| Sentence {
        role: Role::Remark,
        operation: Some(curve.operation),
        point: None,
        subject: subject.clone(),
        text: text(run, curve, &one),
    };
    farthest.into_iter().map(sentence).collect()
}

fn off(one: &Reached<'_>) -> f64 {
    one.ratio - one.at.lru
}

/// `at 10 % (8.1 MiB) of the working set moka: hits 61.2 %, more than an exact LRU with 58.9 %; the optimal choice has
/// 68.0 %`. Two other forms replace "more". One says that the target held more than its capacity; the other, that it is
/// an LRU itself and cannot otherwise hit more often.
fn text(run: &Run, curve: &HitCurve, one: &Reached<'_>) -> String {
    let place = format!("at {} of the working set", capacity(curve, one.at));
    let (name, hits, lru) = (&one.target.name, ratio(one.ratio), ratio(one.at.lru));
    let optimal = format!("the optimal choice has {}", ratio(one.at.optimal));
    let is_above = off(one) > 0.0;
    let lru_itself = lru_of(one.target).filter(|_| is_above);
    match held_above(run, one.cell) {
        Some(above) => {
            let (what, share) = (above.what(), percent(above.share));
            let models =
                format!("an exact LRU that keeps to the capacity hits {lru}, and {optimal}");
            format!("{place} {name} hits {hits}, but {what}, {share} above that: {models}")
        }
        None if lru_itself == Some(Lru::Exact) && one.cell.under_way() > 1 => format!(
            "{place} {name} hits {hits}; an exact LRU has {lru} where the operations take turns; {optimal}"
        ),
        None if lru_itself == Some(Lru::Exact) => format!(
            "{place} {name} hits {hits}, more than an LRU of that capacity can: an exact LRU has {lru}; {optimal}"
        ),
        None if lru_itself == Some(Lru::Approximate) => format!(
            "{place} {name} hits {hits}; its LRU is approximate, an exact LRU has {lru}; {optimal}"
        ),
        None => {
            let than = if is_above { "more" } else { "less" };
            format!("{place} {name} hits {hits}, {than} than an exact LRU with {lru}; {optimal}")
        }
    }
}

/// The sentence about each target whose own capacity is smaller than the requested one.
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
