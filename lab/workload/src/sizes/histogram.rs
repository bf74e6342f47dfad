//! Histograms of sizes, from files or built in.

use std::path::Path;

use larder_store::{ByteSize, count};
use serde::Deserialize;

use super::table::{Bucket, Table};
use super::{SizeSpec, size};
use crate::published::{self, BuiltIn};

/// The built-in distributions.
const BUILT_IN: &[BuiltIn] =
    &[("kvcache", include_str!("../../../../scenarios/kvcache-sizes.csv"))];
/// The columns of a file of lines.
const COLUMNS: &str = "size,weight";

/// The content of `CacheLib`'s `sizes.json`: as many weights as sizes, or one less. With one less, each weight is for
/// the range from a size to before the next.
#[derive(Deserialize)]
struct SizesJson {
    #[serde(rename = "valSizeRange")]
    sizes: Vec<f64>,
    #[serde(rename = "valSizeRangeProbability")]
    weights: Vec<f64>,
}

/// Reads a histogram: JSON where its first letter is `{`, otherwise lines of `size,weight`; or a built-in histogram.
pub(super) fn read(path: &Path) -> Result<Table, String> {
    let text = published::read(path, BUILT_IN)?;
    let buckets = if text.trim_start().starts_with('{') { cachelib(&text)? } else { lines(&text)? };
    Table::new(buckets)
}

fn cachelib(text: &str) -> Result<Vec<Bucket>, String> {
    let SizesJson { sizes, weights } =
        serde_json::from_str(text).map_err(|error| error.to_string())?;
    let sizes: Vec<u32> = sizes.into_iter().map(checked).collect::<Result<_, _>>()?;
    if sizes.len() == weights.len() {
        let single = |(size, weight)| Bucket::single(size, weight);
        return Ok(sizes.into_iter().zip(weights).map(single).collect());
    }
    if sizes.len() != weights.len() + 1 {
        let (sizes, weights) = (sizes.len(), weights.len());
        return Err(format!(
            "{} in valSizeRange, but {} in valSizeRangeProbability",
            count(sizes, "size"),
            count(weights, "weight")
        ));
    }
    let ranges = sizes.windows(2).zip(weights).map(|(limits, weight)| match *limits {
        [min, end] if min < end => Ok(Bucket { min, max: end - 1, weight }),
        _ => Err("the limits in valSizeRange do not rise".to_owned()),
    });
    ranges.collect()
}

fn lines(text: &str) -> Result<Vec<Bucket>, String> {
    let row = |line: &str| {
        let (bytes, weight) = line.split_once(',')?;
        Some(Bucket::single(size(bytes.trim()).ok()?, weight.trim().parse().ok()?))
    };
    let rows = published::rows(text, COLUMNS).map(|(number, line)| {
        row(line).ok_or_else(|| {
            let (line, limit) = (published::shown(line), ByteSize(SizeSpec::LIMIT.into()));
            format!("line {number}: `{line}` is not a size up to {limit} and a weight; write 4k,12")
        })
    });
    rows.collect()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
fn checked(size: f64) -> Result<u32, String> {
    let limit = f64::from(SizeSpec::LIMIT);
    if !(0.0..=limit).contains(&size) {
        return Err(format!("size {size} is not from 0 to {limit} bytes"));
    }
    Ok(size as u32)
}
