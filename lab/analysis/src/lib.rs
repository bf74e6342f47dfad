//! Conclusions about a measured run: functions of a [`Run`](larder_report::Run), and of nothing else.
//!
//! [`statistics`] computes how sure a figure is, and whether two figures differ. [`check`] looks for the ways in which
//! a figure misleads. [`diff()`] sets one run against another. [`advice`] chooses a cache for a user's wishes. Nothing here measures or reads a clock, so a run of an
//! older version can be checked again.

pub mod advice;
pub mod alike;
pub mod check;
mod diff;
pub mod statistics;

pub use diff::{DiffOf, MatchBy, NotComparable, diff};
