//! One level of the sample: all uses of a share of the keys, or those of windows of time where they are too many.

use std::ops::Range;

use super::reference::Reference;

/// A full level has so many windows; the half of them stay when it is thinned.
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
    /// The reads of the whole trace during each kept window.
    reads: Vec<Range<u64>>,
    window: usize,
    /// One window of so many is kept.
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
        let n_uses = self.references.len().max(1) as u64;
        for (at, reference) in (0..).zip(&self.references) {
            if half.takes(reference.hash()) {
                let so_far = u128::from(reads) * at / u128::from(n_uses);
                half.push(reference, u64::try_from(so_far).unwrap_or(reads));
            }
        }
        half
    }

    /// Whether a key belongs to the level.
    pub(crate) fn takes(&self, hash: u64) -> bool {
        hash.leading_zeros() >= self.shift
    }

    /// Whether every use of the keys is kept.
    pub(crate) fn has_all(&self) -> bool {
        self.stride == 1
    }

    /// The windows that are left out behind each.
    pub(crate) fn left_out(&self) -> usize {
        usize::try_from(self.stride - 1).unwrap_or(usize::MAX)
    }

    /// Whether the next use would make it drop windows.
    pub(crate) fn is_full(&self) -> bool {
        self.in_window == self.window && self.reads.len() >= WINDOWS
    }

    /// Keeps a use of one of its keys, unless it is in a window that is not kept.
    #[inline]
    pub(crate) fn push(&mut self, reference: &Reference, reads: u64) {
        if self.in_window == self.window {
            self.begin_window(reads);
        }
        self.in_window += 1;
        if self.number.is_multiple_of(self.stride) {
            self.references.push(*reference);
        }
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
        if self.number.is_multiple_of(self.stride) {
            self.reads.push(reads..reads);
        }
    }

    fn end_window(&mut self, reads: u64) {
        if self.number.is_multiple_of(self.stride)
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
    }

    /// The kept windows of a trace with so many reads; a single one where every use is kept.
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
