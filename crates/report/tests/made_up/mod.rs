//! Runs that nobody measured, for the tests of reports: each figure follows from a formula and a seed, so that a report
//! of them is the same everywhere, and none of them is taken for a result.
//!
//! They are what a reader may meet: a sweep with a bar for everything, and each way in which a run falls short of it.

pub(crate) mod article;
mod cells;
pub(crate) mod doubtful;
mod pairs;
mod plan;
mod profile;
pub(crate) mod runs;
pub(crate) mod sets;
pub(crate) mod usage;

pub(crate) use runs::{MADE_UP, hostile, largest};
