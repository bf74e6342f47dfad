//! The beginning of a region's own time, and its continuation after the machine was down.

use crate::clock;
use crate::record::FOREVER;

/// The first moment of a region: an entry that has expired at once does so at 0.
pub(crate) const FIRST: u64 = 1;

/// Milliseconds of a region's own time, from its epoch and the time since the machine was started.
#[inline]
pub(crate) fn since(epoch: u64, now: u64) -> u64 {
    now.wrapping_sub(epoch)
}

/// The words that the last user leaves for a later run: the time in the region, and the time of day.
pub(crate) fn left(epoch: u64) -> [u64; 2] {
    [since(epoch, clock::exactly_now_ms()), clock::wall_ms()]
}

/// A region's time now, from the words that a survey has read.
pub(crate) fn surveyed([epoch, of_run, at, wall]: [u64; 4], run: Option<u64>) -> u64 {
    if run == Some(of_run) {
        return since(epoch, clock::exactly_now_ms());
    }
    at.saturating_add(clock::wall_ms().saturating_sub(wall)).min(FOREVER)
}
