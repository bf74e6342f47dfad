//! The sizes of keys and values, and TTLs, by percentile.

use super::keys::percentiles;
use super::{Shown, figures, line};
use crate::chart::axis;
use crate::chart::family::Family;
use crate::chart::model::{Chart, Series, Shape, Unit};
use crate::info::amounts::float;
use crate::info::tables::name;
use crate::model::{DistributionOf, TraceInfo};

/// The sizes of keys and of values.
pub(super) fn sizes(info: &TraceInfo) -> Vec<Chart> {
    let of = [DistributionOf::KeySizes, DistributionOf::ValueSizes];
    let shown = Shown {
        family: Family::Sizes,
        facet: None,
        title: "Sizes by percentile",
        reading: "Each operation counts once: at 90 %, nine of ten operations have a size of at most so much.",
        shape: Shape::Curves,
    };
    chart(info, &of, shown, "size", Unit::Bytes)
}

/// The TTLs of stored entries.
pub(super) fn ttls(info: &TraceInfo) -> Vec<Chart> {
    let shown = Shown {
        family: Family::Ttls,
        facet: None,
        title: "TTLs by percentile",
        reading: "Of the stored entries that have one: at 90 %, nine of ten have a TTL of at most so much.",
        shape: Shape::Curves,
    };
    chart(info, &[DistributionOf::Ttls], shown, "TTL", Unit::Seconds)
}

fn chart(
    info: &TraceInfo,
    of: &[DistributionOf],
    shown: Shown<'_>,
    label: &str,
    unit: Unit,
) -> Vec<Chart> {
    let known =
        of.iter().enumerate().filter_map(|(number, of)| Some((number, info.distribution(*of)?)));
    let all: Vec<Series> = known
        .map(|(number, distribution)| {
            let places = distribution.quantiles.iter();
            // Nothing has no place on a scale of powers.
            let places = places.filter(|(_, figure)| *figure > 0);
            let places = places.map(|(quantile, figure)| (*quantile, float(*figure)));
            line(number, name(distribution.of), places)
        })
        .collect();
    let y = axis::of_amounts(label, unit, &figures(&all));
    shown.chart(percentiles(), y, all).into_iter().collect()
}
