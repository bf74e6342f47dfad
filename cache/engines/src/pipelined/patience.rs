//! The times for which the calls of a session wait.

use std::time::{Duration, Instant};

/// The times for which the calls of a session wait.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// Whether the caller waits for each answer, so that requests may be sent by calls that wait.
    pub(super) waits: bool,
    /// The longest silence of a node.
    pub(super) timeout: Duration,
    /// The longest time of a read, where it is bounded.
    pub(super) longest_read: Option<Duration>,
    /// The moment at which the answers to the present read are due, where it is bounded.
    pub(super) deadline: Option<Instant>,
}

impl Patience {
    /// The longest wait of the present call, for messages.
    pub(super) fn longest(&self) -> Duration {
        let bound = self.longest_read.filter(|_| self.deadline.is_some());
        bound.map_or(self.timeout, |bound| bound.min(self.timeout))
    }

    /// The time that the present call may still wait.
    pub(super) fn left(&self) -> Duration {
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        self.deadline.map_or(self.timeout, |deadline| left(deadline).min(self.timeout))
    }
}
