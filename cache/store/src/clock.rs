//! The time by which entries expire.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time by which entries expire: milliseconds since 1970, because deadlines outlive the process that wrote
/// them. A copy shows the same time.
///
/// Tests use [`Clock::manual`], which stands still until it is advanced.
#[derive(Debug, Clone, Default)]
pub struct Clock(Option<Arc<AtomicU64>>);

impl Clock {
    /// The time of the system.
    pub fn system() -> Self {
        Self(None)
    }

    /// A clock that stands at `now_ms` until [`Clock::advance`] moves it.
    pub fn manual(now_ms: u64) -> Self {
        Self(Some(Arc::new(AtomicU64::new(now_ms))))
    }

    /// Milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        match &self.0 {
            Some(manual) => manual.load(Ordering::Relaxed),
            None => SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, millis),
        }
    }

    /// The deadline of an entry that is stored now with this TTL; rounded up, so that the entry never ends early.
    pub fn deadline_ms(&self, ttl: Duration) -> u64 {
        let round_up = u64::from(!ttl.subsec_nanos().is_multiple_of(1_000_000));
        self.now_ms().saturating_add(millis(ttl)).saturating_add(round_up)
    }

    /// Moves a manual clock; the system's clock stays as it is.
    pub fn advance(&self, by: Duration) {
        if let Some(manual) = &self.0 {
            manual.fetch_add(millis(by), Ordering::Relaxed);
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_when_told_and_deadlines_round_up() {
        let clock = Clock::manual(1000);
        let copy = clock.clone();
        copy.advance(Duration::from_millis(5));
        assert_eq!(clock.now_ms(), 1005);
        assert_eq!(clock.deadline_ms(Duration::from_micros(1500)), 1007);
    }
}
