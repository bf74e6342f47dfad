//! The families of charts, with all their particulars: both the still pictures and the page read them here.

use serde::Serialize;

/// Charts of the same figure at different facets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// The hit ratio, against the capacity.
    HitRatio,
    /// Operations per second, against the swept parameter.
    Rate,
    /// Latency, against the swept parameter.
    Latency,
    /// Latency against the reached rate, where rates were swept.
    Throughput,
    /// The least, the mean and the greatest latency up to some percentiles.
    Spread,
    /// The whole distribution of latencies.
    Percentiles,
    /// The course of the rounds, to show stalls.
    Timeline,
    /// The cost of an operation: processor, memory, disk.
    Resources,
    /// The use of the machine over the run.
    Usage,
    /// The outcomes of the operations: hits, misses, errors.
    Outcomes,
    /// Of a trace: the hit ratio of simulated caches, against the capacity.
    CacheHits,
    /// Of a trace: the operations over time.
    Course,
    /// Of a trace: the keys in use over time.
    WorkingSet,
    /// Of a trace: the reads of a key, against its rank.
    Popularity,
    /// Of a trace: what is used between two uses of a key.
    Reuse,
    /// Of a trace: the sizes of keys and values.
    Sizes,
    /// Of a trace: the TTLs of stored entries.
    Ttls,
    /// Of two runs: a figure of each, beside each other.
    Changes,
}

/// The direction in which figures are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// The larger one.
    More,
    /// The smaller one.
    Less,
}

/// The presentation of a family's charts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each stands for itself, in any combination")]
pub struct Manner {
    /// The name, as in JSON and in the ids of charts.
    pub name: &'static str,
    /// The heading above them.
    pub heading: &'static str,
    /// The better direction; `None` where neither is better.
    pub better: Option<Better>,
    /// Whether a reader may switch to figures relative to the best.
    pub is_relative: bool,
    /// Whether each series has its own strip, below the previous one, because overlaid series would hide each other.
    /// Such series have many places at equal distances.
    pub has_strips: bool,
    /// Whether each part of a bar is a span in its own row, from the least figure over the mean to the greatest.
    /// Overlaid spans would hide each other.
    pub has_spans: bool,
    /// Whether each part of a bar is a bar in its own row: parts that are compared, and not added.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_pairs: bool,
    /// Whether they are shown without a script too, and on paper.
    pub has_stills: bool,
    /// Whether a table of percentiles stands beside them.
    pub has_table: bool,
}

/// The defaults for most families.
const PLAIN: Manner = Manner {
    name: "",
    heading: "",
    better: None,
    is_relative: false,
    has_strips: false,
    has_spans: false,
    has_pairs: false,
    has_stills: false,
    has_table: false,
};

const HIT_RATIO: Manner = Manner {
    name: "hit_ratio",
    heading: "Hit ratio by capacity",
    better: Some(Better::More),
    has_stills: true,
    ..PLAIN
};

const RATE: Manner = Manner {
    name: "rate",
    heading: "Rate",
    better: Some(Better::More),
    is_relative: true,
    has_stills: true,
    ..PLAIN
};

const LATENCY: Manner = Manner {
    name: "latency",
    heading: "Latency",
    better: Some(Better::Less),
    is_relative: true,
    has_stills: true,
    ..PLAIN
};

const THROUGHPUT: Manner = Manner {
    name: "throughput",
    heading: "Throughput against latency",
    better: Some(Better::Less),
    has_stills: true,
    ..PLAIN
};

const SPREAD: Manner = Manner {
    name: "spread",
    heading: "Latency from the least to the greatest",
    better: Some(Better::Less),
    has_spans: true,
    ..PLAIN
};

const PERCENTILES: Manner = Manner {
    name: "percentiles",
    heading: "Latency by percentile",
    better: Some(Better::Less),
    has_table: true,
    ..PLAIN
};

const TIMELINE: Manner =
    Manner { name: "timeline", heading: "Over time", has_strips: true, ..PLAIN };

const RESOURCES: Manner = Manner {
    name: "resources",
    heading: "What each target costs",
    better: Some(Better::Less),
    ..PLAIN
};

const USAGE: Manner =
    Manner { name: "usage", heading: "The machine over the run", has_strips: true, ..PLAIN };

const OUTCOMES: Manner =
    Manner { name: "outcomes", heading: "Outcomes of the operations", ..PLAIN };

const CACHE_HITS: Manner = Manner {
    name: "cache_hits",
    heading: "Hit ratio by capacity",
    better: Some(Better::More),
    has_stills: true,
    ..PLAIN
};

const COURSE: Manner =
    Manner { name: "course", heading: "Rate over time", has_stills: true, ..PLAIN };

const WORKING_SET: Manner =
    Manner { name: "working_set", heading: "Keys in use over time", has_stills: true, ..PLAIN };

const POPULARITY: Manner =
    Manner { name: "popularity", heading: "Popularity of the keys", has_stills: true, ..PLAIN };

const REUSE: Manner =
    Manner { name: "reuse", heading: "Reuse distances", has_stills: true, ..PLAIN };

const SIZES: Manner = Manner { name: "sizes", heading: "Sizes", has_stills: true, ..PLAIN };

const TTLS: Manner = Manner { name: "ttls", heading: "TTLs", has_stills: true, ..PLAIN };

const CHANGES: Manner = Manner {
    name: "changes",
    heading: "Before and after",
    has_pairs: true,
    has_stills: true,
    ..PLAIN
};

impl Manner {
    /// Whether each part of a bar has its own row.
    pub fn has_rows(&self) -> bool {
        self.has_spans || self.has_pairs
    }
}

impl Family {
    /// The presentation of its charts.
    pub fn manner(self) -> &'static Manner {
        match self {
            Self::HitRatio => &HIT_RATIO,
            Self::Rate => &RATE,
            Self::Latency => &LATENCY,
            Self::Throughput => &THROUGHPUT,
            Self::Spread => &SPREAD,
            Self::Percentiles => &PERCENTILES,
            Self::Timeline => &TIMELINE,
            Self::Resources => &RESOURCES,
            Self::Usage => &USAGE,
            Self::Outcomes => &OUTCOMES,
            Self::CacheHits => &CACHE_HITS,
            Self::Course => &COURSE,
            Self::WorkingSet => &WORKING_SET,
            Self::Popularity => &POPULARITY,
            Self::Reuse => &REUSE,
            Self::Sizes => &SIZES,
            Self::Ttls => &TTLS,
            Self::Changes => &CHANGES,
        }
    }

    /// The name, as in JSON and in the ids of charts.
    pub fn as_str(self) -> &'static str {
        self.manner().name
    }
}
