//! The answer of a stack to a read, beside the value.

use larder_store::Meta;
use larder_store::layer::Outcome;

/// The answer of a stack to a read, beside the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lookup {
    /// The entry; `None` is a miss.
    pub found: Option<Found>,
    /// The lowest tier failed. A miss may then be a key that exists.
    pub failed: bool,
}

/// An entry that a tier has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Its metadata. It is stale where somebody has marked it so, or where it has expired and is kept for the time of
    /// grace.
    pub meta: Meta,
    /// The number of the tier that answered: 1 is the nearest.
    pub tier: usize,
}

impl Outcome for Lookup {
    fn is_hit(&self) -> Option<bool> {
        Some(self.found.is_some())
    }

    fn is_stale(&self) -> bool {
        self.found.is_some_and(|found| found.meta.stale)
    }
}
