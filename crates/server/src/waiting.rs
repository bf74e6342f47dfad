//! The bound of the bytes that the connections of one worker have waiting: requests that are not whole, and answers that
//! are not sent.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that each connection may have waiting, whatever the others have: a request with a long key and a short value.
pub(crate) const OWN_BYTES: usize = 2048;

/// What the connections of a worker have waiting beyond their [`OWN_BYTES`]. The worker alone changes it.
#[derive(Debug)]
pub(crate) struct Waiting {
    bytes: AtomicUsize,
    most: usize,
}

impl Waiting {
    /// Nothing waits yet; at most so many bytes may.
    pub(crate) fn new(most: usize) -> Self {
        Self { bytes: AtomicUsize::new(0), most }
    }

    /// Bytes that wait.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Bytes for which there is room.
    #[inline]
    pub(crate) fn free(&self) -> usize {
        self.most.saturating_sub(self.bytes())
    }

    /// Changes the share of a connection; `false`, and no change, where there is no room for it.
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
        let waiting = Waiting::new(10);
        let (mut a, mut b) = (0, 0);
        assert!(waiting.change(&mut a, 7));
        assert!(!waiting.change(&mut b, 4));
        assert!(waiting.change(&mut b, 3));
        assert_eq!((a, b, waiting.free()), (7, 3, 0));
        assert!(waiting.change(&mut a, 0));
        assert!(waiting.change(&mut b, 10));
        assert_eq!((a, b, waiting.bytes()), (0, 10, 10));
    }
}
