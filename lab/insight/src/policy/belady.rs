//! The optimal choice: the entry whose next use is latest makes room, or does not come in at all. See Belady 1966, "A
//! study of replacement algorithms for a virtual-storage computer".
//!
//! With entries of one size no cache hits more often, not even one that refuses newcomers. Each span from one use of an
//! entry to its next read is worth one hit. To keep the most spans, with never more than fit at once, is the scheduling
//! of intervals on several machines. Dropping the span that ends last solves that problem (Faigle and Nawijn 1995). With
//! entries of several sizes the best choice is a knapsack, too slow to fill; then this choice is good, but not the best.

use larder_report::MeasuredIn;

use super::time_set::TimeSet;
use crate::step::{Steps, Use};

/// The next use of an entry that is replaced or dropped before any.
const NEVER: u32 = u32::MAX;

/// For each step, the place of the next use of the entry that it leaves in the cache.
#[derive(Debug)]
pub(crate) struct Future(Vec<u32>);

impl Future {
    pub(crate) fn of(steps: &impl Steps) -> Self {
        let mut next = vec![NEVER; steps.n_steps()];
        let mut upcoming = vec![NEVER; steps.n_keys()];
        for (at, next) in next.iter_mut().enumerate().rev() {
            let step = steps.step(at);
            let upcoming = &mut upcoming[step.key as usize];
            *next = *upcoming;
            *upcoming = match step.usage {
                Use::Write | Use::Fill | Use::Drop => NEVER,
                Use::Read | Use::Found | Use::Look | Use::Add | Use::Change | Use::Renew => {
                    u32::try_from(at).expect("more steps are not kept")
                }
            };
        }
        Self(next)
    }

    /// Follows a cache of `capacity` that knows all steps beforehand, and tells the place of each read and whether it
    /// hit.
    pub(crate) fn follow(
        &self,
        steps: &impl Steps,
        capacity: u64,
        measure: MeasuredIn,
        mut told: impl FnMut(usize, bool),
    ) {
        // An entry is known by the place of its next use.
        let mut kept = TimeSet::new(steps.n_steps());
        let mut sizes = vec![0_u32; steps.n_keys()];
        let mut expiries = vec![0_u32; steps.n_keys()];
        let mut used = 0;
        for at in 0..steps.n_steps() {
            let step = steps.step(at);
            let (size, expiry) = (&mut sizes[step.key as usize], &mut expiries[step.key as usize]);
            let was_there = kept.remove(at);
            if was_there {
                used -= u64::from(*size);
            }
            if step.usage.reads() {
                told(at, was_there);
            }
            let is_stored = match step.usage {
                Use::Write | Use::Fill => true,
                Use::Read | Use::Found | Use::Add => !was_there,
                Use::Change => was_there,
                Use::Look | Use::Renew | Use::Drop => false,
            };
            if is_stored {
                *size = step.size_in(measure);
            }
            if is_stored && step.usage != Use::Change || was_there && step.usage == Use::Renew {
                *expiry = step.expiry();
            }
            let next = self.0[at];
            let stays = (is_stored || was_there) && next != NEVER && u64::from(*size) <= capacity;
            if !stays || steps.step(next as usize).at >= *expiry {
                continue;
            }
            kept.insert(next as usize);
            used += u64::from(*size);
            while used > capacity {
                let last = kept.pop_last().expect("what takes room is kept");
                used -= u64::from(sizes[steps.step(last).key as usize]);
            }
        }
    }
}
