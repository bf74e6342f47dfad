//! The data model of `run.json`, and its reports: tables, sentences, files.
//!
//! Everything here is a function of a [`Run`]: nothing measures, opens a store or asks the machine. A report made today
//! from a `run.json` of last year shows the measurements of last year.
//!
//! [`render`] makes a report in any [`Format`]. The parts of reports are public beside it, so that another report can
//! use the same. [`groups`] ranks, [`sentences()`] claims, [`findings()`] orders the checks, [`not_shown`] names the
//! limits, and [`figures`] writes every number.

mod article;
mod assertion;
mod chart;
mod columns;
mod connections;
mod content;
mod csv;
mod diff;
mod document;
mod error;
pub mod figures;
mod findings;
mod format;
mod formats;
mod grid;
mod header;
mod hit_limit;
mod hit_ratio;
mod html;
mod index;
mod info;
mod json;
mod limits;
mod matrix;
mod model;
mod paced;
mod page;
mod percentiles;
mod points;
mod ranking;
mod run;
mod searches;
mod sentences;
mod shown_percentiles;
mod style;
mod text;
mod tiers;
mod ties;
mod verified;

pub use assertion::{ASSERTION_EXPECTED, Assertion, Failure, Unmatched, assertion_metrics};
pub use chart::{
    Absent, Axis, Better, Chart, Chosen, Facet, Family, Ground, Manner, Ratios, Scale, Series,
    Shape, Unit, charts, diff_charts, info_charts, is_chart_id, is_info_chart_id, palette, png,
    svg,
};
pub use content::{Above, beats_itself, held_above, held_below, keeps_to_capacity};
pub use csv::{samples_csv, usage_csv};
pub use diff::{diff_formats, is_diff_page, render_diff};
pub use error::Error;
pub use findings::{RuleFindings, findings, tally};
pub use format::{Format, render};
pub use header::machine;
pub use hit_limit::{misses_explained, most_hits, most_hits_explained, most_hits_in_short};
pub use index::{digest, index_formats, render_index};
pub use info::{info_formats, is_info_page, render_info};
pub use json::{info_schema, schema};
pub use limits::{NOT_SHOWN, not_shown};
pub use model::{
    Advised, AdvisedChoice, AdvisedPoint, Article, ArticleChecks, ArticleFigure, ArticleForm,
    ArticleRate, COMERS_FAILED, Cell, Claim, ClaimCheck, ClaimKind, ClaimVerdict, Clock, Collector,
    Comers, Comparison, Counts, CurvePoint, Driven, Entry, Environment, Evidence, Finding, Floor,
    HitCurve, HitRatios, Idle, Index, LIKE_HITS, Latency, LatencyIntervals, LatencyTo, Limits,
    MachineUsage, Measure, MergedSlice, NOT_EMPTIED, NOT_LOOKED_FOR, OVERWRITES_FAILED, Operation,
    Outlier, Paced, PacedSample, Point, PointValue, ReasonKind, Run, SCHEMA_VERSION, Sample,
    Search, SearchStep, Severity, Slice, Spread, Stalls, Stored, Target, TierCounts, Timeline,
    Trend, TtlTrial, Unlike, Usage, UsageOf, Verdict, Wire,
};
pub use model::{
    CacheCurve, Course, CurvePolicy, CurveRatio, Distribution, DistributionOf, Estimate, HitLimit,
    HitRatioAt, HotKey, Hottest, Largest, MeasuredIn, OperationCount, Popularity, ResultCount,
    Reuse, Sampling, TimesBack, TraceFile, TraceInfo, Traffic, WorkingSet, Zipf,
};
pub use model::{
    Change, ChangeVerdict, Diff, DiffCell, DiffFigure, DiffMeasure, DiffSide, Differing,
    NotCompared,
};
pub use paced::KEPT_UP;
pub use points::{CAPACITY, PART, coordinate, label, points, short_label};
pub use ranking::{Group, Pair, Row, Standing, groups, pair};
pub use sentences::{
    PAIRED_FROM, Role, Sentence, floor_share, operation_ns, rounds_for_verdict, sentences,
    smallest_p,
};
pub use shown_percentiles::{LEAST_BEYOND, LatencyFigure, highest_shown, is_shown, operations_for};
pub use style::Style;
pub use text::{ShortNames, steers};
