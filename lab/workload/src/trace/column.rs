//! A column of numbers, some or all of which may be missing.

/// Numbers by place. A column without any number takes no memory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Figures(Vec<u32>);

/// Marks a missing number.
const MISSING: u32 = u32::MAX;

impl Figures {
    /// The number at a place, where there is one.
    #[inline]
    pub(super) fn get(&self, at: usize) -> Option<u32> {
        self.0.get(at).copied().filter(|&number| number != MISSING)
    }

    /// Sets the number at a place. The largest of all becomes the one before it.
    pub(super) fn set(&mut self, at: usize, number: Option<u32>) {
        if number.is_none() && at >= self.0.len() {
            return;
        }
        if at >= self.0.len() {
            self.0.resize(at + 1, MISSING);
        }
        self.0[at] = number.map_or(MISSING, |number| number.min(MISSING - 1));
    }

    /// Forgets the numbers from a place on.
    pub(super) fn truncate(&mut self, length: usize) {
        self.0.truncate(length);
    }
}

/// Places that are marked, a bit for each. Without a mark they take no memory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Marks(Vec<u64>);

impl Marks {
    #[inline]
    pub(crate) fn has(&self, at: usize) -> bool {
        self.0.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    pub(super) fn set(&mut self, at: usize, is_so: bool) {
        let word = at / 64;
        if word >= self.0.len() {
            if !is_so {
                return;
            }
            self.0.resize(word + 1, 0);
        }
        let bit = 1 << (at % 64);
        self.0[word] = if is_so { self.0[word] | bit } else { self.0[word] & !bit };
    }

    /// The number of marks.
    pub(super) fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Forgets the marks from a place on.
    pub(super) fn truncate(&mut self, length: usize) {
        self.0.truncate(length.div_ceil(64));
        for at in length..self.0.len() * 64 {
            self.set(at, false);
        }
    }
}
