//! The state that the threads of a channel share with the sessions of their stack, and its counters.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use larder_store::{Counter, Id};

use crate::subscription::SubscriptionValidity;

/// The state that the threads of a stack share with its sessions.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(super) validity: Arc<SubscriptionValidity>,
    pub(crate) counts: Counts,
    /// This stack in this process.
    pub(super) id: Id,
    /// The processes that share all tiers above the lowest: they have one subscriber, and this is its id.
    pub(super) group: Mutex<Id>,
    pub(super) is_ended: AtomicBool,
    /// Locked to wait for the end.
    pub(super) waits: Mutex<()>,
    pub(super) ends: Condvar,
}

impl Shared {
    pub(super) fn new(id: Id) -> Self {
        Self {
            validity: Arc::default(),
            counts: Counts::default(),
            id,
            group: Mutex::new(id),
            is_ended: AtomicBool::new(false),
            waits: Mutex::default(),
            ends: Condvar::new(),
        }
    }

    pub(super) fn group(&self) -> Id {
        *lock(&self.group)
    }

    pub(super) fn set_group(&self, group: Id) {
        *lock(&self.group) = group;
    }

    pub(super) fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Acquire)
    }

    /// Waits for this time, or until the end.
    pub(super) fn wait(&self, time: Duration) {
        let guard = lock(&self.waits);
        if !self.is_ended() {
            drop(self.ends.wait_timeout(guard, time));
        }
    }

    pub(super) fn end(&self) {
        let _guard = lock(&self.waits);
        self.is_ended.store(true, Ordering::Release);
        self.ends.notify_all();
    }
}

/// The counters of a channel.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(super) published: AtomicU64,
    pub(super) received: AtomicU64,
    pub(super) own: AtomicU64,
    pub(super) gaps: AtomicU64,
    pub(super) takeovers: AtomicU64,
    pub(super) dropped: AtomicU64,
}

impl Counts {
    pub(crate) fn all(&self) -> Vec<Counter> {
        let Self { published, received, own, gaps, takeovers, dropped } = self;
        [
            ("channel_published", published),
            ("channel_received", received),
            ("channel_own_skipped", own),
            ("channel_gaps", gaps),
            ("channel_takeovers", takeovers),
            ("channel_keys_dropped", dropped),
        ]
        .map(|(name, count)| Counter { name, value: count.load(Ordering::Relaxed) })
        .into()
    }
}

pub(super) fn count(counter: &AtomicU64, n: usize) {
    counter.fetch_add(n as u64, Ordering::Relaxed);
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
