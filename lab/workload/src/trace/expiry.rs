//! Expiry on the clock of the recording, for a replay that has no clock of its own.

use super::column::{Figures, Marks};
use super::row::Verb;
use super::{Trace, TraceOp};
use crate::Access;

const US_A_SECOND: u64 = 1_000_000;

/// When the entry of a key expires, in microseconds since the first operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    Absent,
    Expires(u64),
    Lasts,
}

impl Entry {
    /// An entry that is stored now, with a TTL in seconds or without one.
    fn stored(now_us: u64, ttl_s: Option<u32>) -> Self {
        match ttl_s {
            Some(ttl) => Self::Expires(now_us.saturating_add(u64::from(ttl) * US_A_SECOND)),
            None => Self::Lasts,
        }
    }

    fn has_expired(self, now_us: u64) -> bool {
        matches!(self, Self::Expires(at) if at <= now_us)
    }
}

impl Trace {
    /// The trace with a delete of each entry whose TTL is over by the recorded times, right before the request that would
    /// find it, and the number of these deletes. A replay as fast as a target answers has no clock on which entries could
    /// expire. With `fills`, a read that misses stores its key.
    ///
    /// Entries are followed in a cache that keeps everything. One that was evicted and filled again would live longer from
    /// then on, and is deleted with the others: its next read misses at most once more than it should.
    ///
    /// Fills must still be there, because each begins the TTL of its entry anew ([`Trace::fills_removed`]), and reads must have
    /// the TTLs of their fills ([`Trace::ttls_carried_on`]). A trace without times has no clock, and stays as it is.
    #[must_use]
    pub fn expired(self, fills: bool) -> (Self, u64) {
        if !self.has_times() || self.ttls().next().is_none() {
            return (self, 0);
        }
        let mut entries = vec![Entry::Absent; self.n_keys as usize];
        let mut trace = Self { n_keys: self.n_keys, ..Self::default() };
        let mut n_expired = 0;
        let mut at = 0;
        while at < self.len() {
            let end = (at + 1..self.len()).find(|at| !self.joined.has(*at)).unwrap_or(self.len());
            for at in at..end {
                let (op, now_us) = (self.op(at), self.times_us[at]);
                let entry = &mut entries[op.key as usize];
                // A set without a condition replaces the entry in any case.
                let replaces = op.kind == Access::Set && op.condition.is_none();
                if entry.has_expired(now_us) && !replaces {
                    *entry = Entry::Absent;
                    trace.push_delete(op.key, now_us);
                    n_expired += 1;
                }
            }
            for at in at..end {
                let op = self.op(at);
                let entry = &mut entries[op.key as usize];
                *entry = self.after(at, &op, *entry, fills);
                trace.push_copy(&self, at);
            }
            at = end;
        }
        trace.has_results = self.has_results;
        trace.key_sizes = self.key_sizes;
        trace.counters = self.counters;
        (trace, n_expired)
    }

    /// The entry of a key after an operation on it, where none or one that has not expired was there before.
    fn after(&self, at: usize, op: &TraceOp, entry: Entry, fills: bool) -> Entry {
        let (was_stored, now_us) = (entry != Entry::Absent, self.times_us[at]);
        if !op.is_stored_after(was_stored, fills) {
            return Entry::Absent;
        }
        let verb = self.operations[at];
        let renews = match op.kind {
            Access::Set => match verb {
                Verb::Set => true,
                Verb::Replace | Verb::Cas => self.ttls.get(at).is_some(),
                Verb::Add => self.has_added(at),
                _ => false,
            },
            Access::Touch => true,
            Access::Get => verb == Verb::Gat && op.ttl.is_some(),
            Access::GetOrSet | Access::Incr | Access::Decr | Access::Delete => false,
        };
        if was_stored && !renews { entry } else { Entry::stored(now_us, op.ttl) }
    }

    /// The trace in which each read has the TTL that its fill gives: its own, or else that of the last store of its key, or
    /// else that of the next. Fills must still be there ([`Trace::fills_removed`]).
    #[must_use]
    pub fn ttls_carried_on(mut self) -> Self {
        if self.ttls().next().is_none() {
            return self;
        }
        let mut known = Figures::default();
        // By place: whether the TTL of the read is found. An entry without a TTL is found, too.
        let mut is_found = Marks::default();
        let forward = 0..self.len();
        for at in forward.clone().chain(forward.rev()) {
            let (key, own) = (self.keys[at] as usize, self.ttls.get(at));
            match self.operations[at] {
                Verb::Set => known.set(key, Some(own.unwrap_or(0))),
                Verb::Add if self.has_added(at) => known.set(key, Some(own.unwrap_or(0))),
                Verb::Get if known.get(key).is_some() && !is_found.has(at) => {
                    self.ttls.set(at, own.or(known.get(key)));
                    is_found.set(at, true);
                }
                _ => {}
            }
        }
        self
    }

    /// Whether an `add` is known to have stored its value.
    fn has_added(&self, at: usize) -> bool {
        self.has_results && !self.missed.has(at)
    }

    fn push_delete(&mut self, key: u32, time_us: u64) {
        self.keys.push(key);
        self.operations.push(Verb::Delete);
        self.times_us.push(time_us);
    }

    /// Appends an operation of another trace of the same keys.
    fn push_copy(&mut self, from: &Self, at: usize) {
        let to = self.len();
        self.keys.push(from.keys[at]);
        self.operations.push(from.operations[at]);
        self.times_us.push(from.times_us[at]);
        self.value_sizes.set(to, from.value_sizes.get(at));
        self.ttls.set(to, from.ttls.get(at));
        self.joined.set(to, from.joined.has(at));
        self.creates.set(to, from.creates.has(at));
        self.missed.set(to, from.missed.has(at));
        self.unfilled.set(to, from.unfilled.has(at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(csv: &str) -> Trace {
        Trace::read("test.csv", csv.as_bytes(), None, None).unwrap()
    }

    /// The operations as letters and keys: `g0` is a get of the first key, `d` a delete, `s` a set, `t` a touch.
    fn shown(trace: &Trace) -> String {
        let shown = trace.ops().map(|op| {
            let letter = match op.kind {
                Access::Get | Access::GetOrSet => 'g',
                Access::Set => 's',
                Access::Delete => 'd',
                Access::Touch => 't',
                Access::Incr | Access::Decr => 'i',
            };
            format!("{letter}{}", op.key)
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    fn expired(csv: &str, fills: bool) -> String {
        let (trace, _) = trace(csv).unfilled_marked().ttls_carried_on().expired(fills);
        shown(&if fills { trace.fills_removed() } else { trace })
    }

    #[test]
    fn an_entry_is_deleted_before_the_first_request_after_its_ttl() {
        let csv = "time,key,op,ttl\n0,a,set,30\n29.9,a,get,\n30,a,get,\n31,a,get,\n";
        assert_eq!(expired(csv, false), "s0 g0 d0 g0 g0");
        // With fills, the read at 30 s stores it again, until 60 s.
        let csv = "time,key,op,ttl\n0,a,get,\n0,a,set,30\n30,a,get,\n59.9,a,get,\n60,a,get,\n";
        assert_eq!(expired(csv, true), "g0 d0 g0 g0 d0 g0");
    }

    #[test]
    fn what_renews_or_replaces_an_entry_begins_its_ttl_anew() {
        let begins = "time,key,op,ttl\n0,a,set,10\n";
        for (renewal, then) in [
            ("5,a,touch,10\n", "s0 t0 g0"),
            ("5,a,gat,10\n", "s0 g0 g0"),
            ("5,a,set,10\n", "s0 s0 g0"),
            ("5,a,replace,10\n", "s0 s0 g0"),
            // The entry is there, and stays as it is.
            ("5,a,add,10\n", "s0 s0 d0 g0"),
            ("5,a,append,\n", "s0 s0 d0 g0"),
            ("5,a,get,\n", "s0 g0 d0 g0"),
            // Without a TTL it lasts.
            ("5,a,set,\n", "s0 s0 g0"),
        ] {
            let csv = format!("{begins}{renewal}12,a,get,\n");
            assert_eq!(expired(&csv, false), then, "{renewal}");
        }
        // A set that may be an update ends the old TTL, also where it is left out as a fill.
        let csv = "time,key,op,ttl\n0,a,get,\n0,a,set,10\n5,a,get,\n5,a,set,2\n8,a,get,\n";
        assert_eq!(expired(csv, true), "g0 g0 d0 g0");
        // A set replaces what has expired, and an add finds nothing.
        assert_eq!(expired("time,key,op,ttl\n0,a,set,10\n12,a,set,10\n", false), "s0 s0");
        assert_eq!(expired("time,key,op,ttl\n0,a,set,10\n12,a,add,10\n", false), "s0 d0 s0");
    }

    #[test]
    fn keys_of_one_request_stay_together() {
        let csv = "time,key,op,request,ttl\n0,a,set,0,5\n0,b,set,1,9\n6,b,get,2,\n6,a,get,2,\n";
        let (trace, n_expired) = trace(csv).expired(false);
        assert_eq!((shown(&trace).as_str(), n_expired), ("s0 s1 d0 g1 g0", 1));
        assert_eq!(trace.request_starts(), Some(vec![0, 1, 2, 3]));
    }

    #[test]
    fn a_trace_without_times_or_without_ttls_stays_as_it_is() {
        for csv in ["key,op,ttl\na,set,1\na,get,\n", "time,key,op\n0,a,set\n9,a,get\n"] {
            let trace = trace(csv);
            assert_eq!(trace.clone().expired(true), (trace, 0));
        }
    }

    #[test]
    fn a_read_fills_with_the_last_ttl_of_its_key_or_else_the_next() {
        let ttls = |csv: &str| -> Vec<_> {
            trace(csv).ttls_carried_on().fills_removed().ops().map(|op| op.ttl).collect()
        };
        let csv = "time,key,op,ttl,result\n0,a,get,,hit\n1,a,set,30,\n2,a,get,,hit\n3,a,set,,\n4,a,get,,hit\n\
                   5,a,set,7,\n6,a,get,,hit\n";
        assert_eq!(ttls(csv), [Some(30), Some(30), Some(30), None, None, Some(7), Some(7)]);
        // The second fill has no TTL, whether that is written as 0 or left out.
        for none in ["0", ""] {
            let csv = format!(
                "time,key,op,ttl\n0,a,get,\n0,a,set,5\n9,a,get,\n9,a,set,{none}\n20,a,get,\n21,a,set,7\n"
            );
            assert_eq!(ttls(&csv), [Some(5), None, Some(7)]);
            assert_eq!(expired(&csv, true), "g0 d0 g0 g0");
        }
        // A read has the TTL of the store before it, and not that of the next fill.
        let csv = "time,key,op,ttl\n3,a,set,5\n16,a,get,\n26,a,get,\n26,a,set,60\n";
        assert_eq!(expired(csv, true), "s0 d0 g0 d0 g0");
    }

    #[test]
    fn no_cache_hits_what_was_never_stored_or_is_over() {
        let csv = "time,key,op,ttl,result\n0,a,get,,miss\n1,a,get,,miss\n2,b,get,,miss\n3,b,set,10,stored\n4,b,get,,hit\n\
                   20,b,get,,miss\n21,b,set,10,stored\n22,c,get,,miss\n";
        let marked = trace(csv).unfilled_marked().ttls_carried_on();
        let trace = marked.fills_removed();
        assert_eq!((trace.n_unfilled(), trace.most_hits(true)), (3, 2));
        assert_eq!(trace.stored_keys(true), [false, true, false]);
        let (trace, n_expired) = marked.expired(true);
        let trace = trace.fills_removed();
        assert_eq!((n_expired, trace.most_hits(true)), (1, 1));
        assert_eq!((trace.n_unfilled(), trace.stats().gets), (3, 6));
    }
}
