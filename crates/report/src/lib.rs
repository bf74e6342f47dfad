//! The data model of `run.json`, and what is made of it: tables, sentences, files.
//!
//! Everything here is a function of a [`Run`]: nothing measures, opens a store or asks the machine. A report made
//! today from a `run.json` of last year shows what was measured last year.

mod error;
pub mod figures;
mod json;
mod model;

pub use error::Error;
pub use json::schema;
pub use model::{
    Cell, Check, Comparison, Counts, Environment, Floor, Latency, Limits, Operation, Point,
    PointValue, Run, SCHEMA_VERSION, Sample, Severity, Target, Verdict,
};
