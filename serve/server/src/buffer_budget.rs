//! The limit of the bytes that the connections of one event loop buffer: requests that have not arrived in full, and answers that
//! are not sent.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that each connection may buffer in any case: a request with a long key and a short value.
pub(crate) const GUARANTEED_BYTES: usize = 2048;

/// The bytes that the connections of an event loop buffer beyond their [`GUARANTEED_BYTES`]. Only the event loop changes them.
#[derive(Debug)]
pub(crate) struct BufferBudget {
    bytes: AtomicUsize,
    most: usize,
}

impl BufferBudget {
    /// An unused budget of `most` bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self { bytes: AtomicUsize::new(0), most }
    }

    /// Bytes in use.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Bytes that are free.
    #[inline]
    pub(crate) fn free(&self) -> usize {
        self.most.saturating_sub(self.bytes())
    }

    /// Changes the share of a connection; `false`, and no change, if it does not fit.
    #[inline]
    pub(crate) fn change(&self, share: &mut usize, to: usize) -> bool {
        if to == *share {
            return true;
        }
        let others = self.bytes() - *share;
        let fits = to < *share || others + to <= self.most;
        if fits {
            self.bytes.store(others + to, Ordering::Relaxed);
            *share = to;
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_grow_while_there_is_room_and_shrink_always() {
        let budget = BufferBudget::new(10);
        let (mut a, mut b) = (0, 0);
        assert!(budget.change(&mut a, 7));
        assert!(!budget.change(&mut b, 4));
        assert!(budget.change(&mut b, 3));
        assert_eq!((a, b, budget.free()), (7, 3, 0));
        assert!(budget.change(&mut a, 0));
        assert!(budget.change(&mut b, 10));
        assert_eq!((a, b, budget.bytes()), (0, 10, 10));
    }
}
