//! The longest silence of a guest before it counts as hanging.

use std::fmt;
use std::time::{Duration, Instant};

use larder_store::Span;

/// The rate of a slow disk, in bytes a second. A program with much to write or read first gets more time by this rate.
const SLOWEST: u64 = 16 << 20;

/// A limit of silence, and the beginning of the silence.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    since: Instant,
    limit: Duration,
}

impl Patience {
    /// A silence that begins now.
    pub(super) fn new(limit: Duration) -> Self {
        Self { since: Instant::now(), limit }
    }

    /// Adds the time to write or read this many bytes.
    pub(super) fn for_bytes(self, bytes: u64) -> Self {
        Self { limit: self.limit + Duration::from_secs(bytes / SLOWEST), ..self }
    }

    /// Begins again, after a sign of life.
    pub(super) fn renew(&mut self) {
        self.since = Instant::now();
    }

    /// The time that is left; `None` when it is over.
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
