//! What is done to a cache: keys, values, and which operations on them.

mod bound;
mod capacity;
mod keys;
mod on_miss;
mod operations;
mod pace;
mod pattern;
mod published;
mod ratio;
mod sizes;
mod spec;
mod typed;
mod until;
mod values;

pub use bound::Bound;
pub use capacity::Capacity;
pub use keys::{KeySpace, Lengths};
pub use on_miss::OnMiss;
pub use operations::Operations;
pub use pace::{ArrivalKind, Scan};
pub use pattern::{Distribution, KeyPattern, Picker, Popularity};
pub use ratio::Ratio;
pub use sizes::{SizeSpec, Sweep};
pub use spec::{Count, Share, WorkloadSpec};
pub(crate) use typed::text;
pub use until::Until;
pub(crate) use values::{Asked, HEADER_LEN, SPAN};
pub use values::{Composer, Finding, NOTHING, Sizes, Values, base_version};
