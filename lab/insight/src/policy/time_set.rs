//! A set of times that gives its latest: a bit for each time, and above every 64 bits a bit for whether any is set.
//!
//! A heap or a tree would do the same in the logarithm of the number of times; here ten million times have four
//! levels. All levels but the lowest stay in the processor's cache.

const BITS: usize = u64::BITS as usize;

/// Numbers below a bound, of which the largest is found at once.
#[derive(Debug)]
pub(crate) struct TimeSet {
    /// From the lowest level, with a bit for each number, to a level of a single word.
    levels: Vec<Vec<u64>>,
}

impl TimeSet {
    /// An empty set of numbers below `bound`.
    pub(crate) fn new(bound: usize) -> Self {
        let mut levels = vec![vec![0; bound.div_ceil(BITS).max(1)]];
        while let Some(words) = levels.last().map(Vec::len).filter(|words| *words > 1) {
            levels.push(vec![0; words.div_ceil(BITS)]);
        }
        Self { levels }
    }

    /// Puts a number in, which may be in already.
    pub(crate) fn insert(&mut self, mut number: usize) {
        for level in &mut self.levels {
            let word = &mut level[number / BITS];
            let was_empty = *word == 0;
            *word |= 1 << (number % BITS);
            if !was_empty {
                return;
            }
            number /= BITS;
        }
    }

    /// Takes a number out; `false` where it was not in.
    pub(crate) fn remove(&mut self, mut number: usize) -> bool {
        if self.levels[0][number / BITS] >> (number % BITS) & 1 == 0 {
            return false;
        }
        for level in &mut self.levels {
            let word = &mut level[number / BITS];
            *word &= !(1 << (number % BITS));
            if *word != 0 {
                break;
            }
            number /= BITS;
        }
        true
    }

    /// Takes out the largest number.
    pub(crate) fn pop_last(&mut self) -> Option<usize> {
        let mut at = 0;
        for level in self.levels.iter().rev() {
            let word = level[at];
            if word == 0 {
                return None;
            }
            at = at * BITS + (BITS - 1 - word.leading_zeros() as usize);
        }
        self.remove(at);
        Some(at)
    }
}
