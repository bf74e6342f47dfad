//! The bounds of the work on emptying segments under one hold of a lock.

/// Bounds of the work under one hold of a lock, so that it takes at most a tenth of a millisecond. They count records that
/// are looked at, and copied bytes without the last record.
pub(crate) const MOST_RECORDS: usize = 256;
pub(crate) const MOST_COPIED: usize = 96 << 10;
/// The bytes that are looked at, and copied, under one hold of a lock in idle time.
pub(crate) const IDLE: usize = 32 << 10;

/// The work that may still be done under this hold of the lock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Work {
    /// Records, and their bytes.
    pub(crate) records: usize,
    pub(crate) looked: usize,
    /// Bytes of records that are copied.
    pub(crate) copied: usize,
}

impl Work {
    /// All the work that one hold of a lock allows.
    pub(crate) fn most() -> Self {
        Self::of(usize::MAX)
    }

    pub(crate) fn of(looked: usize) -> Self {
        Self { records: MOST_RECORDS, looked, copied: MOST_COPIED }
    }

    /// A step in idle time, which may make sets wait.
    pub(crate) fn idle() -> Self {
        Self { copied: IDLE, ..Self::of(IDLE) }
    }

    #[cfg(test)]
    pub(crate) fn few() -> Self {
        Self { records: 4, ..Self::most() }
    }

    /// The bytes that may still be copied.
    pub(crate) fn copied(&self) -> usize {
        self.copied
    }

    pub(crate) fn is_done(&self) -> bool {
        self.records == 0 || self.looked == 0 || self.copied == 0
    }

    /// Whether the allowed bytes are copied, once `bytes` were.
    pub(crate) fn is_copied(&self, bytes: usize) -> bool {
        bytes >= self.copied
    }

    pub(crate) fn spend(&mut self, records: usize, looked: usize, copied: usize) {
        self.records = self.records.saturating_sub(records);
        self.looked = self.looked.saturating_sub(looked);
        self.copied = self.copied.saturating_sub(copied);
    }
}

/// Counts the work under each hold of a lock.
#[cfg(test)]
pub(crate) mod counted {
    use std::cell::Cell;

    thread_local! {
        /// The records and copied bytes, keys included, under this hold of a lock, and the most under any hold.
        pub(crate) static HOLD: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
        pub(crate) static MOST: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    }

    pub(crate) fn begin() {
        HOLD.set((0, 0));
    }

    /// Counts records that were looked at, or as much work, and copied bytes.
    pub(crate) fn note(records: usize, copied: usize) {
        let (all, bytes) = HOLD.get();
        let hold = (all + records, bytes + copied);
        HOLD.set(hold);
        MOST.set((MOST.get().0.max(hold.0), MOST.get().1.max(hold.1)));
    }
}
