//! The beginning of a region's own time, and its continuation after the machine was down.

use std::sync::atomic::Ordering;

use crate::cache::Cache;
use crate::clock;
use crate::memory::Memory;
use crate::record::FOREVER;
use crate::superblock::{EPOCH, EPOCH_RUN, LEFT_AT, LEFT_WALL};

/// The first moment of a region: an entry that has expired at once does so at 0.
const FIRST: u64 = 1;

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

impl Cache {
    /// Begins the time of a new region.
    pub(crate) fn begin_time(&mut self, run: Option<u64>) {
        self.set_epoch(FIRST, run);
        self.read_epoch();
    }

    /// Continues the time of a region from an earlier run of the machine. Within this run the time needs no help.
    ///
    /// If the clock of the day went back, the length of the break is unknown, and so are the expired entries. All entries
    /// are then forgotten before the region notes this run. So a process killed in between leaves the same state to the
    /// next.
    pub(crate) fn go_on_with_time(&self, run: Option<u64>) {
        let memory = &self.memory;
        if run.is_some_and(|run| memory.load(EPOCH_RUN) == run) {
            return;
        }
        let down = clock::wall_ms().checked_sub(memory.load(LEFT_WALL));
        if down.is_none() {
            self.forget_all();
        }
        let left = memory.load(LEFT_AT).clamp(FIRST, FOREVER);
        self.set_epoch(left.saturating_add(down.unwrap_or(0)).min(FOREVER), run);
    }

    /// The epoch is read once, because no process changes it while the region is open.
    pub(crate) fn read_epoch(&mut self) {
        self.epoch = self.memory.load(EPOCH);
    }

    fn set_epoch(&self, now: u64, run: Option<u64>) {
        let memory: &Memory = &self.memory;
        memory.store(EPOCH, clock::now_ms().wrapping_sub(now));
        // A process that is killed before this store has not claimed the new time yet.
        memory.word(EPOCH_RUN).store(run.unwrap_or(0), Ordering::Release);
    }
}
