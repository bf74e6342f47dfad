//! What is done to a cache: keys, values, and which operations on them.

mod keys;
mod pattern;
mod ratio;
mod sizes;
mod spec;
mod values;

pub use keys::{KeySpace, Lengths};
pub use pattern::{Distribution, KeyPattern, Picker};
pub use ratio::Ratio;
pub use sizes::{SizeSpec, Sweep};
pub use spec::{Count, OnMiss, Operations, Share, WorkloadSpec};
pub(crate) use values::HEADER_LEN;
pub use values::{Composer, Finding, NOTHING, Sizes, Values, base_version};
