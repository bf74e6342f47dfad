//! The most read keys of a trace of any length, in bounded memory.
//!
//! Each key has a count until the counts are too many. Then the median of them is taken away from each, and keys without
//! anything left are forgotten. So a count is never too high, and too low by no more than what was taken away from all. See
//! Misra and Gries, "Finding Repeated Elements", Science of Computer Programming 1982, and for the median Anderson and
//! others, "A High-Performance Algorithm for Identifying Frequent Items in Data Streams", IMC 2017.

use larder_report::{HotKey, Hottest};
use larder_workload::trace::Key;
use rapidhash::RapidHashMap;

use crate::curve::float;

/// The keys that are told.
const N_TOLD: usize = 20;

/// This many of the most read keys are counted again, where every operation was kept.
const N_CANDIDATES: usize = 128;

/// The most keys that are counted at the same time. With names of 50 bytes they take 20 MB.
const MOST_KEYS: usize = 1 << 17;

/// A longer name of a key is cut.
const LONGEST_NAME: usize = 256;

/// Reads by key.
#[derive(Debug)]
pub(crate) struct Counts {
    of_keys: RapidHashMap<u64, Count>,
    most_keys: usize,
    /// What was taken away from each count.
    taken: u64,
    reads: u64,
}

#[derive(Debug)]
struct Count {
    reads: u64,
    /// The key in clear.
    name: Option<Box<[u8]>>,
}

impl Counts {
    pub(crate) fn new() -> Self {
        Self::of_at_most(MOST_KEYS)
    }

    fn of_at_most(most_keys: usize) -> Self {
        Self { of_keys: RapidHashMap::default(), most_keys, taken: 0, reads: 0 }
    }

    /// Counts a read of a key, which is given with its hash.
    #[inline]
    pub(crate) fn count(&mut self, key: Key<'_>, hash: u64) {
        self.reads += 1;
        if let Some(count) = self.of_keys.get_mut(&hash) {
            count.reads += 1;
            return;
        }
        if self.of_keys.len() == self.most_keys {
            self.forget();
        }
        let name = match key {
            Key::Bytes(name) => Some(name[..name.len().min(LONGEST_NAME)].into()),
            Key::Hash(_) => None,
        };
        self.of_keys.insert(hash, Count { reads: 1, name });
    }

    #[cold]
    fn forget(&mut self) {
        let mut reads: Vec<u64> = self.of_keys.values().map(|count| count.reads).collect();
        let middle = reads.len() / 2;
        let (_, median, _) = reads.select_nth_unstable(middle);
        let median = *median;
        self.taken += median;
        self.of_keys.retain(|_, count| {
            count.reads = count.reads.saturating_sub(median);
            count.reads > 0
        });
    }

    /// The most read keys; `None` without reads. `counted` counts the reads of keys exactly, where it can.
    pub(crate) fn finish(
        mut self,
        counted: impl FnOnce(&[u64]) -> Option<Vec<u64>>,
    ) -> Option<Hottest> {
        let reads = float(self.reads);
        let order = |(hash, count): &(u64, Count)| (std::cmp::Reverse(count.reads), *hash);
        let mut keys: Vec<(u64, Count)> = self.of_keys.into_iter().collect();
        keys.sort_unstable_by_key(order);
        keys.truncate(N_CANDIDATES);
        if self.taken > 0 {
            let hashes: Vec<u64> = keys.iter().map(|(hash, _)| *hash).collect();
            let most_of_others = keys.last().map_or(0, |(_, count)| count.reads) + self.taken;
            for ((_, count), reads) in keys.iter_mut().zip(counted(&hashes).unwrap_or_default()) {
                count.reads = reads;
            }
            keys.sort_unstable_by_key(order);
            // Only then is it certain that no other key has more.
            if keys.get(N_TOLD - 1).is_some_and(|(_, count)| count.reads >= most_of_others) {
                self.taken = 0;
            }
        }
        keys.truncate(N_TOLD);
        let told = |(hash, count): (u64, Count)| HotKey {
            key: count.name.map(|name| String::from_utf8_lossy(&name).into_owned()),
            hash: hash.to_string(),
            reads: float(count.reads) / reads,
        };
        let keys: Vec<HotKey> = keys.into_iter().map(told).collect();
        (!keys.is_empty()).then(|| Hottest { keys, error: float(self.taken) / reads })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(most_keys: usize, keys: impl Iterator<Item = u64>) -> Hottest {
        let mut counts = Counts::of_at_most(most_keys);
        keys.for_each(|key| counts.count(Key::Hash(key), key));
        counts.finish(|_| None).unwrap()
    }

    /// Of 32 reads, the key 1 has 16, the key 2 has 8, and others have one each.
    fn halves(n_reads: u64) -> impl Iterator<Item = u64> {
        (0..n_reads).map(|at| match at % 4 {
            0 | 2 => 1,
            1 => 2,
            _ => 1000 + at,
        })
    }

    #[test]
    fn few_keys_are_counted_exactly_and_ties_are_told_by_hash() {
        let hottest = told(1000, halves(32));
        let shares: Vec<(&str, f64)> =
            hottest.keys.iter().map(|key| (&*key.hash, key.reads)).take(3).collect();
        assert_eq!(shares, [("1", 0.5), ("2", 0.25), ("1003", 1.0 / 32.0)]);
        assert_eq!((hottest.keys.len(), hottest.error), (10, 0.0));
    }

    #[test]
    fn of_many_keys_the_frequent_ones_are_told_within_the_error() {
        let hottest = told(100, halves(40_000));
        assert!(hottest.error > 0.0 && hottest.error < 2.0 / 100.0, "{}", hottest.error);
        for (key, hash, share) in [(0, "1", 0.5), (1, "2", 0.25)] {
            let told = &hottest.keys[key];
            assert_eq!(told.hash, hash);
            assert!(told.reads <= share && share <= told.reads + hottest.error, "{told:?}");
        }
        assert!(hottest.keys.len() <= N_TOLD);
    }

    #[test]
    fn keys_that_are_counted_again_have_no_error() {
        let mut counts = Counts::of_at_most(300);
        // 100 frequent keys, and as many reads of keys that never come again.
        let keys = || (0..40_000_u64).map(|at| if at % 2 == 0 { at / 2 % 100 } else { 1000 + at });
        keys().for_each(|key| counts.count(Key::Hash(key), key));
        let counted = |hashes: &[u64]| {
            let of = |hash: &u64| keys().filter(|key| key == hash).count() as u64;
            Some(hashes.iter().map(of).collect())
        };
        let hottest = counts.finish(counted).unwrap();
        assert!(hottest.error <= 0.0, "{hottest:?}");
        assert!(hottest.keys.iter().all(|key| (key.reads - 0.005).abs() < 1e-12), "{hottest:?}");
    }

    #[test]
    fn a_key_in_clear_has_its_name_and_a_long_one_the_beginning_of_it() {
        let mut counts = Counts::new();
        let long = [b'x'; 1000];
        for (name, hash) in [(&b"user:7"[..], 1), (b"user:7", 1), (&long, 2), (b"\xff", 3)] {
            counts.count(Key::Bytes(name), hash);
        }
        let hottest = counts.finish(|_| None).unwrap();
        let names: Vec<&str> = hottest.keys.iter().filter_map(|it| it.key.as_deref()).collect();
        assert_eq!(names, ["user:7", &"x".repeat(256), "\u{fffd}"]);
        assert_eq!(Counts::new().finish(|_| None), None);
    }
}
