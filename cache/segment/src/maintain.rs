//! Idle time: segments are emptied ahead of time, so that later sets need not.

use std::time::{Duration, Instant};

use crate::cache::Cache;
use crate::partition::Partition;
use crate::session::lock_within;
use crate::upkeep::{KEPT_WHEN_IDLE, Worked};
use crate::work::Work;

impl Cache {
    /// Makes room ahead of time, so that later sets need not; returns whether there is more to do. No step begins once `budget`
    /// has passed.
    ///
    /// A server calls it while it has no other work. A partition whose lock is taken is left for the next call. A step holds a
    /// lock for at most 256 records that it looks at, or 32 KiB that it copies, plus one record and its key. If this is never
    /// called, sets do the same, a little each.
    pub fn maintain(&self, budget: Duration) -> bool {
        let began = Instant::now();
        let is_over = || began.elapsed() >= budget;
        let mut is_more = false;
        for partition in 0..self.places.geometry.partitions {
            is_more |= self.maintain_one(self.partition(partition), &is_over);
            if is_more && is_over() {
                break;
            }
        }
        is_more
    }

    fn maintain_one(&self, partition: Partition<'_>, is_over: &dyn Fn() -> bool) -> bool {
        while partition.may_have_work() {
            if is_over() {
                return true;
            }
            let Ok(mut locked) = lock_within(self, partition, Duration::ZERO) else { return true };
            let worked = locked.work(&mut Work::idle(), KEPT_WHEN_IDLE);
            let doomed = std::mem::take(&mut locked.doomed);
            drop(locked);
            self.drop_doomed_until(doomed, is_over);
            if worked != Worked::More {
                return false;
            }
        }
        false
    }
}
