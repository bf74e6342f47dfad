//! The classic text protocol: one line asks, one or more lines answer.

pub mod delete;
pub mod flush_all;
pub mod get;
pub mod incr;
pub mod set;
pub mod stats;
pub mod touch;
pub mod version;
