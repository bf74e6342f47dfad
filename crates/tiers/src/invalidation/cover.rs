//! The cover of a process: whether a subscriber is connected that ends what changes below.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::SHORT;

/// Until when a subscriber is known to be connected.
///
/// The subscriber of a host tells of itself for a limited time (`election.rs`). So the cover of a process ends by itself
/// where the subscriber is killed.
#[derive(Debug)]
pub(crate) struct Cover {
    opened: Instant,
    /// Milliseconds after `opened`.
    until_ms: AtomicU64,
}

impl Default for Cover {
    fn default() -> Self {
        Self { opened: Instant::now(), until_ms: AtomicU64::new(0) }
    }
}

impl Cover {
    /// The time for which a value may be stored above now: as long as is configured under cover, else [`SHORT`].
    pub(crate) fn cap(&self, configured: Option<Duration>) -> Option<Duration> {
        let now_ms = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        if now_ms < self.until_ms.load(Ordering::Acquire) {
            return configured;
        }
        Some(configured.map_or(SHORT, |cap| cap.min(SHORT)))
    }

    /// There is cover until then.
    pub(super) fn extend(&self, until: Instant) {
        let until = until.saturating_duration_since(self.opened);
        let until_ms = u64::try_from(until.as_millis()).unwrap_or(u64::MAX);
        self.until_ms.store(until_ms, Ordering::Release);
    }

    /// There is no cover any more.
    pub(super) fn end(&self) {
        self.until_ms.store(0, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_cover_a_value_is_kept_for_a_short_time() {
        let cover = Cover::default();
        let (hour, second) = (Duration::from_hours(1), Duration::from_secs(1));
        assert_eq!(cover.cap(Some(hour)), Some(SHORT));
        assert_eq!(cover.cap(Some(second)), Some(second));
        cover.extend(Instant::now() + hour);
        assert_eq!(cover.cap(Some(hour)), Some(hour));
        cover.end();
        assert_eq!(cover.cap(Some(hour)), Some(SHORT));
        cover.extend(Instant::now());
        assert_eq!(cover.cap(Some(hour)), Some(SHORT), "the cover has ended by itself");
    }
}
