//! The trust in a tier.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The trust in a tier.
///
/// A tier that could not drop a key may hold a value that should be gone. No session asks the tier until everything
/// that it holds now has passed its longest time; without such a time, until the tier is cleared.
#[derive(Debug)]
pub(crate) struct Trust {
    opened: Instant,
    /// Milliseconds after `opened` until which the tier is not trusted; 0 while it is trusted.
    lost_until_ms: AtomicU64,
}

/// The state of trust at a moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Standing(u64);

impl Default for Trust {
    fn default() -> Self {
        Self { opened: Instant::now(), lost_until_ms: AtomicU64::new(0) }
    }
}

impl Trust {
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole_at(|| self.now_ms())
    }

    fn is_whole_at(&self, now_ms: impl FnOnce() -> u64) -> bool {
        let until = self.lost_until_ms.load(Ordering::Acquire);
        until == 0 || until <= now_ms()
    }

    /// Loses trust for this time, or for good.
    pub(crate) fn lose(&self, time: Option<Duration>) {
        self.lose_at(self.now_ms(), time);
    }

    fn lose_at(&self, now_ms: u64, time: Option<Duration>) {
        let until = time.map_or(u64::MAX, |time| now_ms.saturating_add(millis(time) + 1));
        self.lost_until_ms.fetch_max(until, Ordering::AcqRel);
    }

    /// The present state, for a session that is about to clear the tier.
    pub(crate) fn standing(&self) -> Standing {
        Standing(self.lost_until_ms.load(Ordering::Acquire))
    }

    /// Restores the trust that was lost before the clear began.
    pub(crate) fn restore(&self, before: Standing) {
        let lost = &self.lost_until_ms;
        // A different state means that a key could not be dropped meanwhile.
        let _ = lost.compare_exchange(before.0, 0, Ordering::AcqRel, Ordering::Relaxed);
    }

    fn now_ms(&self) -> u64 {
        millis(self.opened.elapsed())
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_comes_back_when_all_that_was_held_has_passed() {
        let trust = Trust::default();
        assert!(trust.is_whole());
        trust.lose_at(1000, Some(Duration::from_millis(50)));
        // The clock counts whole milliseconds, so the loss lasts for one more.
        assert!(!trust.is_whole_at(|| 1000) && !trust.is_whole_at(|| 1050));
        assert!(trust.is_whole_at(|| 1051));
        trust.lose(None);
        trust.lose(Some(Duration::ZERO));
        assert!(!trust.is_whole(), "a later loss shortens no earlier one");
        trust.restore(trust.standing());
        assert!(trust.is_whole());
    }

    #[test]
    fn trust_that_is_lost_while_a_tier_is_emptied_stays_lost() {
        let trust = Trust::default();
        let before = trust.standing();
        trust.lose(Some(Duration::from_secs(10)));
        trust.restore(before);
        assert!(!trust.is_whole());
    }
}
