//! A trace as a look-aside cache replays it.

use super::column::Marks;
use super::{Trace, Verb};
use crate::{Access, Condition};

impl Trace {
    /// The trace without the sets that a replay with fill on miss does by itself.
    ///
    /// An application with a look-aside cache follows a miss with a set. Such a set is in the trace, and a replay that
    /// fills its own misses would repeat it, even where the get was a hit. So a set is left out when the previous
    /// access to its key was a get. Its value size and TTL go to that get and the gets directly before it where they
    /// have none, because these gets fill that value.
    ///
    /// Traces do not give the reason for a set. Where reads have no results, an update that follows a read counts as a fill
    /// too; where they have, only a set after a miss does.
    #[must_use]
    pub fn fills_removed(&self) -> Self {
        let mut trace = self.clone();
        let mut is_fill = vec![false; self.len()];
        // For each key the next set, where only gets lie in between: this set fills them.
        let mut set_after: Vec<Option<usize>> = vec![None; self.n_keys as usize];
        let has_ttls = self.ttls().next().is_some();
        for (at, op) in self.ops().enumerate().rev() {
            let next = &mut set_after[op.key as usize];
            match (op.kind, *next) {
                (Access::Get | Access::GetOrSet, Some(set))
                    if !self.has_results || self.missed.has(at) =>
                {
                    // The value comes right after the nearest read, with its TTL or without one.
                    let of_set = self.ttls.get(set);
                    let ttl = if is_fill[set] {
                        self.ttls.get(at).or(of_set)
                    } else {
                        of_set.or(has_ttls.then_some(0))
                    };
                    is_fill[set] = true;
                    trace.ttls.set(at, ttl);
                    let fill = self.op(set);
                    trace.value_sizes.set(at, op.value_size.or(fill.value_size));
                }
                (Access::Get | Access::GetOrSet, _) => {}
                // Where the key must be there, it is the value of no read that missed.
                (Access::Set, _) if op.condition == Some(Condition::Present) => *next = None,
                (Access::Set, _) => *next = Some(at),
                (Access::Delete | Access::Touch | Access::Incr | Access::Decr, _) => *next = None,
            }
        }
        trace.retain(|at| !is_fill[at]);
        trace
    }

    /// The number of gets that hit in a cache that starts empty and keeps everything. With `fills`, each miss is filled, as
    /// by an application with a look-aside cache. A cache without limit must reach this number, and no cache can exceed it,
    /// where the operations come in their order. TTLs are ignored, but for those that [`Trace::expired`] has turned into
    /// deletes.
    ///
    /// Where all operations are gets that are filled, this is their number minus the number of keys.
    pub fn most_hits(&self, fills: bool) -> u64 {
        let mut present = vec![false; self.n_keys as usize];
        let mut hits = 0;
        for op in self.ops() {
            let present = &mut present[op.key as usize];
            hits += u64::from(*present && op.kind == Access::Get);
            *present = op.is_stored_after(*present, fills);
        }
        hits
    }

    /// The number of gets that can hit in any order of the operations, and in a store that carries out every store whatever
    /// its condition. One store of a key may come before all of its reads, and a delete after them. Where only reads store the
    /// key, the first of them misses.
    pub fn most_hits_in_any_order(&self, fills: bool) -> u64 {
        let (mut reads, mut is_written) = (vec![0_u64; self.n_keys as usize], Marks::default());
        let mut is_filled = Marks::default();
        for op in self.ops() {
            let key = op.key as usize;
            if op.kind == Access::Get {
                reads[key] += 1;
                is_filled.set(key, is_filled.has(key) || op.is_stored_after(false, fills));
            } else if op.kind == Access::Set || op.kind.counts() {
                is_written.set(key, true);
            }
        }
        let hits = |(key, reads): (usize, u64)| match (is_written.has(key), is_filled.has(key)) {
            (true, _) => reads,
            (false, true) => reads - 1,
            (false, false) => 0,
        };
        reads.into_iter().enumerate().map(hits).sum()
    }

    /// The trace in which reads that nobody filled are marked ([`super::TraceOp::is_unfilled`]): each missed, and no store of its key
    /// follows before it is read or deleted again. The application had nothing to store, and a replay that fills its misses
    /// does not fill these. That is known only where reads have results and something is stored.
    #[must_use]
    pub fn unfilled_marked(mut self) -> Self {
        let stores = |verb: &Verb| matches!(verb, Verb::Set | Verb::Add);
        if !self.has_results || !self.operations.iter().any(stores) {
            return self;
        }
        // For each key whether the next operation stores it.
        let mut is_stored_next = Marks::default();
        for at in (0..self.len()).rev() {
            let op = self.op(at);
            let key = op.key as usize;
            match op.kind {
                Access::Get | Access::GetOrSet => {
                    let missed = op.kind == Access::Get && self.missed.has(at);
                    self.unfilled.set(at, missed && !is_stored_next.has(key));
                    is_stored_next.set(key, false);
                }
                Access::Delete => is_stored_next.set(key, false),
                Access::Set | Access::Incr | Access::Decr => {
                    if op.condition != Some(Condition::Present) {
                        is_stored_next.set(key, true);
                    }
                }
                Access::Touch => {}
            }
        }
        self
    }

    /// The number of reads that a replay with fill on miss does not fill.
    pub fn n_unfilled(&self) -> u64 {
        self.unfilled.count()
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
                self.missed.set(kept, self.missed.has(at));
                self.unfilled.set(kept, self.unfilled.has(at));
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
        self.missed.truncate(kept);
        self.unfilled.truncate(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_hits_in_any_order_are_those_of_reads_that_some_operation_stores_for() {
        let most = |csv: &str, fills: bool| {
            let trace = Trace::read("test.csv", csv.as_bytes(), None, None).unwrap();
            let trace = trace.unfilled_marked();
            (trace.most_hits(fills), trace.most_hits_in_any_order(fills))
        };
        // A set may come before the read, and a delete after it.
        assert_eq!(most("key,op\na,get\na,set\na,get\na,delete\na,get\nb,get\n", false), (1, 3));
        // A store without conditions carries out a replace, too.
        assert_eq!(most("key,op\na,replace\na,get\n", false), (0, 1));
        // The first of the reads that fill misses, whichever it is; a delete lets another miss.
        assert_eq!(most("key,op\na,get\na,get\na,get\nb,get\n", true), (2, 2));
        assert_eq!(most("key,op\na,get\na,delete\na,get\na,get\n", true), (1, 2));
        // Nobody stores b. The read of c that nobody filled may come after the one that is filled.
        let csv = "key,op,result\nb,get,miss\nb,get,miss\nc,get,miss\nc,get,miss\nc,set,stored\nc,get,hit\n";
        let trace = Trace::read("test.csv", csv.as_bytes(), None, None).unwrap();
        let trace = trace.unfilled_marked().fills_removed();
        assert_eq!((trace.most_hits(true), trace.most_hits_in_any_order(true)), (1, 2));
    }
}
