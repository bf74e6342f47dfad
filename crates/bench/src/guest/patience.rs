//! How long a guest may give no sign of life until it is taken to hang.

use std::fmt;
use std::time::{Duration, Instant};

use larder_store::Span;

/// A program that has to write or read many bytes first may take so much longer, in bytes a second: what a slow disk does.
const SLOWEST: u64 = 16 << 20;

/// How long is waited, and since when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    since: Instant,
    limit: Duration,
}

impl Patience {
    /// From now on.
    pub(super) fn new(limit: Duration) -> Self {
        Self { since: Instant::now(), limit }
    }

    /// Longer, for so many bytes have to be written or read first.
    pub(super) fn for_bytes(self, bytes: u64) -> Self {
        Self { limit: self.limit + Duration::from_secs(bytes / SLOWEST), ..self }
    }

    /// There was a sign of life.
    pub(super) fn renew(&mut self) {
        self.since = Instant::now();
    }

    /// The time that is left of it; `None` when it is at an end.
    pub(super) fn left(&self) -> Option<Duration> {
        self.limit.checked_sub(self.since.elapsed())
    }
}

/// As `30s`.
impl fmt::Display for Patience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Span(self.limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_with_much_to_write_gets_more_time() {
        let patience = Patience::new(Duration::from_secs(30));
        assert!(patience.left().is_some_and(|left| left > Duration::from_secs(29)));
        let patience = patience.for_bytes(20 << 30);
        assert_eq!(patience.to_string(), "1310s");
        assert!(Patience::new(Duration::ZERO).left().is_none());
    }
}
