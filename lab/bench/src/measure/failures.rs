//! When a store has failed so often in a row that further operations would only repeat it.

/// The failures in a row after which a thread gives up.
const IN_A_ROW: u32 = 100;
/// The time lost in failures in a row after which a thread gives up.
const FAILING_NS: u64 = 5_000_000_000;
/// The same where at least two of them got no answer in time. A single time-out may be an
/// accident, such as a lost packet.
const SILENT_NS: u64 = 1_000_000_000;

/// The failures of one thread in a row.
#[derive(Debug)]
pub(super) struct Failures {
    /// The failures in a row after which the thread gives up.
    most: u32,
    in_a_row: u32,
    /// The failures of the row that got no answer in time.
    unanswered: u32,
    since: u64,
    /// When an operation last did not fail, where that is told.
    went_well_at: u64,
}

impl Failures {
    /// The failures of a thread with this many sessions: a server that ends fails a request of each.
    pub(super) fn of(n_sessions: usize) -> Self {
        let most = u32::try_from(n_sessions).unwrap_or(u32::MAX).saturating_mul(IN_A_ROW);
        Self { most, in_a_row: 0, unanswered: 0, since: 0, went_well_at: 0 }
    }

    /// Counts another failure, which began and ended at these times, and which may have got no answer.
    pub(super) fn count(&mut self, then: u64, now: u64, is_unanswered: bool) {
        self.in_a_row += 1;
        if self.in_a_row == 1 {
            // A connection that is silent beside others that answer has not kept the thread from its work.
            self.since = then.max(self.went_well_at);
            self.unanswered = 0;
        }
        self.unanswered += u32::from(is_unanswered);
        let lost_ns = now - self.since;
        if lost_ns > FAILING_NS || (self.unanswered > 1 && lost_ns > SILENT_NS) {
            self.in_a_row = self.most;
        }
    }

    /// An operation did not fail.
    #[inline]
    pub(super) fn end(&mut self) {
        self.in_a_row = 0;
    }

    /// An operation did not fail, and ended now.
    #[inline]
    pub(super) fn end_at(&mut self, now: u64) {
        self.in_a_row = 0;
        self.went_well_at = now;
    }

    /// Whether the thread gives up.
    #[inline]
    pub(super) fn gave_up(&self) -> bool {
        self.in_a_row >= self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of failures of this length until a thread gives up.
    fn until_given_up(length_ns: u64, is_unanswered: bool) -> u32 {
        let mut failures = Failures::of(1);
        let mut now = 0;
        for n in 1.. {
            failures.count(now, now + length_ns, is_unanswered);
            now += length_ns;
            if failures.gave_up() {
                return n;
            }
        }
        unreachable!()
    }

    #[test]
    fn a_silent_server_is_given_up_sooner_than_one_that_refuses() {
        assert_eq!(until_given_up(5_000_000_001, true), 1);
        assert_eq!(until_given_up(1_000_000_000, true), 2);
        assert_eq!(until_given_up(600_000_000, true), 2);
        assert_eq!(until_given_up(50_000_000, true), 21, "short time-outs may be accidents");
        assert_eq!(until_given_up(1_000, false), IN_A_ROW);
        assert_eq!(until_given_up(600_000_000, false), 9);
    }
}
