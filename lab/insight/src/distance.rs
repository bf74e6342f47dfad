//! Reuse distances: how much else is used between two uses of a key. They are the capacities that an LRU needs.
//!
//! A key that is used counts at the place of its latest use. So the keys used since some place are those that count
//! behind it, and a tree of sums tells their number in the logarithm of the places (Bennett and Kruskal, "LRU Stack
//! Processing", IBM Journal of Research and Development 1975).
//!
//! A key that is removed counts no more. The room that it leaves in a real LRU stays empty until the next key comes, so
//! the capacity that a later read needs may be a little larger than its distance.

use crate::step::{Step, Use};

/// The distance of a read from the latest use of its key: the different keys used since then, its own included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Distance {
    pub(crate) keys: u64,
    pub(crate) bytes: u64,
}

/// The distance of each read, in order; `None` of a read of a key that is not there: it was never used, or removed.
pub(crate) fn distances(steps: &[Step], n_keys: usize) -> Vec<Option<Distance>> {
    let mut latest: Vec<Option<(usize, u32)>> = vec![None; n_keys];
    let mut counts = Sums::new(steps.len());
    let mut bytes = Sums::new(steps.len());
    let mut distances = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let place = &mut latest[step.key as usize];
        let before = place.take();
        if step.usage.reads() {
            distances.push(
                before.map(|(place, _)| Distance {
                    keys: counts.from(place),
                    bytes: bytes.from(place),
                }),
            );
        }
        if let Some((place, size)) = before {
            counts.add(place, -1);
            bytes.add(place, -i64::from(size));
        }
        let at = match step.usage {
            Use::Read | Use::Found | Use::Write | Use::Add => Some(at),
            Use::Look | Use::Change | Use::Renew => before.map(|_| at),
            // It is no use, so the key stays where it is.
            Use::Fill => before.map(|(place, _)| place),
            Use::Drop => None,
        };
        if let Some(at) = at {
            *place = Some((at, step.size));
            counts.add(at, 1);
            bytes.add(at, step.size.into());
        }
    }
    distances
}

/// Numbers at places, and the sums of those from a place on.
struct Sums {
    tree: Vec<i64>,
    all: i64,
}

impl Sums {
    fn new(places: usize) -> Self {
        Self { tree: vec![0; places + 1], all: 0 }
    }

    fn add(&mut self, place: usize, number: i64) {
        self.all += number;
        let mut node = place + 1;
        while node < self.tree.len() {
            self.tree[node] += number;
            node += node & node.wrapping_neg();
        }
    }

    /// The sum of the numbers at this place and behind it.
    fn from(&self, place: usize) -> u64 {
        let mut before = 0;
        let mut node = place;
        while node > 0 {
            before += self.tree[node];
            node -= node & node.wrapping_neg();
        }
        u64::try_from(self.all - before).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use larder_report::MeasuredIn;
    use proptest::collection::vec;
    use proptest::prelude::{Just, Strategy, prop_oneof};
    use proptest::{prop_assert_eq, proptest};

    use super::*;
    use crate::policy::Lru;
    use crate::simulate::Cache;

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let usage = prop_oneof![8 => Just(Use::Read), 2 => Just(Use::Write)];
        let step = |(key, usage)| Step { key, size: key % 5 + 1, usage, ..Step::default() };
        vec((0_u32..12, usage).prop_map(step), 0..200)
    }

    proptest! {
        #[test]
        fn a_read_hits_in_an_lru_as_large_as_its_distance_and_in_no_smaller(
            steps in steps(), entries in 1_u64..14, bytes in 5_u64..50,
        ) {
            let distances = distances(&steps, 12);
            let hits = |capacity, measure| -> Vec<bool> {
                let mut cache = Cache::<Lru>::new(capacity, measure, 12, false);
                steps.iter().filter_map(|step| cache.step(step)).collect()
            };
            let within = |is_in: &dyn Fn(Distance) -> bool| -> Vec<bool> {
                distances.iter().map(|distance| distance.is_some_and(is_in)).collect()
            };
            prop_assert_eq!(hits(entries, MeasuredIn::Entries), within(&|it| it.keys <= entries));
            prop_assert_eq!(hits(bytes, MeasuredIn::Bytes), within(&|it| it.bytes <= bytes));
        }
    }

    #[test]
    fn a_removed_key_counts_no_more_and_has_no_distance() {
        let of = |key, usage| Step { key, size: 1, usage, ..Step::default() };
        let [a, b] = [0, 1].map(|key| of(key, Use::Read));
        let distances = distances(&[a, b, of(1, Use::Drop), a, b], 2);
        let keys: Vec<Option<u64>> =
            distances.iter().map(|distance| distance.map(|distance| distance.keys)).collect();
        assert_eq!(keys, [None, None, Some(1), None]);
    }

    #[test]
    fn the_key_itself_is_counted_and_others_once() {
        let read = |key| Step { key, size: 10, ..Step::default() };
        let distances = distances(&[read(0), read(1), read(1), read(2), read(0)], 3);
        let keys: Vec<Option<u64>> =
            distances.iter().map(|distance| distance.map(|distance| distance.keys)).collect();
        assert_eq!(keys, [None, None, Some(1), None, Some(3)]);
        assert_eq!(distances[4], Some(Distance { keys: 3, bytes: 30 }));
    }
}
