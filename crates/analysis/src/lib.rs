//! Conclusions about a run that was measured: functions of a [`Run`](larder_report::Run), and of nothing else.
//!
//! [`statistics`] says how sure a figure is, and whether two differ. [`check`] looks for the ways in which a figure misleads.
//! [`diff()`] sets one run against another. Nothing here runs anything or knows a clock, so a run of an older version can be
//! looked at anew.

pub mod alike;
pub mod check;
mod diff;
pub mod statistics;

pub use diff::{DiffOf, MatchBy, NotComparable, diff};
