//! The keys of operations, and how often each is used.

mod picker;
mod popularity;
mod scatter;
mod zipf;

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::trace::TraceSource;

pub use self::picker::Picker;
pub use self::popularity::Popularity;

/// The source of the operations' keys: drawn from a distribution, or recorded in a trace.
#[derive(Debug, Clone, PartialEq)]
pub enum KeyPattern {
    /// Drawn.
    Drawn(Distribution),
    /// Recorded: `trace:FILE`, `trace:FILE?format=twitter`, `trace:builtin:web12`.
    Trace(TraceSource),
}

/// The frequency of each key.
///
/// | text | keys | memtier |
/// |---|---|---|
/// | `seq` | one after the other, from the first again after the last | `S` |
/// | `first` | always the first | |
/// | `uniform` | each equally often | `R` |
/// | `zipf:θ` | the r-th most frequent 1/r^θ as often as the first; θ from 0 to 10, 0.99 if left out | `Z` (θ = 1) |
/// | `gauss` | a bell around one key, a sixth of the keys wide, cut off at its ends | `G` |
/// | `hotspot:K,O` | the share K of the keys gets the share O of the operations; 0.2,0.8 if left out | |
/// | `latest` | `zipf:0.99`, the last inserted key most frequent | |
/// | `popularity:FILE` | as measured: `CacheLib`'s `pop.json`, or lines of `keys,requests` | |
/// | `popularity:builtin:kvcache` | the keys of a production cache, after that file of `CacheLib` | |
///
/// Frequent keys are scattered over all keys by a permutation that follows from the seed, except with `seq`, `first`,
/// `uniform` and `latest`. Otherwise neighbours in a B-tree or on a page would be hot together, unlike in real caches.
#[derive(Debug, Clone, PartialEq)]
pub enum Distribution {
    /// One after the other.
    Sequential,
    /// Always the same key, like a loop with a fixed key.
    First,
    /// Each equally often.
    Uniform,
    /// By a power of the rank.
    Zipf {
        /// The exponent, θ.
        theta: f64,
    },
    /// A bell.
    Gauss,
    /// Few keys get many of the operations.
    Hotspot {
        /// The share of the keys that is hot.
        keys: f64,
        /// The share of the operations that goes to them.
        operations: f64,
    },
    /// By a power of the age.
    Latest,
    /// As measured.
    Popularity(Popularity),
}

/// The exponent of YCSB's workloads, and nearly that of most measured caches.
const COMMON_THETA: f64 = 0.99;
/// The exponent of memtier's `Z` by default.
const MEMTIER_THETA: f64 = 1.0;
/// At higher exponents nearly all operations go to one key: at 10, 999 of 1000.
const MAX_THETA: f64 = 10.0;

const KNOWN: &str = "seq, first, uniform, zipf:0.99, gauss, hotspot:0.2,0.8, latest, popularity:FILE, trace:FILE, trace:builtin:web12";

impl FromStr for KeyPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim().strip_prefix("trace:") {
            Some(source) => source.parse().map(Self::Trace),
            None => text.parse().map(Self::Drawn),
        }
    }
}

impl fmt::Display for KeyPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drawn(distribution) => distribution.fmt(f),
            Self::Trace(source) => write!(f, "trace:{source}"),
        }
    }
}

impl FromStr for Distribution {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        match text.split_once(':').unwrap_or((text, "")) {
            ("seq" | "S", "") => Ok(Self::Sequential),
            ("first", "") => Ok(Self::First),
            ("uniform" | "R", "") => Ok(Self::Uniform),
            ("gauss" | "G", "") => Ok(Self::Gauss),
            ("latest", "") => Ok(Self::Latest),
            ("Z", "") => Ok(Self::Zipf { theta: MEMTIER_THETA }),
            ("zipf", "") => Ok(Self::Zipf { theta: COMMON_THETA }),
            ("zipf", theta) => {
                let theta = within(theta, MAX_THETA);
                let theta = theta.ok_or_else(|| {
                    format!("`{text}`: the exponent is not from 0 to {MAX_THETA}")
                })?;
                Ok(Self::Zipf { theta })
            }
            ("hotspot", "") => Ok(Self::Hotspot { keys: 0.2, operations: 0.8 }),
            ("hotspot", shares) => hotspot(shares).ok_or_else(|| {
                format!("`{text}`: not two shares from 0 to 1; write hotspot:0.2,0.8")
            }),
            ("popularity", file) if !file.is_empty() => Popularity::read(Path::new(file))
                .map(Self::Popularity)
                .map_err(|reason| format!("`{text}`: {reason}")),
            _ => Err(format!("no key pattern `{text}`; known: {KNOWN}")),
        }
    }
}

impl fmt::Display for Distribution {
    /// The text that reads back as the same distribution.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sequential => f.pad("seq"),
            Self::First => f.pad("first"),
            Self::Uniform => f.pad("uniform"),
            Self::Zipf { theta } => write!(f, "zipf:{theta}"),
            Self::Gauss => f.pad("gauss"),
            Self::Hotspot { keys, operations } => write!(f, "hotspot:{keys},{operations}"),
            Self::Latest => f.pad("latest"),
            Self::Popularity(measured) => write!(f, "popularity:{}", measured.path().display()),
        }
    }
}

fn hotspot(shares: &str) -> Option<Distribution> {
    let (keys, operations) = shares.split_once(',')?;
    let (keys, operations) = (within(keys, 1.0)?, within(operations, 1.0)?);
    Some(Distribution::Hotspot { keys, operations })
}

fn within(number: &str, max: f64) -> Option<f64> {
    number.trim().parse().ok().filter(|number| (0.0..=max).contains(number))
}
