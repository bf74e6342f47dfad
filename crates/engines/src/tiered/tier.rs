//! One tier of a stack: its store, what it has done, and whether it is believed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use larder_store::{Capabilities, Error, Session, SetMode, SetOptions, SetOutcome, Store};

use crate::counters::{Count, Counters, Tally};

/// One tier, shared by all sessions.
#[derive(Debug)]
pub(super) struct Tier {
    /// Its place and what it is: `L1 moka:`.
    pub(super) name: String,
    pub(super) store: Arc<dyn Store>,
    pub(super) capabilities: Capabilities,
    pub(super) counters: Counters<TierCounters>,
    /// The longest time for which it keeps a value; none for the lowest.
    pub(super) cap: Option<Duration>,
    trust: Trust,
}

/// What one session counts of one tier.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct TierCounters {
    /// Keys that it answered.
    pub(super) hits: Count,
    /// Keys that it was asked for and did not answer.
    pub(super) misses: Count,
    /// Values that it was given because a tier below answered.
    pub(super) fills: Count,
    /// Values that it did not take.
    pub(super) refused: Count,
}

impl Tally<4> for TierCounters {
    fn counts(&self) -> [&Count; 4] {
        [&self.hits, &self.misses, &self.fills, &self.refused]
    }
}

impl Tier {
    pub(super) fn new(name: String, store: Arc<dyn Store>, cap: Option<Duration>) -> Self {
        let capabilities = store.capabilities();
        Self {
            name,
            store,
            capabilities,
            counters: Counters::default(),
            cap,
            trust: Trust::default(),
        }
    }

    /// How a value is kept here that lives below for `left`, or for ever; `None` where it should not come here at all.
    pub(super) fn options(&self, left: Option<Duration>, flags: u32) -> Option<SetOptions> {
        let ttl = match left {
            Some(left) if left.is_zero() || !self.capabilities.ttl => return None,
            Some(left) => Some(self.cap.map_or(left, |cap| cap.min(left))),
            None => self.cap,
        };
        let flags = if self.capabilities.flags { flags } else { 0 };
        Some(SetOptions { ttl, flags, ..SetOptions::default() })
    }

    /// Whether it may be asked: it has dropped all that it was told to.
    pub(super) fn is_believed(&self) -> bool {
        self.trust.is_whole()
    }

    fn holds(&self, value: &[u8]) -> bool {
        self.capabilities.max_value_len.is_none_or(|limit| value.len() <= limit)
    }
}

/// One session of one tier.
pub(super) struct TierSession {
    pub(super) tier: Arc<Tier>,
    pub(super) session: Box<dyn Session>,
    pub(super) counters: Arc<TierCounters>,
}

impl TierSession {
    pub(super) fn open(tier: &Arc<Tier>) -> larder_store::Result<Self> {
        let session = tier.store.session()?;
        Ok(Self { tier: Arc::clone(tier), session, counters: tier.counters.session() })
    }

    /// Fills in a value that a tier below has answered. Where the tier can tell, only if nobody has put one here since:
    /// that one is newer.
    pub(super) fn fill(&mut self, key: &[u8], value: &[u8], options: SetOptions) {
        if !self.tier.is_believed() {
            return;
        }
        if !self.tier.holds(value) {
            // It was asked just now and had none, so there is no older one to drop.
            self.counters.refused.add(1);
            return;
        }
        let mode = if self.tier.capabilities.add { SetMode::Add } else { SetMode::Set };
        match self.session.set(key, value, &SetOptions { mode, ..options }) {
            Ok(SetOutcome::Stored) => self.counters.fills.add(1),
            Ok(_) => {}
            Err(error) => self.refuse(key, &error),
        }
    }

    /// Stores a value that the lowest tier has acknowledged.
    pub(super) fn put(&mut self, key: &[u8], value: &[u8], options: SetOptions) {
        if !self.tier.holds(value) {
            self.counters.refused.add(1);
            self.drop_key(key);
            return;
        }
        let set = self.session.set(key, value, &SetOptions { mode: SetMode::Set, ..options });
        if let Err(error) = set {
            self.refuse(key, &error);
        }
    }

    /// A value could not be stored: what was there before it must not stay.
    fn refuse(&mut self, key: &[u8], error: &Error) {
        self.counters.refused.add(1);
        // A value that is refused as too large leaves none behind: every session promises that.
        if !matches!(error, Error::ValueTooLarge { .. }) {
            self.drop_key(key);
        }
    }

    /// Removes a key and says whether it was there. A tier that cannot is not believed any more.
    pub(super) fn drop_key(&mut self, key: &[u8]) -> bool {
        let deleted = match self.session.delete(key) {
            Err(error) if error.is_retryable() => self.session.delete(key),
            deleted => deleted,
        };
        match deleted {
            // What it should not have had any more does not count.
            Ok(was_there) => was_there && self.tier.is_believed(),
            // What it does not take it does not hold.
            Err(Error::KeyTooLong { .. } | Error::InvalidKey { .. }) => false,
            Err(_) => {
                let Tier { cap, capabilities, trust, .. } = &*self.tier;
                trust.lose(cap.map(|cap| cap + capabilities.ttl_resolution));
                false
            }
        }
    }

    /// Removes every entry.
    pub(super) fn clear(&mut self) -> larder_store::Result<()> {
        self.session.clear()?;
        self.tier.trust.restore();
        Ok(())
    }
}

/// Whether a tier is believed.
///
/// A tier that could not drop a key may hold a value that should have gone. Nobody asks it until everything that it holds
/// now has passed its longest time; where there is none, until it is cleared.
#[derive(Debug)]
struct Trust {
    opened: Instant,
    /// Milliseconds after `opened` until which it is not believed; 0 where it is.
    lost_until_ms: AtomicU64,
}

impl Default for Trust {
    fn default() -> Self {
        Self { opened: Instant::now(), lost_until_ms: AtomicU64::new(0) }
    }
}

impl Trust {
    fn is_whole(&self) -> bool {
        let until = self.lost_until_ms.load(Ordering::Acquire);
        until == 0 || until <= self.now_ms()
    }

    /// Loses it for this time, or for good.
    fn lose(&self, time: Option<Duration>) {
        let until = time.map_or(u64::MAX, |time| self.now_ms().saturating_add(millis(time) + 1));
        self.lost_until_ms.fetch_max(until, Ordering::AcqRel);
    }

    fn restore(&self) {
        self.lost_until_ms.store(0, Ordering::Release);
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
        trust.lose(Some(Duration::from_millis(50)));
        assert!(!trust.is_whole());
        std::thread::sleep(Duration::from_millis(60));
        assert!(trust.is_whole());
        trust.lose(None);
        trust.lose(Some(Duration::ZERO));
        assert!(!trust.is_whole(), "a later loss shortens no earlier one");
        trust.restore();
        assert!(trust.is_whole());
    }
}
