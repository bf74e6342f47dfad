//! The validity of a subscription: how long a process knows that a subscriber is connected, which ends what changes below.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The longest time for which a value stays above the lowest tier while no subscriber is connected.
pub(crate) const SHORT: Duration = Duration::from_secs(10);

/// Until when a subscriber is known to be connected.
///
/// The heartbeat of a host's subscriber is valid for a limited time (`invalidation/election.rs`). So the validity ends by itself
/// where the subscriber is killed.
#[derive(Debug)]
pub(crate) struct SubscriptionValidity {
    opened: Instant,
    /// Milliseconds after `opened`.
    until_ms: AtomicU64,
}

impl Default for SubscriptionValidity {
    fn default() -> Self {
        Self { opened: Instant::now(), until_ms: AtomicU64::new(0) }
    }
}

impl SubscriptionValidity {
    /// The time for which a value may be stored above now: the configured time while the subscription is
    /// valid, else at most [`SHORT`].
    pub(crate) fn cap(&self, configured: Option<Duration>) -> Option<Duration> {
        let now_ms = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        if now_ms < self.until_ms.load(Ordering::Acquire) {
            return configured;
        }
        Some(configured.map_or(SHORT, |cap| cap.min(SHORT)))
    }

    /// The subscription is valid until then.
    pub(crate) fn extend(&self, until: Instant) {
        let until = until.saturating_duration_since(self.opened);
        let until_ms = u64::try_from(until.as_millis()).unwrap_or(u64::MAX);
        self.until_ms.store(until_ms, Ordering::Release);
    }

    /// The subscription is not valid any more.
    pub(crate) fn end(&self) {
        self.until_ms.store(0, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_valid_subscription_a_value_is_kept_for_a_short_time() {
        let validity = SubscriptionValidity::default();
        let (hour, second) = (Duration::from_hours(1), Duration::from_secs(1));
        assert_eq!(validity.cap(Some(hour)), Some(SHORT));
        assert_eq!(validity.cap(Some(second)), Some(second));
        validity.extend(Instant::now() + hour);
        assert_eq!(validity.cap(Some(hour)), Some(hour));
        validity.end();
        assert_eq!(validity.cap(Some(hour)), Some(SHORT));
        validity.extend(Instant::now());
        assert_eq!(validity.cap(Some(hour)), Some(SHORT), "the validity has ended by itself");
    }
}
