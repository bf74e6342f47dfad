//! How the reads are spread over the keys, and how much lies between two uses of a key.

use super::{Shown, figures, line};
use crate::chart::axis;
use crate::chart::family::Family;
use crate::chart::model::{Axis, Chart, Scale, Series, Shape, Unit};
use crate::info::amounts::float;
use crate::model::{Popularity, TraceInfo, Zipf};

/// Reads against rank, beside the law that fits best.
pub(super) fn popularity(info: &TraceInfo) -> Vec<Chart> {
    let Some(popularity) = &info.popularity else { return Vec::new() };
    let reads = float(info.reads);
    let ranks = popularity.ranks.iter().map(|(rank, share)| (float(*rank), share * reads));
    let counted = line(0, "reads of a key", ranks);
    let law = popularity.zipf.as_ref().and_then(|zipf| law(popularity, zipf, reads));
    let all: Vec<Series> = std::iter::once(counted).chain(law).collect();
    let places: Vec<f64> = all[0].x.clone();
    let shown = Shown {
        family: Family::Popularity,
        facet: None,
        title: "Reads of a key by its rank",
        reading: "The most read key has rank 1. A straight line would be a law of Zipf; the dashed one is the law that fits \
                  best, drawn over the keys that it was fitted to.",
        shape: Shape::Lines,
    };
    let y = axis::of_amounts("reads", Unit::Number, &figures(&all));
    shown.chart(axis::of_amounts("rank", Unit::Number, &places), y, all).into_iter().collect()
}

/// The line of a law, through the last rank that it was fitted to.
fn law(popularity: &Popularity, zipf: &Zipf, reads: f64) -> Option<Series> {
    let is_fitted = |share: f64| share * reads >= f64::from(zipf.least_reads);
    let fitted: Vec<(f64, f64)> = popularity
        .ranks
        .iter()
        .filter(|(_, share)| is_fitted(*share))
        .map(|(rank, share)| (float(*rank), share * reads))
        .collect();
    let (last_rank, last_reads) = fitted.last().copied()?;
    let exponent = zipf.exponent.value;
    let of_law =
        fitted.iter().map(|(rank, _)| (*rank, last_reads * (rank / last_rank).powf(-exponent)));
    let line = line(0, "Zipf law", of_law);
    (fitted.len() > 1).then_some(Series { hue: None, colour: Some(0), ..line })
}

/// Distances by percentile of the reads.
pub(super) fn reuse(info: &TraceInfo) -> Vec<Chart> {
    let Some(reuse) = &info.reuse else { return Vec::new() };
    let of = |facet: &str, name: &str, unit, list: &[(f64, f64)]| {
        let all = vec![line(0, name, list.iter().copied())];
        let shown = Shown {
            family: Family::Reuse,
            facet: Some(("in", facet)),
            title: "What is used between two uses of a key",
            reading: "Of the reads whose key was used before: at 90 %, nine of ten such reads come after at most so much else. \
                      An LRU of that capacity hits them.",
            shape: Shape::Curves,
        };
        let y = axis::of_amounts(name, unit, &figures(&all));
        shown.chart(percentiles(), y, all)
    };
    let keys = of("keys", "different keys", Unit::Number, &reuse.keys);
    let bytes = of("bytes", "bytes of these entries", Unit::Bytes, &reuse.bytes);
    [keys, bytes].into_iter().flatten().collect()
}

/// The axis of percentiles.
pub(super) fn percentiles() -> Axis {
    Axis { scale: Scale::Tail, ..axis::of_sums("percentile", Unit::Quantile) }
}
