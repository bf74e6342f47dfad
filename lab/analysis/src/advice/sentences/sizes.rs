//! What other sizes of the chosen cache buy: as measured, beyond that by the model, and at most by the limit of the trace.

use larder_report::figures::{bytes, list, percent};
use larder_report::{CurvePolicy, HitRatioAt, LIKE_HITS, most_hits_explained, most_hits_in_short};

use super::Facts;
use super::which::is_out_of_reach;
use crate::advice::choice::NO_POINTS;
use crate::advice::{Candidate, Model};

/// The second sentence: what each doubling buys, what more room than that may buy, and the limit of the trace.
pub(super) fn sizes(chosen: &Candidate, facts: &Facts<'_>) -> String {
    let own: Vec<&Candidate> =
        facts.candidates.iter().copied().filter(|other| other.target == chosen.target).collect();
    let steps = steps(&own, chosen);
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    let mut text = match &steps[..] {
        [] => format!("{} was measured at one size only.", chosen.name),
        steps => format!("Of {} {}.", chosen.name, list(steps)),
    };
    text.extend(more_room(&own, facts.model));
    let reads = facts.model.reads();
    text.extend(facts.model.limit.as_ref().map(|limit| {
        if is_out_of_reach(facts.wishes, limit) {
            // The first sentence has the reasons.
            format!(" {}.", most_hits_in_short(limit, reads))
        } else {
            format!(" {}", most_hits_explained(limit, reads))
        }
    }));
    text
}

/// What each size has beyond the one before. The last sizes that gain nothing are one step.
fn steps(own: &[&Candidate], chosen: &Candidate) -> Vec<String> {
    let pairs: Vec<&[&Candidate]> = own.windows(2).collect();
    let last = pairs.iter().rposition(|pair| gains(pair)).map_or(0, |place| place + 1);
    let mut steps: Vec<String> = pairs[..last]
        .iter()
        .map(|pair| {
            let (size, before) = (bytes(pair[1].capacity_bytes), bytes(pair[0].capacity_bytes));
            if gains(pair) {
                format!("{size} has {} than {before}", points(gain(pair)))
            } else {
                format!("{size} has no more than {before}")
            }
        })
        .collect();
    steps.extend(pairs.get(last).map(|pair| {
        let enough = pair[0];
        let size = bytes(enough.capacity_bytes);
        match why_larger(enough, chosen) {
            Some(why) => format!("more room than {size} gains no hits, but {why}"),
            None => format!("more room than {size} gains nothing"),
        }
    }));
    steps
}

/// Why a candidate was chosen and not a smaller one with the same hits; `None` where it was not.
fn why_larger(smaller: &Candidate, chosen: &Candidate) -> Option<String> {
    if chosen.capacity_bytes <= smaller.capacity_bytes {
        return None;
    }
    let size = bytes(chosen.capacity_bytes);
    Some(format!("only {size} has what was wished"))
}

/// The hits that the larger of two sizes has beyond the smaller one.
fn gain(pair: &[&Candidate]) -> f64 {
    pair[1].hit_ratio - pair[0].hit_ratio
}

/// Whether two sizes differ in hits by more than is shown as nothing.
fn gains(pair: &[&Candidate]) -> bool {
    gain(pair).abs() >= NO_POINTS
}

/// What more room than the largest measured size buys; `None` where the steps say it, or nothing is known.
fn more_room(own: &[&Candidate], model: &Model) -> Option<String> {
    let largest = own.last()?;
    let last_step = own.windows(2).last();
    let left = model.limit.as_ref().map(|limit| limit.at_most() - largest.hit_ratio);
    if left.is_some_and(|left| left < NO_POINTS) {
        let is_said = last_step.is_some_and(|pair| !gains(pair));
        return (!is_said).then(|| " More room cannot hit more.".to_owned());
    }
    if let Some(modelled) = modelled(largest.capacity_bytes, &model.curve) {
        return Some(modelled);
    }
    last_step.filter(|pair| gain(pair) > LIKE_HITS).map(|_| {
        let at_most = left.map_or_else(String::new, |left| {
            format!(", and can gain {:.1} points at most", left * 100.0)
        });
        format!(" More room than that was not measured{at_most}.")
    })
}

/// What more room than the largest size has by the model; `None` where the model ends there.
fn modelled(largest: u64, curve: &[HitRatioAt]) -> Option<String> {
    let at = |capacity: u64| curve.iter().rev().find(|point| point.capacity <= capacity);
    let hits = |point: &HitRatioAt| point.of(CurvePolicy::Lru).map(|ratio| ratio.hit_ratio);
    let from = at(largest)?;
    let with = |factor: u64| {
        let to = at(largest.saturating_mul(factor))?;
        (to.capacity > from.capacity).then_some(hits(to)?)
    };
    let (here, double) = (percent(hits(from)?), percent(with(2)?));
    let eightfold =
        with(8).map_or_else(String::new, |hits| format!(" and {} with eight times", percent(hits)));
    Some(format!(
        " Beyond that, a simulated LRU on the same requests hits {here} with that room, {double} with twice the room{eightfold}."
    ))
}

/// A difference of hit ratios: `3.1 points more`.
fn points(difference: f64) -> String {
    let points = difference * 100.0;
    if points > 0.0 {
        format!("{points:.1} points more")
    } else {
        format!("{:.1} points fewer", -points)
    }
}
