//! The work for a cache: keys, values, and operations on them, drawn from a law or read from a [`trace`].
//!
//! Everything follows from a seed, so that the same work can be done twice. This crate only describes work; it runs and
//! measures nothing.

mod access;
mod bound;
mod capacity;
mod each_thread;
mod flag_fields;
mod keys;
mod on_miss;
mod operations;
mod pace;
mod pattern;
mod precision;
mod published;
mod ratio;
mod replay;
mod sizes;
mod spec;
pub mod trace;
mod values;

pub use access::{Access, Condition};
pub use bound::Bound;
pub use capacity::Capacity;
pub use each_thread::EachThread;
pub use flag_fields::text;
pub use keys::{KeySpace, Lengths};
pub use on_miss::OnMiss;
pub use operations::Operations;
pub use pace::{ArrivalKind, Scan};
pub use pattern::{Distribution, KeyPattern, Picker, Popularity};
pub use precision::Until;
pub use ratio::Ratio;
pub use replay::Replay;
pub use sizes::{SizeSpec, Sweep};
pub use spec::{Count, Share, WorkloadSpec};
pub use values::{Composer, Correctness, NOTHING, Sizes, Values, base_version};
pub use values::{HEADER_LEN, Number, ReadExpectation, SPAN, parse_number};
