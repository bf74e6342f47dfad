//! How the reads are spread over the keys.
//!
//! The last level of the sample has every read of its keys, so their counts are fair, but it hardly has one of the ten
//! most read keys. These are taken from the levels before, which have more keys for a part of the time.

use larder_report::{Estimate, Popularity, Zipf};

use crate::curve::{float, of_traffic, share};
use crate::sample::{Level, Reference};
use crate::zipf;

/// A rank is read from the last level in which this many keys have a better one.
const LEAST_BEFORE: f64 = 32.0;

/// The most reads that stand in the free bits of a kept hash.
const MOST_MARKED: u64 = Reference::FREE_BITS;

/// The shares of the keys for which the share of the reads is told.
const TOPS: [f64; 4] = [0.001, 0.01, 0.1, 0.2];

/// The reads of each key of a level.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Counts {
    /// Falling; keys that were never read have 0.
    pub(crate) reads: Vec<u32>,
    /// The share of all keys that the level has.
    pub(crate) keys: f64,
    /// The reads of the whole traffic meanwhile.
    pub(crate) of_reads: u64,
}

impl Counts {
    /// Counts the reads of a level, which has the share `recorded` of its keys.
    pub(crate) fn of(level: &mut Level, reads: u64, recorded: f64) -> Self {
        let windows = level.windows(reads);
        let of_reads = windows.iter().map(|window| window.reads.end - window.reads.start).sum();
        let of_reads = of_traffic(of_reads, recorded);
        let mut marked: Vec<u64> = Vec::with_capacity(level.references.len());
        for (reference, more) in level.uses() {
            // The low bits of a kept hash are free for the number of reads; a larger one is written in parts.
            let mut reads = if reference.kind().reads() { u64::from(more) + 1 } else { 0 };
            while reads > MOST_MARKED {
                marked.push(reference.hash() | MOST_MARKED);
                reads -= MOST_MARKED;
            }
            marked.push(reference.hash() | reads);
        }
        marked.sort_unstable();
        let count = |same: &[u64]| {
            let reads: u64 = same.iter().map(|marked| marked & MOST_MARKED).sum();
            u32::try_from(reads).unwrap_or(u32::MAX)
        };
        let of_one_key = |one: &u64, other: &u64| one | MOST_MARKED == other | MOST_MARKED;
        let mut reads: Vec<u32> = marked.chunk_by(of_one_key).map(count).collect();
        reads.sort_unstable_by(|one, other| other.cmp(one));
        Self { reads, keys: share(level.shift) * recorded, of_reads }
    }

    /// The share of the reads that the key of a rank has; `None` where the level has no such key.
    fn at(&self, rank: u64) -> Option<f64> {
        let reads = *self.reads.get(place(float(rank) * self.keys))?;
        (reads > 0).then(|| f64::from(reads) / float(self.of_reads.max(1)))
    }
}

/// The place of the key at this many keys from the first.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in a list")]
fn place(keys: f64) -> usize {
    (keys - 0.5).max(0.0) as usize
}

/// What the counts of all levels tell; the last is that with all reads of its keys. `None` without reads.
pub(crate) fn popularity(levels: &[Counts]) -> Option<Popularity> {
    let last = levels.last()?;
    let read: Vec<u32> = last.reads.iter().copied().take_while(|reads| *reads > 0).collect();
    if read.is_empty() {
        return None;
    }
    let ranks = ranks(levels, float(read.len() as u64) / last.keys);
    let once = read.iter().filter(|reads| **reads == 1).count();
    let expected = float(last.of_reads) * last.keys;
    let n_keys = last.reads.len();
    Some(Popularity {
        zipf: zipf::fit(&read).map(|fit| law(fit, last, &ranks)),
        top: TOPS
            .iter()
            .filter_map(|top| Some((*top, top_share(&read, *top, expected)?)))
            .collect(),
        read_once: share_of(once, read.len(), last.keys),
        reads_of_once: float(once as u64) / expected,
        bytes_of_once: None,
        never_read: share_of(n_keys - read.len(), n_keys, last.keys),
        ranks,
    })
}

/// Ranks 1, 2, 5, 10 … with the share of the reads of each.
fn ranks(levels: &[Counts], n_keys: f64) -> Vec<(u64, f64)> {
    let series = (0..18).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)));
    let series = series.take_while(|rank| float(*rank) <= n_keys.max(1.0));
    let level_of = |rank: u64| {
        let has = |level: &&Counts| float(rank) * level.keys >= LEAST_BEFORE;
        levels.iter().rev().find(has).unwrap_or(&levels[0])
    };
    let mut ranks: Vec<(u64, f64)> =
        series.filter_map(|rank| Some((rank, level_of(rank).at(rank)?))).collect();
    // Two levels may differ by chance where one takes over; a better rank never has fewer reads.
    for at in (1..ranks.len()).rev() {
        ranks[at - 1].1 = ranks[at - 1].1.max(ranks[at].1);
    }
    ranks
}

/// The share of the reads of the most read keys; `None` where they are less than one. A sample may have too many reads of
/// the most read keys or too few, but hardly of the others: so theirs are counted.
fn top_share(read: &[u32], top: f64, expected: f64) -> Option<f64> {
    let n_top = place(float(read.len() as u64) * top + 0.5);
    let others: u64 = read[n_top..].iter().map(|reads| u64::from(*reads)).sum();
    (n_top > 0).then(|| (1.0 - float(others) / expected).max(0.0))
}

/// A share of the keys, with the error of a sample of them.
fn share_of(some: usize, all: usize, keys: f64) -> Estimate {
    let n = float(all as u64).max(1.0);
    let part = float(some as u64) / n;
    let error = (part * (1.0 - part) / n * (1.0 - keys).max(0.0)).sqrt();
    Estimate::within(part, 1.96 * error)
}

fn law(fit: zipf::Fit, last: &Counts, ranks: &[(u64, f64)]) -> Zipf {
    // The counts of all keys are the trace's own, but another hour of the same traffic would have others.
    let exponent = Estimate::within(fit.exponent, 1.96 * fit.error);
    let least = f64::from(fit.least) / float(last.of_reads.max(1));
    let drawn: Vec<(f64, f64)> = ranks
        .iter()
        .filter(|(_, share)| *share >= least)
        .map(|(rank, share)| (float(*rank).ln(), share.ln()))
        .collect();
    Zipf {
        exponent,
        least_reads: fit.least,
        keys: fit.keys,
        distance: fit.distance,
        r_squared: r_squared(&drawn),
    }
}

/// How much of the points a straight line explains; `None` of fewer than three.
fn r_squared(points: &[(f64, f64)]) -> Option<f64> {
    if points.len() < 3 {
        return None;
    }
    let n = float(points.len() as u64);
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        points.iter().map(|point| of(point.0 - x, point.1 - y)).sum()
    };
    let (xx, yy, xy) = (sum(&|x, _| x * x), sum(&|_, y| y * y), sum(&|x, y| x * y));
    (xx > 0.0 && yy > 0.0).then(|| xy * xy / xx / yy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(reads: &[u32], keys: f64, of_reads: u64) -> Counts {
        Counts { reads: reads.to_vec(), keys, of_reads }
    }

    #[test]
    fn a_whole_trace_tells_its_ranks_and_shares_exactly() {
        let told = popularity(&[counts(&[50, 30, 10, 6, 2, 1, 1, 0, 0, 0], 1.0, 100)]).unwrap();
        assert_eq!(told.ranks, [(1, 0.5), (2, 0.3), (5, 0.02)]);
        assert_eq!(told.read_once, Estimate::exact(2.0 / 7.0));
        assert!((told.reads_of_once - 0.02).abs() < 1e-12);
        assert_eq!(told.never_read, Estimate::exact(0.3));
        let [(top, share)] = told.top[..] else { panic!("{:?}", told.top) };
        assert!((top - 0.2).abs() < 1e-12 && (share - 0.5).abs() < 1e-12, "one key of seven");
    }

    #[test]
    fn the_first_ranks_come_from_a_level_with_all_keys() {
        let head: Vec<u32> = (1..=1000).map(|rank| 10_000 / rank).collect();
        let tail: Vec<u32> = (1..=100).map(|rank| 1000 / rank).collect();
        let levels = [counts(&head, 1.0, 100_000), counts(&tail, 0.1, 1_000_000)];
        let told = popularity(&levels).unwrap();
        let at = |rank| told.ranks.iter().find(|(known, _)| *known == rank).unwrap().1;
        assert!((at(1) - 0.1).abs() < 1e-9 && (at(100) - 0.001).abs() < 1e-9);
        // The fiftieth of the last level, as it has one of ten keys.
        assert!((at(500) - 20.0 / 1e6).abs() < 1e-9, "{}", at(500));
        assert!(told.read_once.ci95.is_none() || told.read_once.value > 0.0);
    }

    #[test]
    fn writes_alone_have_no_popularity() {
        assert_eq!(popularity(&[counts(&[0, 0], 1.0, 0)]), None);
        assert_eq!(popularity(&[]), None);
    }
}
