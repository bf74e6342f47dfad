//! A column of numbers, some or all of which may be missing.

/// Numbers by place. A column without any number takes no memory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Figures(Vec<u32>);

/// Marks a missing number. No recorded size or time is that large.
const MISSING: u32 = u32::MAX;

impl Figures {
    /// The number at a place, where there is one.
    #[inline]
    pub(super) fn get(&self, at: usize) -> Option<u32> {
        self.0.get(at).copied().filter(|&number| number != MISSING)
    }

    /// Sets the number at a place.
    pub(super) fn set(&mut self, at: usize, number: Option<u32>) {
        if number.is_none() && at >= self.0.len() {
            return;
        }
        if at >= self.0.len() {
            self.0.resize(at + 1, MISSING);
        }
        self.0[at] = number.unwrap_or(MISSING);
    }

    /// Forgets the numbers from a place on.
    pub(super) fn truncate(&mut self, length: usize) {
        self.0.truncate(length);
    }
}
