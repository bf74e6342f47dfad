//! Made-up runs for the tests of reports. Each figure follows from a formula and a seed, so the reports are the same
//! everywhere, and no run passes for a result.
//!
//! They are runs as a reader may meet them: a complete sweep, and each way to be incomplete.

pub(crate) mod article;
mod cells;
pub(crate) mod connections;
pub(crate) mod diffs;
pub(crate) mod doubtful;
pub(crate) mod info;
mod pairs;
mod plan;
mod profile;
pub(crate) mod runs;
pub(crate) mod sets;
pub(crate) mod usage;

pub(crate) use runs::{MADE_UP, hostile, largest};
