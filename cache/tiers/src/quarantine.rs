//! The quarantine of a tier.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The quarantine of a tier.
///
/// A tier that could not drop a key may hold a value that has been replaced or deleted. No session asks the tier until
/// everything that it holds now has expired; without a longest time of its values, until the tier is cleared.
#[derive(Debug)]
pub(crate) struct Quarantine {
    opened: Instant,
    /// Milliseconds after `opened` until which no session asks the tier; 0 without a quarantine.
    until_ms: AtomicU64,
}

/// The state of a quarantine at a moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Snapshot(u64);

impl Default for Quarantine {
    fn default() -> Self {
        Self { opened: Instant::now(), until_ms: AtomicU64::new(0) }
    }
}

impl Quarantine {
    pub(crate) fn is_in_force(&self) -> bool {
        self.is_in_force_at(|| self.now_ms())
    }

    fn is_in_force_at(&self, now_ms: impl FnOnce() -> u64) -> bool {
        let until = self.until_ms.load(Ordering::Acquire);
        until != 0 && until > now_ms()
    }

    /// Begins or lengthens the quarantine: for this time, or for good.
    pub(crate) fn impose(&self, time: Option<Duration>) {
        self.impose_at(self.now_ms(), time);
    }

    fn impose_at(&self, now_ms: u64, time: Option<Duration>) {
        let until = time.map_or(u64::MAX, |time| now_ms.saturating_add(millis(time) + 1));
        self.until_ms.fetch_max(until, Ordering::AcqRel);
    }

    /// The present state, for a session that is about to clear the tier.
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot(self.until_ms.load(Ordering::Acquire))
    }

    /// Lifts a quarantine that began before the clear did.
    pub(crate) fn lift(&self, before: Snapshot) {
        let until = &self.until_ms;
        // A different state means that a key could not be dropped meanwhile.
        let _ = until.compare_exchange(before.0, 0, Ordering::AcqRel, Ordering::Relaxed);
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
    fn a_quarantine_ends_when_all_present_values_have_expired() {
        let quarantine = Quarantine::default();
        assert!(!quarantine.is_in_force());
        quarantine.impose_at(1000, Some(Duration::from_millis(50)));
        // The clock counts whole milliseconds, so the quarantine lasts for one more.
        assert!(quarantine.is_in_force_at(|| 1000) && quarantine.is_in_force_at(|| 1050));
        assert!(!quarantine.is_in_force_at(|| 1051));
        quarantine.impose(None);
        quarantine.impose(Some(Duration::ZERO));
        assert!(quarantine.is_in_force(), "a later quarantine shortens no earlier one");
        quarantine.lift(quarantine.snapshot());
        assert!(!quarantine.is_in_force());
    }

    #[test]
    fn a_quarantine_that_begins_while_a_tier_is_emptied_stays() {
        let quarantine = Quarantine::default();
        let before = quarantine.snapshot();
        quarantine.impose(Some(Duration::from_secs(10)));
        quarantine.lift(before);
        assert!(quarantine.is_in_force());
    }
}
