//! What the figures of a trace say, in sentences. Each has its figures in it.

use super::actions::{hot, large, limit, negative, short_ttls};
use super::amounts::{amount, bytes_of, capacity, float, points};
use crate::figures::{agreeing, list, noun_after, percent, significant};
use crate::model::{CacheCurve, CurvePolicy, CurveRatio, HitRatioAt, MeasuredIn, TraceInfo};
use crate::text::capital;

/// A sentence and its subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TraceSentence {
    pub(crate) subject: &'static str,
    pub(crate) text: String,
}

/// A policy hits more often where the difference is larger than this; less matters to nobody.
const LEAST_DIFFERENCE: f64 = 0.005;

/// A law fits where the counts differ from it by no more than this share of the keys.
const FITS: f64 = 0.05;
/// From here on it does not fit at all.
const FITS_NOT: f64 = 0.15;

/// Why the optimal choice may hit less than another.
const OF_SEVERAL_SIZES: &str = ", which is the best for entries of one size only: it does not weigh a large entry against several small ones";

/// Doublings that are told: those around the capacity that is told first.
const DOUBLINGS: usize = 3;

/// All sentences, in the order of reports.
pub(crate) fn sentences(info: &TraceInfo) -> Vec<TraceSentence> {
    let said = [
        ("limit", limit(info)),
        ("negative look-ups", negative(info)),
        ("short TTLs", short_ttls(info)),
        ("capacity", enough(info)),
        ("more room", doublings(info)),
        ("policy", policies(info)),
        ("popularity", popularity(info)),
        ("hot keys", hot(info)),
        ("one-hit wonders", once(info)),
        ("large values", large(info)),
        ("reuse", reuse(info)),
    ];
    let known = said.into_iter().filter_map(|(subject, text)| Some((subject, text?)));
    known.map(|(subject, text)| TraceSentence { subject, text }).collect()
}

/// The curve in bytes, or in entries where no sizes are known.
pub(crate) fn main_curve(info: &TraceInfo) -> Option<&CacheCurve> {
    info.curve(MeasuredIn::Bytes).or_else(|| info.curve(MeasuredIn::Entries))
}

/// The smallest capacity at which an LRU comes within a point of what an unlimited one hits.
fn enough(info: &TraceInfo) -> Option<String> {
    const WITHIN: f64 = 0.01;
    // No room is enough where no read can hit.
    if info.unavoidable.is_some_and(|share| share.value >= 1.0) {
        return None;
    }
    let curve = main_curve(info)?;
    if let Some(said) = everything_fits(info, curve) {
        return Some(said);
    }
    let most = 1.0 - info.unavoidable?.value;
    let lru = |at: &HitRatioAt| at.of(CurvePolicy::Lru).map(|ratio| ratio.hit_ratio);
    let half = curve.capacities.iter().find(|at| lru(at).is_some_and(|ratio| ratio >= most / 2.0));
    let near =
        curve.capacities.iter().find(|at| lru(at).is_some_and(|ratio| ratio >= most - WITHIN))?;
    let named = |at: &HitRatioAt| named(curve.measure, at.capacity);
    let half = half.filter(|half| half.capacity < near.capacity).map(|half| {
        let ratio = lru(half).unwrap_or_default();
        format!(
            "an LRU of {} hits {}, half of what is possible or more; ",
            named(half),
            percent(ratio)
        )
    });
    Some(format!(
        "{}from {} on, more room gains an LRU less than a point.",
        half.unwrap_or_default(),
        named(near)
    ))
}

/// Everything fits into each of the capacities, so that none of them says what less room costs.
fn everything_fits(info: &TraceInfo, curve: &CacheCurve) -> Option<String> {
    let least = curve.capacities.first()?.capacity;
    let all = match curve.measure {
        MeasuredIn::Bytes => info.bytes?.value,
        MeasuredIn::Entries => info.keys.value,
    };
    let taken = match curve.measure {
        MeasuredIn::Bytes => format!("all keys and values take {}", bytes_of(all)),
        MeasuredIn::Entries if all.round() <= 1.0 => "there is 1 key".to_owned(),
        MeasuredIn::Entries => format!("there are {} keys", amount(all.round())),
    };
    (float(least) >= all).then(|| {
        format!(
            "everything fits into {}: {taken}. Smaller capacities tell what less room costs.",
            named(curve.measure, least)
        )
    })
}

/// `64 MiB`, `20 k entries`.
fn named(measure: MeasuredIn, size: u64) -> String {
    let text = capacity(measure, size);
    match measure {
        MeasuredIn::Entries => format!("{text} {}", noun_after(size, "entry")),
        MeasuredIn::Bytes => text,
    }
}

/// What more room buys, step by step up to the capacity that has nearly all.
fn doublings(info: &TraceInfo) -> Option<String> {
    let curve = main_curve(info)?;
    let ratios: Vec<(u64, f64)> = curve
        .capacities
        .iter()
        .filter_map(|at| Some((at.capacity, at.of(CurvePolicy::Lru)?.hit_ratio)))
        .collect();
    let most = ratios.last()?.1;
    let near = ratios.iter().position(|(_, ratio)| *ratio >= most - 0.01)?;
    let from = near.saturating_sub(DOUBLINGS);
    let steps = ratios[from..=near].windows(2);
    let gains: Vec<String> = steps
        .map(|pair| {
            let name = named(curve.measure, pair[1].0);
            format!("{} points at {name}", points((pair[1].1 - pair[0].1).max(0.0)))
        })
        .collect();
    let gains: Vec<&str> = gains.iter().map(String::as_str).collect();
    let first = named(curve.measure, ratios[from].0);
    (!gains.is_empty()).then(|| {
        format!(
            "an LRU of {first} hits {}, and larger ones gain {}.",
            percent(ratios[from].1),
            list(&gains)
        )
    })
}

/// Which policies hit most where capacity is scarce, and by how much.
fn policies(info: &TraceInfo) -> Option<String> {
    let curve = main_curve(info)?;
    if everything_fits(info, curve).is_some() {
        return None;
    }
    let at = widest(curve)?;
    let mut online: Vec<&CurveRatio> =
        at.ratios.iter().filter(|ratio| ratio.policy != CurvePolicy::Optimal).collect();
    online.sort_by(|one, other| other.hit_ratio.total_cmp(&one.hit_ratio));
    let (best, last) = (online.first()?, online.last()?);
    let optimal = at.of(CurvePolicy::Optimal)?;
    let alike = |ratio: &&&CurveRatio| !differ(best, ratio);
    let leaders: Vec<&str> = online.iter().filter(alike).map(|ratio| ratio.policy.name()).collect();
    let place = named(curve.measure, at.capacity);
    if leaders.len() == online.len() {
        return Some(format!(
            "the simulated policies hit alike, {} at {place}; the optimal choice hits {}.",
            percent(best.hit_ratio),
            percent(optimal.hit_ratio)
        ));
    }
    let verb = agreeing(leaders.len(), "hits", "hit");
    let beaten = optimal.hit_ratio < best.hit_ratio;
    let why = if beaten && curve.measure == MeasuredIn::Bytes { OF_SEVERAL_SIZES } else { "" };
    Some(format!(
        "at {place}, where they differ most, {} {verb} most with {}; {} hits {} and the optimal choice {}{why}.",
        list(&leaders),
        percent(best.hit_ratio),
        last.policy.name(),
        percent(last.hit_ratio),
        percent(optimal.hit_ratio)
    ))
}

/// Whether two ratios differ by more than their errors, and enough to matter.
fn differ(one: &CurveRatio, other: &CurveRatio) -> bool {
    let errors = one.half_width.unwrap_or(0.0).hypot(other.half_width.unwrap_or(0.0));
    (one.hit_ratio - other.hit_ratio).abs() > errors.max(LEAST_DIFFERENCE)
}

/// The capacity at which the policies differ most.
fn widest(curve: &CacheCurve) -> Option<&HitRatioAt> {
    let spread = |at: &HitRatioAt| {
        let online = at.ratios.iter().filter(|ratio| ratio.policy != CurvePolicy::Optimal);
        let (low, high) = online.fold((1.0_f64, 0.0_f64), |(low, high), ratio| {
            (low.min(ratio.hit_ratio), high.max(ratio.hit_ratio))
        });
        high - low
    };
    curve.capacities.iter().max_by(|one, other| spread(one).total_cmp(&spread(other)))
}

/// The law of Zipf, and how well it fits.
fn popularity(info: &TraceInfo) -> Option<String> {
    let popularity = info.popularity.as_ref()?;
    let top = popularity.top.iter().find(|(share, _)| *share >= 0.01);
    let top = top.map(|(share, reads)| {
        format!("the {} most read keys have {} of the reads", percent(*share), percent(*reads))
    });
    let zipf = popularity.zipf.as_ref().map(|zipf| {
        let fit = match zipf.distance {
            distance if distance <= FITS => "fits",
            distance if distance < FITS_NOT => "fits roughly",
            _ => "does not fit",
        };
        let exponent = significant(zipf.exponent.value, 3);
        let error = zipf.exponent.ci95.map_or_else(String::new, |[_, high]| {
            format!(" ±{}", significant(high - zipf.exponent.value, 2))
        });
        let keys = match zipf.least_reads {
            0 | 1 => "all keys".to_owned(),
            least => format!("the {} of the keys with {least} reads and more", percent(zipf.keys)),
        };
        format!(
            "a Zipf law with the exponent {exponent}{error} {fit} {keys}: it is off by {} of them at most",
            percent(zipf.distance)
        )
    });
    let said: Vec<String> = [top, zipf].into_iter().flatten().collect();
    let said: Vec<String> = said.iter().map(|text| format!("{}.", capital(text))).collect();
    (!said.is_empty()).then(|| said.join(" "))
}

fn once(info: &TraceInfo) -> Option<String> {
    let popularity = info.popularity.as_ref()?;
    let room = popularity
        .bytes_of_once
        .filter(|share| *share > 0.0)
        .map(|share| format!("; they have {} of the bytes of all entries", percent(share)));
    let never = popularity.never_read.value;
    let never = (never > 0.0)
        .then(|| format!("; {} of all keys were written but never read", percent(never)));
    Some(format!(
        "{} of the read keys are read once only, by {} of the reads{}{}.",
        percent(popularity.read_once.value),
        percent(popularity.reads_of_once),
        room.unwrap_or_default(),
        never.unwrap_or_default()
    ))
}

fn reuse(info: &TraceInfo) -> Option<String> {
    let reuse = info.reuse.as_ref()?;
    let at = |quantile: f64| {
        let found = reuse.keys.iter().find(|(known, _)| (known - quantile).abs() < 1e-9)?;
        Some(found.1)
    };
    let (half, most) = (at(0.5)?, at(0.9)?);
    // The sample tells no shorter distances apart.
    let [half, most] = [half, most].map(|keys| keys.max(reuse.finest_keys).round());
    Some(format!(
        "{} of the reads are of keys that were used before. Half of them come after at most {} {}, and nine of ten after at \
         most {}.",
        percent(reuse.again),
        amount(half),
        noun_after(half, "different key"),
        amount(most)
    ))
}
