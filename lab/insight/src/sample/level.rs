//! One level of the sample: all uses of a share of the keys, or those of windows of time where they are too many.
//!
//! A use that is repeated at once is kept once, with the number of its repetitions. One row of a trace may stand for millions of
//! operations, and without this a few such rows would fill every level with one key.

use std::ops::Range;

use rapidhash::RapidHashMap;

use super::reference::Reference;

/// A full level has this many windows; the half of them stay when it is thinned.
pub(crate) const WINDOWS: usize = 16;

/// Uses of the keys whose hash begins with `shift` zero bits: one key of 2^shift.
///
/// At first every use is kept. A level that is full drops every second of its windows, and from then on keeps only each
/// second, fourth, eighth … window. So it always has the uses of windows of equal length, spread evenly over the trace,
/// the first of them at its beginning.
#[derive(Debug)]
pub(crate) struct Level {
    pub(crate) shift: u32,
    pub(crate) references: Vec<Reference>,
    /// The repeated uses by their places, rising, each with the number of its repetitions.
    repeated: Vec<(u32, u32)>,
    /// The latest use, whether its window is kept or not.
    latest: Option<Reference>,
    /// The reads of the whole trace during each kept window.
    reads: Vec<Range<u64>>,
    window: usize,
    /// One window of this many is kept.
    stride: u64,
    /// The number of the present window, and the uses in it so far.
    number: u64,
    in_window: usize,
}

/// A window of a level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Window {
    /// Its uses among those of the level.
    pub(crate) uses: Range<usize>,
    /// The reads of the whole trace meanwhile.
    pub(crate) reads: Range<u64>,
}

impl Level {
    /// An empty level that keeps at most `most` uses.
    pub(crate) fn new(shift: u32, most: usize) -> Self {
        let window = (most / WINDOWS).max(1);
        Self {
            shift,
            references: Vec::new(),
            repeated: Vec::new(),
            latest: None,
            reads: Vec::new(),
            window,
            stride: 1,
            number: 0,
            in_window: window,
        }
    }

    /// The level of half of the keys, while this one still has every use. `reads` are those of the trace so far.
    pub(crate) fn halved(&self, reads: u64) -> Self {
        let mut half = Self::new(self.shift + 1, self.window * WINDOWS);
        let n_uses = self.n_uses().max(1);
        let mut before = 0;
        for (reference, more) in self.uses() {
            if half.takes(reference.hash()) {
                let so_far = u128::from(reads) * u128::from(before) / u128::from(n_uses);
                half.push(reference, u64::try_from(so_far).unwrap_or(reads));
                half.repeat(more);
            }
            before += u64::from(more) + 1;
        }
        half
    }

    /// The kept uses, each with the number of its repetitions.
    pub(crate) fn uses(&self) -> impl Iterator<Item = (&Reference, u32)> {
        let mut repeated = self.repeated.iter().peekable();
        self.references.iter().enumerate().map(move |(at, reference)| {
            let more = repeated.next_if(|(place, _)| *place as usize == at);
            (reference, more.map_or(0, |(_, more)| *more))
        })
    }

    /// The number of the kept uses, repetitions included.
    pub(crate) fn n_uses(&self) -> u64 {
        let repetitions: u64 = self.repeated.iter().map(|(_, more)| u64::from(*more)).sum();
        self.references.len() as u64 + repetitions
    }

    /// Whether a key belongs to the level.
    pub(crate) fn takes(&self, hash: u64) -> bool {
        hash.leading_zeros() >= self.shift
    }

    /// The reads among the kept uses of each of some keys, which are given by their hashes.
    pub(crate) fn reads_of(&self, hashes: impl Iterator<Item = u64>) -> Vec<u64> {
        let hashes: Vec<u64> = hashes.map(Reference::kept_hash).collect();
        let mut reads: RapidHashMap<u64, u64> = hashes.iter().map(|hash| (*hash, 0)).collect();
        for (reference, more) in self.uses().filter(|(reference, _)| reference.kind().reads()) {
            if let Some(reads) = reads.get_mut(&reference.hash()) {
                *reads += u64::from(more) + 1;
            }
        }
        hashes.iter().map(|hash| reads[hash]).collect()
    }

    /// Whether every use of the keys is kept.
    pub(crate) fn has_all(&self) -> bool {
        self.stride == 1
    }

    /// The windows that are left out behind each.
    pub(crate) fn left_out(&self) -> usize {
        usize::try_from(self.stride - 1).unwrap_or(usize::MAX)
    }

    /// Whether the next use would make it drop windows, unless it repeats the latest one.
    pub(crate) fn is_full(&self) -> bool {
        self.in_window == self.window && self.reads.len() >= WINDOWS
    }

    /// Whether a use is the latest one again.
    pub(crate) fn is_repeated_by(&self, reference: &Reference) -> bool {
        self.latest.as_ref() == Some(reference)
    }

    /// Keeps a use of one of its keys, unless it is in a window that is not kept.
    #[inline]
    pub(crate) fn push(&mut self, reference: &Reference, reads: u64) {
        if self.is_repeated_by(reference) && self.repeat(1) {
            return;
        }
        self.latest = Some(*reference);
        if self.in_window == self.window {
            self.begin_window(reads);
        }
        self.in_window += 1;
        if self.keeps_window() {
            self.references.push(*reference);
        }
    }

    /// Counts this many repetitions of the latest use; false where they are more than can be counted.
    fn repeat(&mut self, times: u32) -> bool {
        if times == 0 || !self.keeps_window() {
            return true;
        }
        let Ok(place) = u32::try_from(self.references.len() - 1) else { return false };
        let latest = self.repeated.last_mut().filter(|(known, _)| *known == place);
        let Some((_, more)) = latest else {
            self.repeated.push((place, times));
            return true;
        };
        let sum = more.checked_add(times);
        *more = sum.unwrap_or(*more);
        sum.is_some()
    }

    /// Whether the present window is one of those that are kept.
    fn keeps_window(&self) -> bool {
        self.number.is_multiple_of(self.stride)
    }

    #[cold]
    fn begin_window(&mut self, reads: u64) {
        self.end_window(reads);
        if self.is_full() {
            self.thin();
        }
        if !self.references.is_empty() {
            self.number += 1;
        }
        self.in_window = 0;
        if self.keeps_window() {
            self.reads.push(reads..reads);
        }
    }

    fn end_window(&mut self, reads: u64) {
        if self.keeps_window()
            && let Some(last) = self.reads.last_mut()
        {
            last.end = reads;
        }
    }

    /// Drops every second window.
    fn thin(&mut self) {
        self.stride *= 2;
        let window = self.window;
        for kept in 1..self.reads.len().div_ceil(2) {
            self.references.copy_within(2 * kept * window..(2 * kept + 1) * window, kept * window);
            self.reads.swap(kept, 2 * kept);
        }
        self.reads.truncate(self.reads.len().div_ceil(2));
        self.references.truncate(self.reads.len() * window);
        self.repeated.retain_mut(|(place, _)| {
            let (number, within) = (*place as usize / window, *place as usize % window);
            *place = u32::try_from(number / 2 * window + within).unwrap_or(u32::MAX);
            number.is_multiple_of(2)
        });
    }

    /// The kept windows of a trace with this many reads; a single one where every use is kept.
    pub(crate) fn windows(&mut self, reads: u64) -> Vec<Window> {
        self.end_window(reads);
        if self.has_all() {
            return vec![Window { uses: 0..self.references.len(), reads: 0..reads }];
        }
        let ends = |begin: usize| (begin + self.window).min(self.references.len());
        let uses = (0..).step_by(self.window).map(|begin| begin..ends(begin));
        uses.zip(&self.reads).map(|(uses, reads)| Window { uses, reads: reads.clone() }).collect()
    }
}
