//! The measured frequency of each key.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use crate::published::{self, BuiltIn};

/// The built-in distributions.
const BUILT_IN: &[BuiltIn] =
    &[("kvcache", include_str!("../../../../scenarios/kvcache-popularity.csv"))];
/// The columns of a file of lines.
const COLUMNS: &str = "keys,requests";

/// The content of `CacheLib`'s `pop.json`: numbers of keys, each with the number of their requests.
#[derive(Deserialize)]
struct PopularityJson {
    #[serde(rename = "popularityBuckets")]
    keys: Vec<f64>,
    #[serde(rename = "popularityWeights")]
    requests: Vec<f64>,
}

/// A measured popularity: the share of the requests for each share of the keys. Copies share the data.
///
/// For another number of keys, the same share of them has the same requests, as `CacheBench` scales it. With fewer keys
/// than measured, a key stands for several, and the most frequent key has more of the requests.
#[derive(Debug, Clone, PartialEq)]
pub struct Popularity {
    path: PathBuf,
    /// The most frequent keys first; the last entry is all keys and all requests.
    upto: Arc<[UpTo]>,
}

/// The most frequent keys and their requests, each as a share of all, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
struct UpTo {
    keys: f64,
    requests: f64,
}

impl Popularity {
    /// Reads a file, `pop.json` of `CacheLib` or lines of `keys,requests`, or a built-in text under `builtin:NAME`.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let text = published::read(path, BUILT_IN)?;
        let is_json = text.trim_start().starts_with('{');
        let groups = if is_json { cachelib(&text)? } else { lines(&text)? };
        Ok(Self { path: path.into(), upto: cumulated(groups)? })
    }

    /// The path that it was read from.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The place of a key among all keys, from 0 for the most frequent to 1, for a place among all requests.
    #[inline]
    pub(super) fn key_at(&self, requests: f64) -> f64 {
        let (before, to) = self.around(|share| share.requests <= requests);
        let part = (requests - before.requests) / (to.requests - before.requests);
        before.keys + part * (to.keys - before.keys)
    }

    /// The share of the requests for this share of the most frequent keys.
    pub(super) fn requests_upto(&self, keys: f64) -> f64 {
        let (before, to) = self.around(|share| share.keys <= keys);
        let part = (keys - before.keys) / (to.keys - before.keys);
        (before.requests + part * (to.requests - before.requests)).min(1.0)
    }

    /// The last share for which `holds` is true, and the next; at the end, the last two.
    #[inline]
    fn around(&self, holds: impl Fn(&UpTo) -> bool) -> (UpTo, UpTo) {
        let at = self.upto.partition_point(holds).min(self.upto.len() - 1);
        let none = UpTo { keys: 0.0, requests: 0.0 };
        (if at == 0 { none } else { self.upto[at - 1] }, self.upto[at])
    }
}

/// Groups of keys and their requests as shares, the most frequent keys first.
fn cumulated(mut groups: Vec<(f64, f64)>) -> Result<Arc<[UpTo]>, String> {
    let is_number = |(keys, requests): &(f64, f64)| {
        keys.is_finite() && requests.is_finite() && *keys > 0.0 && *requests >= 0.0
    };
    if let Some((keys, requests)) = groups.iter().find(|group| !is_number(group)) {
        return Err(format!(
            "{} with {}: give keys above 0 and requests from 0",
            larder_store::count(*keys, "key"),
            larder_store::count(*requests, "request")
        ));
    }
    groups.retain(|(_, requests)| *requests > 0.0);
    groups.sort_by(|a, b| (b.1 / b.0).total_cmp(&(a.1 / a.0)));
    let sum = |of: fn(&(f64, f64)) -> f64| groups.iter().map(of).sum::<f64>();
    let all = (sum(|group| group.0), sum(|group| group.1));
    if groups.is_empty() || !all.0.is_finite() || !all.1.is_finite() {
        return Err("no key has requests".into());
    }
    let mut upto = (0.0, 0.0);
    let add = |(keys, requests)| {
        upto = (upto.0 + keys, upto.1 + requests);
        UpTo { keys: upto.0 / all.0, requests: upto.1 / all.1 }
    };
    Ok(groups.into_iter().map(add).collect())
}

fn cachelib(text: &str) -> Result<Vec<(f64, f64)>, String> {
    let PopularityJson { keys, requests } =
        serde_json::from_str(text).map_err(|error| error.to_string())?;
    if keys.len() != requests.len() {
        let (keys, requests) = (keys.len(), requests.len());
        return Err(format!("{keys} popularityBuckets, but {requests} popularityWeights"));
    }
    Ok(keys.into_iter().zip(requests).collect())
}

fn lines(text: &str) -> Result<Vec<(f64, f64)>, String> {
    let row = |line: &str| {
        let (keys, requests) = line.split_once(',')?;
        Some((keys.trim().parse().ok()?, requests.trim().parse().ok()?))
    };
    let rows = published::rows(text, COLUMNS).map(|(number, line)| {
        row(line).ok_or_else(|| {
            let line = published::shown(line);
            format!(
                "line {number}: `{line}` is not a number of keys and their requests; write 10,400"
            )
        })
    });
    rows.collect()
}
