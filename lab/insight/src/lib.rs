//! What can be said of a trace: functions of a stream of rows, in one pass and in bounded memory.
//!
//! [`Insight`] takes the rows, and tells at their end what it found. Counts of operations, sizes and times are of all rows.
//! What depends on keys comes from a sample of them (`sample/`), unless the trace is small. Nothing here reads a clock,
//! opens a file or knows a store.

mod capacities;
mod course;
mod curve;
mod distance;
mod distributions;
mod entries;
mod exact;
mod hottest;
mod insight;
mod limit;
mod policy;
mod popularity;
mod reuse;
mod sample;
mod sequence;
mod simulate;
mod step;
mod summary;
mod working_set;
mod zipf;

pub use capacities::Capacities;
pub use exact::{Optimum, lru_hits};
pub use insight::{Insight, Settings};
pub use step::{Step, Steps, Use};
