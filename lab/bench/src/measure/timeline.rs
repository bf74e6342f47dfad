//! The course of a phase: operations, and the slowest of them, in bins of equal length from the start of the phase.
//!
//! The length of a phase is not known beforehand, and the measured loop may not allocate or divide. So there is a
//! fixed number of bins whose length is a power of two of nanoseconds. After the last bin, neighbours are merged and
//! the length doubles. Sums and maxima stay exact, and a phase ends with 17 to 32 bins unless it was over in a few
//! microseconds.
//!
//! The axis is the time that stands behind the rate. A single thread stops its clock while it draws, and this axis
//! with it. Several threads keep it running from the instant at which the first of them began, so that all have the
//! same bins. Either way the bins add up to the time of the phase. The operations of a mix share that time: the
//! `wall_s` of their samples add up to it, too.

use larder_report::Timeline;

/// Bins at most. A power of two, so that a place among them is found without a branch.
const BINS: usize = 32;
/// The first bins last about a microsecond: 2^10 nanoseconds.
const SHORTEST: u32 = 10;

/// The operations that ended in each bin so far.
#[derive(Debug, Clone)]
pub(super) struct Bins {
    /// A bin lasts 2^this nanoseconds.
    shift: u32,
    /// All bins, without the operations that are still in `open`.
    done: [Bin; BINS],
    /// The bin that time has reached, and when that bin ends.
    place: usize,
    end: u64,
    /// The latest operations of that bin: an operation touches nothing else.
    open: Bin,
}

#[derive(Debug, Clone, Copy, Default)]
struct Bin {
    ops: u64,
    max_ns: u64,
}

impl Bin {
    #[inline]
    fn add(&mut self, other: Self) {
        self.ops += other.ops;
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

impl Bins {
    pub(super) fn new() -> Self {
        Self {
            shift: SHORTEST,
            done: [Bin::default(); BINS],
            place: 0,
            end: 1 << SHORTEST,
            open: Bin::default(),
        }
    }

    /// Records operations that took `ns` and ended at `at`, in nanoseconds from the start of the phase and not before
    /// earlier operations. Failed operations count, too: a stall must not vanish because it ended in an error.
    #[inline]
    pub(super) fn record(&mut self, at: u64, ops: u64, ns: u64) {
        if at >= self.end {
            self.reach(at);
        }
        self.open.add(Bin { ops, max_ns: ns });
    }

    /// Goes on to the bin of this instant, which is not before the present one.
    #[cold]
    fn reach(&mut self, at: u64) {
        self.done[self.place].add(std::mem::take(&mut self.open));
        while at >> self.shift >= BINS as u64 {
            self.double();
        }
        self.place = usize::try_from(at >> self.shift).unwrap_or(BINS - 1);
        self.end = (self.place as u64 + 1) << self.shift;
    }

    fn double(&mut self) {
        let before = std::mem::take(&mut self.done);
        for (n, bin) in before.into_iter().enumerate() {
            self.done[n / 2].add(bin);
        }
        self.shift += 1;
    }

    /// Adds the bins of another thread, which begin at the same instant.
    pub(super) fn merge(&mut self, other: &Self) {
        // The length of bins follows from how far they reach, so at the same instant both have the same length.
        let mut other = other.clone();
        let begin = |bins: &Self| (bins.place as u64) << bins.shift;
        let at = begin(self).max(begin(&other));
        self.reach(at);
        other.reach(at);
        for (bin, added) in self.done.iter_mut().zip(other.done) {
            bin.add(added);
        }
    }

    /// These bins on an axis that begins so long before. Operations of a bin count where the bin begins.
    pub(super) fn later(&self, ns: u64) -> Self {
        let mut later = Self::new();
        let open = std::iter::once((self.place, self.open));
        for (place, bin) in self.done[..=self.place].iter().copied().enumerate().chain(open) {
            later.record(ns.saturating_add((place as u64) << self.shift), bin.ops, bin.max_ns);
        }
        later
    }

    /// The bins of a phase that lasted `wall_ns`; the last bin ends with the phase.
    pub(super) fn timeline(mut self, wall_ns: u64) -> Timeline {
        self.reach(wall_ns);
        let lasted = &self.done[..=self.place];
        let (ops, max_ns) = lasted.iter().map(|bin| (bin.ops, bin.max_ns)).unzip();
        Timeline { bin_ns: 1 << self.shift, ops, max_ns }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Operations one after the other, from nanoseconds to minutes, as instants of their ends and how long they took.
    fn operations() -> impl Strategy<Value = Vec<(u64, u64)>> {
        let took = (0_u32..37).prop_flat_map(|power| 0..=1_u64 << power);
        prop::collection::vec(took, 0..200).prop_map(|took| {
            let ends = took.iter().scan(0, |at, ns| {
                *at += ns;
                Some(*at)
            });
            ends.zip(took.iter().copied()).collect()
        })
    }

    fn recorded(operations: &[(u64, u64)]) -> Bins {
        let mut bins = Bins::new();
        for (at, ns) in operations {
            bins.record(*at, 1, *ns);
        }
        bins
    }

    /// The expected timeline, counted again for each bin.
    fn expected(bin_ns: u64, wall_ns: u64, operations: &[(u64, u64)]) -> (Vec<u64>, Vec<u64>) {
        let of = |bin| operations.iter().filter(move |(at, _)| at / bin_ns == bin);
        (0..=wall_ns / bin_ns)
            .map(|bin| (of(bin).count() as u64, of(bin).map(|(_, ns)| *ns).max().unwrap_or(0)))
            .unzip()
    }

    proptest! {
        #[test]
        fn bins_keep_every_sum_and_maximum_and_cover_the_phase(
            threads in prop::collection::vec(operations(), 1..5),
            idle in 0_u64..1_000_000_000,
        ) {
            let all = threads.concat();
            let wall_ns = all.iter().map(|(at, _)| *at).max().unwrap_or(0) + idle;
            let slowest = all.iter().map(|(_, ns)| *ns).max().unwrap_or(0);
            let mut merged = Bins::new();
            for thread in &threads {
                merged.merge(&recorded(thread));
            }
            let Timeline { bin_ns, ops, max_ns } = merged.timeline(wall_ns);

            prop_assert_eq!(ops.iter().sum::<u64>(), all.len() as u64);
            prop_assert_eq!(max_ns.iter().max(), Some(&slowest));
            let bins = ops.len() as u64;
            prop_assert!((bins - 1) * bin_ns <= wall_ns && wall_ns < bins * bin_ns);
            prop_assert!(bins <= 32 && (bins > 16 || bin_ns == 1 << SHORTEST), "{bins}");
            prop_assert_eq!((ops, max_ns), expected(bin_ns, wall_ns, &all));
        }
    }

    #[test]
    fn the_order_in_which_threads_are_added_makes_no_difference() {
        let (short, long) = (recorded(&[(900, 900), (1100, 200)]), recorded(&[(5_000_000, 7)]));
        let merged = |a: &Bins, b: &Bins| {
            let mut merged = a.clone();
            merged.merge(b);
            merged.timeline(5_000_000)
        };
        assert_eq!(merged(&short, &long), merged(&long, &short));
    }
}
