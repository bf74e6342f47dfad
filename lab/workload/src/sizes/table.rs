//! Sizes by weight.

use std::fmt;
use std::sync::Arc;

use super::{Plain, between};

/// The sizes from `min` to `max`, each equally often, and their common weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bucket {
    pub(super) min: u32,
    pub(super) max: u32,
    pub(super) weight: f64,
}

impl Bucket {
    pub(super) fn single(size: u32, weight: f64) -> Self {
        Self { min: size, max: size, weight }
    }

    fn mean(&self) -> f64 {
        f64::midpoint(f64::from(self.min), f64::from(self.max))
    }
}

/// Weighted buckets, at least one. Copies share them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Table {
    buckets: Arc<[Bucket]>,
    /// The cumulated weights, up to and including each bucket.
    upto: Arc<[f64]>,
}

impl Table {
    /// Fails where a weight is invalid, or all weights are 0.
    pub(super) fn new(mut buckets: Vec<Bucket>) -> Result<Self, String> {
        let mut total = 0.0;
        for Bucket { weight, .. } in &buckets {
            total += weight;
            if *weight < 0.0 || !f64::is_finite(total) {
                return Err(format!("weight {weight} is not a number from 0"));
            }
        }
        if total == 0.0 {
            return Err("no size has a weight above 0".into());
        }
        buckets.retain(|bucket| bucket.weight > 0.0);
        let add = |sum: &mut f64, bucket: &Bucket| {
            *sum += bucket.weight;
            Some(*sum)
        };
        Ok(Self { upto: buckets.iter().scan(0.0, add).collect(), buckets: buckets.into() })
    }

    /// The size at the place `u` (0 to 1) of the table and `v` (0 to 1) of the bucket there.
    pub(super) fn at(&self, u: f64, v: f64) -> u32 {
        let place = u * self.total();
        let before = &self.upto[..self.upto.len() - 1];
        let bucket = &self.buckets[before.partition_point(|&upto| upto <= place)];
        between(bucket.min, bucket.max, v)
    }

    pub(super) fn max(&self) -> u32 {
        self.buckets.iter().map(|bucket| bucket.max).max().unwrap_or(0)
    }

    pub(super) fn mean(&self) -> f64 {
        let sum: f64 = self.buckets.iter().map(|bucket| bucket.mean() * bucket.weight).sum();
        sum / self.total()
    }

    fn total(&self) -> f64 {
        self.upto[self.upto.len() - 1]
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, bucket) in self.buckets.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            write!(f, "{comma}{}:{}", Plain(bucket.min), bucket.weight)?;
        }
        Ok(())
    }
}
