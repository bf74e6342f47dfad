//! Large pages, of which the model's memory has none.

use super::memory::Memory;
use super::partition::Partition;

/// The partitions that have taken large pages.
#[derive(Debug, Default)]
pub(crate) struct Taken;

impl Taken {
    pub(crate) fn of(_: (usize, usize), _: bool) -> Self {
        Self
    }

    pub(crate) fn take(&self, _: Partition<'_>) {}
}

impl Memory {
    pub(crate) fn collapse(&self, _: usize, _: usize) {}

    pub(crate) fn in_large_pages(&self) -> Option<u64> {
        None
    }
}
