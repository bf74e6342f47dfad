//! The keys that `incr` and `decr` count: a replay stores numbers under them, so that the store's own counter works.

use super::Trace;
use super::column::Marks;
use super::row::Verb;

impl Trace {
    /// Whether some operation counts a key. Everything that a replay stores under it is a number.
    #[inline]
    pub fn is_counter(&self, key: u32) -> bool {
        self.counters.has(key as usize)
    }

    /// The number of keys that are counted.
    pub fn n_counters(&self) -> u64 {
        self.counters.count()
    }

    /// The keys that are counted.
    pub(crate) fn counters(&self) -> &Marks {
        &self.counters
    }

    /// The trace with `replace` in place of `incr` and `decr`, for programs that cannot count. Where an absent key got a
    /// number, a value is stored in any case.
    #[must_use]
    pub fn without_counts(mut self) -> Self {
        for verb in &mut self.operations {
            if matches!(verb, Verb::Incr | Verb::Decr) {
                *verb = Verb::Replace;
            }
        }
        self.counters = Marks::default();
        self
    }
}

#[cfg(test)]
mod tests {
    use crate::trace::Trace;
    use crate::{Access, Condition};

    #[test]
    fn counted_keys_have_numbers_and_may_be_replayed_without() {
        let csv =
            "key,op,size,ttl\na,set,700,\nb,set,50,\nb,get,60,\na,incr,,\na,get,3,\nc,decr,,0\n";
        let trace = Trace::read("test.csv", csv.as_bytes(), None, None).unwrap();
        let (kinds, sizes): (Vec<_>, Vec<_>) =
            trace.ops().map(|op| (op.kind, op.value_size)).unzip();
        let (get, set) = (Access::Get, Access::Set);
        assert_eq!(kinds, [set, set, get, Access::Incr, get, Access::Decr]);
        assert_eq!(sizes, [None, Some(50), Some(60), None, None, None]);
        assert_eq!(trace.first_value_sizes(), [Some(19), Some(50), Some(19)]);
        assert_eq!((trace.n_counters(), trace.stats().counts, trace.stats().sets), (2, 2, 2));
        assert_eq!(trace.op(3).condition, Some(Condition::Present));
        // The key gets a number where it is absent.
        assert_eq!(trace.op(5).condition, None);

        let replaced = trace.without_counts();
        assert_eq!((replaced.n_counters(), replaced.stats().sets), (0, 4));
        assert_eq!(replaced.first_value_sizes(), [Some(700), Some(50), None]);
        let conditions: Vec<_> = replaced.ops().map(|op| op.condition).collect();
        assert_eq!(conditions, [None, None, None, Some(Condition::Present), None, None]);
    }
}
