//! When a store has failed so often in a row that the rest would only repeat it.

/// After so many failures in a row.
const IN_A_ROW: u32 = 100;
/// And after so much time lost in failures in a row (time-outs).
const FAILING_NS: u64 = 5_000_000_000;

/// The failures of one thread in a row.
#[derive(Debug, Default)]
pub(super) struct Failures {
    in_a_row: u32,
    since: u64,
}

impl Failures {
    /// One more, that began and ended at these times.
    pub(super) fn count(&mut self, then: u64, now: u64) {
        self.in_a_row += 1;
        if self.in_a_row == 1 {
            self.since = then;
        }
        if now - self.since > FAILING_NS {
            self.in_a_row = IN_A_ROW;
        }
    }

    /// Something did not fail.
    #[inline]
    pub(super) fn end(&mut self) {
        self.in_a_row = 0;
    }

    /// Whether there is no use in going on.
    #[inline]
    pub(super) fn gave_up(&self) -> bool {
        self.in_a_row >= IN_A_ROW
    }
}
