//! A trace as a look-aside cache replays it.

use super::Trace;
use crate::{Access, Condition};

impl Trace {
    /// The trace without the sets that a replay with fill on miss does by itself.
    ///
    /// An application with a look-aside cache follows a miss with a set. Such a set is in the trace, and a replay that
    /// fills its own misses would repeat it, even where the get was a hit. So a set is left out when the previous
    /// access to its key was a get. Its value size and TTL go to that get and the gets directly before it where they
    /// have none, because these gets fill that value.
    ///
    /// Traces do not give the reason for a set. An update that follows a read counts as a fill too.
    #[must_use]
    pub fn fills_removed(&self) -> Self {
        let mut trace = self.clone();
        let mut is_fill = vec![false; self.len()];
        // For each key the next set, where only gets lie in between: this set fills them.
        let mut set_after: Vec<Option<usize>> = vec![None; self.n_keys as usize];
        for (at, op) in self.ops().enumerate().rev() {
            let next = &mut set_after[op.key as usize];
            match (op.kind, *next) {
                (Access::Get | Access::GetOrSet, Some(set)) => {
                    is_fill[set] = true;
                    let fill = self.op(set);
                    trace.value_sizes.set(at, op.value_size.or(fill.value_size));
                    trace.ttls.set(at, op.ttl.or(fill.ttl));
                }
                (Access::Get | Access::GetOrSet, None) => {}
                (Access::Set, _) => *next = Some(at),
                (Access::Delete | Access::Touch | Access::Incr | Access::Decr, _) => *next = None,
            }
        }
        trace.retain(|at| !is_fill[at]);
        trace
    }

    /// The number of gets that hit in a look-aside cache that starts empty, keeps everything, and is filled after each
    /// miss. A cache without limit must reach this number, and no cache can exceed it; TTLs are ignored.
    ///
    /// Where all operations are gets, this is their number minus the number of keys.
    pub fn lookaside_hits(&self) -> u64 {
        let mut present = vec![false; self.n_keys as usize];
        let mut hits = 0;
        for op in self.ops() {
            let present = &mut present[op.key as usize];
            match op.kind {
                Access::Get | Access::GetOrSet => {
                    hits += u64::from(*present);
                    *present = true;
                }
                Access::Set | Access::Incr | Access::Decr => {
                    *present |= op.condition != Some(Condition::Present);
                }
                Access::Delete => *present = false,
                Access::Touch => {}
            }
        }
        hits
    }

    /// Keeps the operations at the places that `keep` selects, in order; the numbers of the keys stay.
    fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let mut kept = 0;
        for at in 0..self.len() {
            if keep(at) {
                self.keys[kept] = self.keys[at];
                self.operations[kept] = self.operations[at];
                self.value_sizes.set(kept, self.value_sizes.get(at));
                self.ttls.set(kept, self.ttls.get(at));
                self.joined.set(kept, self.joined.has(at));
                self.creates.set(kept, self.creates.has(at));
                if let Some(time_us) = self.times_us.get(at).copied() {
                    self.times_us[kept] = time_us;
                }
                kept += 1;
            }
        }
        self.keys.truncate(kept);
        self.operations.truncate(kept);
        self.value_sizes.truncate(kept);
        self.ttls.truncate(kept);
        self.times_us.truncate(kept);
        self.joined.truncate(kept);
        self.creates.truncate(kept);
    }
}
