//! What a replay needs of each operation: its request, the size of its value, and its TTL.

use super::Trace;
use super::column::Figures;
use super::row::Verb;
use crate::Access;

impl Trace {
    /// The place of the first operation of each request; `None` where every request has one operation.
    pub fn request_starts(&self) -> Option<Vec<u32>> {
        if self.joined.is_empty() {
            return None;
        }
        let starts = (0..self.len()).filter(|at| !self.joined.has(*at));
        Some(starts.filter_map(|at| u32::try_from(at).ok()).collect())
    }

    /// The most keys of a request.
    pub fn longest_request(&self) -> usize {
        let mut longest = 1;
        let mut keys = 1;
        for at in 0..self.len() {
            keys = if self.joined.has(at) { keys + 1 } else { 1 };
            longest = longest.max(keys);
        }
        longest
    }

    /// The trace in which each operation has the size that its key had then, as far as the trace tells. An operation
    /// without a size takes the last size before it, or else the next. A part that is added to a value makes it longer.
    #[must_use]
    pub fn sizes_carried_on(mut self) -> Self {
        let mut known = Figures::default();
        let forward = 0..self.len();
        for (nth, at) in forward.clone().chain(forward.rev()).enumerate() {
            let key = self.keys[at] as usize;
            let verb = self.operations[at];
            if matches!(verb.access(), Access::Delete | Access::Touch) {
                continue;
            }
            let own = self.value_sizes.get(at);
            let is_part = matches!(verb, Verb::Append | Verb::Prepend) && nth < self.len();
            let size = match own.filter(|_| is_part) {
                Some(part) => Some(part.saturating_add(known.get(key).unwrap_or(0))),
                None => own.or(known.get(key)),
            };
            known.set(key, size);
            self.value_sizes.set(at, size);
        }
        self
    }

    /// For each key the largest of its sizes, where it has several; otherwise 0.
    pub fn largest_of_several(&self) -> Vec<u32> {
        let first = self.first_value_sizes();
        let mut largest = vec![0; first.len()];
        let mut differs = vec![false; first.len()];
        for op in self.ops() {
            if matches!(op.kind, Access::Get | Access::Set)
                && let Some(size) = op.value_size
            {
                let key = op.key as usize;
                largest[key] = size.max(largest[key]);
                differs[key] |= first[key] != Some(size);
            }
        }
        largest.iter_mut().zip(differs).for_each(|(size, differs)| *size *= u32::from(differs));
        largest
    }

    /// The recorded TTLs in seconds, of operations that a replay gives one.
    pub fn ttls(&self) -> impl Iterator<Item = u32> + '_ {
        let renews = |kind: Access| {
            kind.counts() || matches!(kind, Access::Set | Access::Get | Access::Touch)
        };
        self.ops().filter(move |op| renews(op.kind)).filter_map(|op| op.ttl)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(csv: &str) -> Trace {
        Trace::read("test.csv", csv.as_bytes(), None, None).unwrap()
    }

    #[test]
    fn reads_of_one_request_are_joined_and_nothing_else_is() {
        let csv = "key,op,request\na,get,0\nb,gat,0\nc,set,1\nd,set,1\na,get,1\nb,get,2\nc,get,2\nd,get,2\na,get,3\n";
        let trace = trace(csv);
        assert_eq!(trace.request_starts(), Some(vec![0, 2, 3, 4, 5, 8]));
        assert_eq!((trace.longest_request(), trace.stats().joined_gets), (3, 5));
        let alone = self::trace("key\na\na\nb\n");
        assert_eq!((alone.request_starts(), alone.longest_request()), (None, 1));
        // A fill between two requests is left out, and the requests stay what they were.
        let filled = self::trace("key,op,request\na,get,0\nb,get,0\na,set,1\nc,get,2\nd,get,2\n");
        assert_eq!(filled.fills_removed().request_starts(), Some(vec![0, 2]));
    }

    #[test]
    fn an_operation_without_a_size_has_the_last_one_of_its_key_or_else_the_next() {
        let csv = "key,op,size\na,get,\na,set,5\na,get,\na,delete,\na,set,9\nb,get,\na,get,\n";
        let trace = trace(csv).sizes_carried_on();
        let sizes: Vec<_> = trace.ops().map(|op| op.value_size).collect();
        assert_eq!(sizes, [Some(5), Some(5), Some(5), None, Some(9), None, Some(9)]);
        assert_eq!(trace.largest_of_several(), [9, 0]);
        let parts = self::trace("key,op,size\na,set,5\na,append,3\na,prepend,1\na,get,\n");
        let sizes: Vec<_> = parts.sizes_carried_on().ops().map(|op| op.value_size).collect();
        assert_eq!(sizes, [Some(5), Some(8), Some(9), Some(9)]);
    }

    #[test]
    fn only_what_stores_or_renews_has_a_ttl() {
        let trace = trace("key,op,ttl\na,set,60\na,delete,5\na,touch,7\na,set,0\n");
        assert_eq!(trace.ttls().collect::<Vec<_>>(), [60, 7]);
    }
}
