//! Large pages, of which the model's memory has none.

use super::cache::Cache;
use super::memory::Memory;
use super::partition::Partition;

/// The partitions that have taken large pages.
#[derive(Debug, Default)]
pub(crate) struct Taken;

impl Taken {
    pub(crate) fn of(_: (usize, usize), _: bool) -> Self {
        Self
    }
}

impl Cache {
    pub fn large_page_bytes(&self) -> Option<u64> {
        None
    }

    pub(crate) fn take_large_pages(&self, _: Partition<'_>) {}
}

impl Memory {
    pub(crate) fn collapse(&self, _: usize, _: usize) {}
}
