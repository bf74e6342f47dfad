//! Sizes of values and lengths of keys: a small language of distributions, drawn per key.
//!
//! A size follows from a seed and an index alone. So a key has the same size at any time, in any thread and on any
//! target, and no size needs to be stored.

mod histogram;
mod sweep;
mod table;
mod tail;

use std::f64::consts::TAU;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use larder_store::ByteSize;
use rand::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

use self::table::{Bucket, Table};
use self::tail::Tail;

pub use self::sweep::Sweep;

/// A distribution of sizes, in bytes.
///
/// | text | sizes |
/// |---|---|
/// | `4k`, `fixed:4k` | always this size |
/// | `uniform:1k-64k` | each from 1 KiB to 64 KiB equally often |
/// | `normal:4k,1k` | mean and standard deviation; below zero becomes zero |
/// | `list:4k:1,72k:3` | these sizes, by weight; a weight left out is 1 |
/// | `gpareto:LOCATION,SCALE,SHAPE` | generalized Pareto; also `pareto:`, as mutilate spells it |
/// | `gev:LOCATION,SCALE,SHAPE` | generalized extreme value |
/// | `fb_value`, `fb_key` | values and keys of Facebook's ETC pool, with mutilate's figures |
/// | `histogram:FILE` | `valSizeRange` and `valSizeRangeProbability` of `CacheLib`'s `sizes.json`, or lines of `size,weight` |
/// | `histogram:builtin:kvcache` | the values of a production cache, after that file of `CacheLib` |
///
/// Sizes are in the syntax of [`ByteSize`]. No size is above [`SizeSpec::LIMIT`]: a larger written size is an error, a
/// larger drawn size becomes the limit. A histogram is read when its name is parsed.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeSpec(Shape);

#[derive(Debug, Clone, PartialEq)]
enum Shape {
    Fixed(u32),
    Uniform { min: u32, max: u32 },
    Normal { mean: f64, deviation: f64 },
    Pareto(Tail),
    Extreme(Tail),
    FacebookKey,
    FacebookValue,
    List(Table),
    Histogram(PathBuf, Table),
}

impl SizeSpec {
    /// The largest possible size: 1 GiB.
    pub const LIMIT: u32 = 1 << 30;

    /// Always the same size; a size above [`SizeSpec::LIMIT`] becomes the limit.
    pub fn fixed(size: u32) -> Self {
        Self(Shape::Fixed(size.min(Self::LIMIT)))
    }

    /// The size, where it is always the same.
    pub fn as_fixed(&self) -> Option<u32> {
        if let Shape::Fixed(size) = self.0 { Some(size) } else { None }
    }

    /// The size for an index.
    pub fn size_of(&self, seed: u64, index: u64) -> u32 {
        if let Shape::Fixed(size) = self.0 {
            return size;
        }
        // The index is scrambled before the seed joins it, so that neighbours share no draws.
        let mut rng = SplitMix64::seed_from_u64(index);
        let mut rng = SplitMix64::seed_from_u64(rng.next_u64() ^ seed);
        let (u, v) = (unit(rng.next_u64()), unit(rng.next_u64()));
        match &self.0 {
            Shape::Fixed(size) => *size,
            Shape::Uniform { min, max } => between(*min, *max, u),
            // The method of Box and Muller.
            Shape::Normal { mean, deviation } => {
                whole(mean + deviation * (-2.0 * u.ln()).sqrt() * (TAU * v).cos())
            }
            Shape::Pareto(tail) => whole(tail.pareto(u)),
            Shape::Extreme(tail) => whole(tail.extreme(u)),
            Shape::FacebookKey => whole(tail::FACEBOOK_KEY.extreme(u)),
            Shape::FacebookValue => whole(tail::facebook_value(u, v)),
            Shape::List(table) | Shape::Histogram(_, table) => table.at(u, v),
        }
    }

    /// An upper bound of all sizes. In a distribution with a tail it is so far out that it may never occur; the largest
    /// size of a run is [`SizeSpec::largest`].
    pub fn max(&self) -> u32 {
        const LAST: f64 = 1.0 - FIRST;
        match &self.0 {
            Shape::Fixed(size) => *size,
            Shape::Uniform { max, .. } => *max,
            Shape::Normal { mean, deviation } => {
                whole(mean + deviation * (-2.0 * FIRST.ln()).sqrt())
            }
            Shape::Pareto(tail) => whole(tail.pareto(FIRST)),
            Shape::Extreme(tail) => whole(tail.extreme(LAST)),
            Shape::FacebookKey => whole(tail::FACEBOOK_KEY.extreme(LAST)),
            Shape::FacebookValue => whole(tail::FACEBOOK_VALUE.pareto(FIRST)),
            Shape::List(table) | Shape::Histogram(_, table) => table.max(),
        }
    }

    /// The mean, where it is known exactly; else `total(seed, n) / n` is the mean of a run.
    pub fn mean(&self) -> Option<f64> {
        match &self.0 {
            Shape::Fixed(size) => Some(f64::from(*size)),
            Shape::Uniform { min, max } => Some(f64::midpoint(f64::from(*min), f64::from(*max))),
            Shape::List(table) | Shape::Histogram(_, table) => Some(table.mean()),
            _ => None,
        }
    }

    /// The sum of the first `n` sizes, in bytes.
    pub fn total(&self, seed: u64, n: u64) -> u64 {
        match self.as_fixed() {
            Some(size) => u64::from(size).saturating_mul(n),
            None => (0..n).map(|index| u64::from(self.size_of(seed, index))).sum(),
        }
    }

    /// The largest of the first `n` sizes; 0 for `n` = 0.
    pub fn largest(&self, seed: u64, n: u64) -> u32 {
        match self.as_fixed() {
            Some(size) => size,
            None => (0..n).map(|index| self.size_of(seed, index)).max().unwrap_or(0),
        }
    }
}

impl FromStr for SizeSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let Some((name, rest)) = text.split_once(':') else {
            return match text {
                "fb_key" => Ok(Self(Shape::FacebookKey)),
                "fb_value" => Ok(Self(Shape::FacebookValue)),
                _ => size(text).map(Self::fixed),
            };
        };
        let shape = match name {
            "fixed" => size(rest).map(Shape::Fixed),
            "uniform" => uniform(rest),
            "normal" => normal(rest),
            "list" => list(rest),
            "gpareto" | "pareto" => Tail::parse(rest).map(Shape::Pareto),
            "gev" => Tail::parse(rest).map(Shape::Extreme),
            "histogram" => {
                histogram::read(Path::new(rest)).map(|table| Shape::Histogram(rest.into(), table))
            }
            _ => Err("no such distribution; known: fixed, uniform, normal, list, gpareto, gev, \
                      histogram, fb_value, fb_key; distributions are separated by `;`"
                .into()),
        };
        shape.map(Self).map_err(|reason| format!("`{text}`: {reason}"))
    }
}

impl fmt::Display for SizeSpec {
    /// The text that reads back as the same distribution.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match &self.0 {
            Shape::Fixed(size) => Plain(*size).to_string(),
            Shape::Uniform { min, max } => format!("uniform:{}-{}", Plain(*min), Plain(*max)),
            Shape::Normal { mean, deviation } => format!("normal:{mean},{deviation}"),
            Shape::Pareto(tail) => format!("gpareto:{tail}"),
            Shape::Extreme(tail) => format!("gev:{tail}"),
            Shape::FacebookKey => "fb_key".into(),
            Shape::FacebookValue => "fb_value".into(),
            Shape::List(table) => format!("list:{table}"),
            Shape::Histogram(path, _) => format!("histogram:{}", path.display()),
        };
        f.pad(&text)
    }
}

/// An exact and short form of a size, in the syntax that [`ByteSize`] reads: `4k`, `1m`, `1000`.
struct Plain(u32);

impl fmt::Display for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, letter) in [(1 << 30, "g"), (1 << 20, "m"), (1 << 10, "k")] {
            if self.0 >= unit && self.0.is_multiple_of(unit) {
                return write!(f, "{}{letter}", self.0 / unit);
            }
        }
        self.0.fmt(f)
    }
}

fn size(text: &str) -> Result<u32, String> {
    let bytes: ByteSize = text.parse()?;
    match u32::try_from(bytes.0) {
        Ok(size) if size <= SizeSpec::LIMIT => Ok(size),
        _ => Err(format!("size {bytes} > limit {}", ByteSize(SizeSpec::LIMIT.into()))),
    }
}

/// A parameter: a number, which may have a sign and decimals, or a size.
fn number(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => size(text).map(f64::from),
    }
}

fn uniform(text: &str) -> Result<Shape, String> {
    let (min, max) = text.split_once('-').ok_or("not a range; write uniform:1k-64k")?;
    let (min, max) = (size(min)?, size(max)?);
    if min > max {
        return Err(format!("{} > {}; the smaller one comes first", Plain(min), Plain(max)));
    }
    Ok(Shape::Uniform { min, max })
}

fn normal(text: &str) -> Result<Shape, String> {
    let (mean, deviation) =
        text.split_once(',').ok_or("not a mean and a deviation; write normal:4k,1k")?;
    let (mean, deviation) = (number(mean)?, number(deviation)?);
    if deviation < 0.0 {
        return Err(format!("deviation {deviation} < 0"));
    }
    Ok(Shape::Normal { mean, deviation })
}

fn list(text: &str) -> Result<Shape, String> {
    let mut buckets = Vec::new();
    for part in text.split(',') {
        let (bytes, weight) = part.split_once(':').unwrap_or((part, "1"));
        let weight = weight
            .trim()
            .parse()
            .map_err(|_| format!("weight `{weight}` is not a number; write list:4k:1,72k:3"))?;
        buckets.push(Bucket::single(size(bytes)?, weight));
    }
    Table::new(buckets).map(Shape::List)
}

/// The smallest number that [`unit`] returns; the largest is one minus this.
const FIRST: f64 = f64::EPSILON / 2.0;

/// A number strictly between 0 and 1, so that its logarithm is finite on both sides.
#[expect(clippy::cast_precision_loss, reason = "52 bits fit")]
fn unit(bits: u64) -> f64 {
    (bits >> 12) as f64 * f64::EPSILON + FIRST
}

/// The size at the place `u` (0 to 1) in the range from `min` to `max`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below the width")]
fn between(min: u32, max: u32, u: f64) -> u32 {
    let width = f64::from(max - min) + 1.0;
    max.min(min + (u * width) as u32)
}

/// The nearest possible size.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
fn whole(size: f64) -> u32 {
    size.round().clamp(0.0, f64::from(SizeSpec::LIMIT)) as u32
}
