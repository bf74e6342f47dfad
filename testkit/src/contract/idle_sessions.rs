//! Idle sessions of a guest, which the next case reuses.
//!
//! A session of most guests is a process: its language's interpreter, with the modules and the cache that it has loaded.
//! Starting these took most of the processor time of the guests' suite. The promises are those of a session, whatever its
//! age. A case that is about the opening or the end of a store opens one for itself, whose sessions end with their case.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use larder_store::{Result, Session};

use super::threads::THREADS;

/// The most idle sessions, which are processes: as many as one case opens.
const MAX_IDLE: usize = THREADS;

/// The idle sessions of a store.
#[derive(Default)]
pub(super) struct IdleSessions(Mutex<Vec<Box<dyn Session>>>);

/// A session of a case, which goes back to the idle sessions of its store.
pub(super) struct PooledSession {
    /// There until it is dropped.
    session: Option<Box<dyn Session>>,
    /// Weak, because a session may outlive its store.
    idle: Weak<IdleSessions>,
}

impl fmt::Debug for IdleSessions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("IdleSessions")
    }
}

impl IdleSessions {
    /// An idle session, or else a new one.
    pub(super) fn take(
        self: &Arc<Self>,
        open: impl FnOnce() -> Result<Box<dyn Session>>,
    ) -> Result<PooledSession> {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let session = waiting.map_or_else(open, Ok)?;
        Ok(PooledSession { session: Some(session), idle: Arc::downgrade(self) })
    }
}

impl From<Box<dyn Session>> for PooledSession {
    /// A session that ends with its case.
    fn from(session: Box<dyn Session>) -> Self {
        Self { session: Some(session), idle: Weak::new() }
    }
}

impl Deref for PooledSession {
    type Target = dyn Session;

    fn deref(&self) -> &Self::Target {
        self.session.as_deref().expect("it is there until it is dropped")
    }
}

impl DerefMut for PooledSession {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.session.as_deref_mut().expect("it is there until it is dropped")
    }
}

impl Drop for PooledSession {
    fn drop(&mut self) {
        // A case that panics may leave its session in the middle of an exchange.
        let idle = self.idle.upgrade().filter(|_| !std::thread::panicking());
        let (Some(idle), Some(session)) = (idle, self.session.take()) else { return };
        let mut waiting = idle.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < MAX_IDLE {
            waiting.push(session);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use larder_store::StoreUrl;

    use super::*;
    use crate::stores::ENGINES;

    #[test]
    fn a_session_waits_for_the_next_case_while_its_store_is_open() {
        let store = ENGINES.open(&StoreUrl::parse("faulty:?fault=fail").unwrap()).unwrap();
        let (idle, opened) = (Arc::<IdleSessions>::default(), Cell::new(0));
        let take = || {
            let open = || {
                opened.set(opened.get() + 1);
                store.session()
            };
            idle.take(open).unwrap()
        };
        for _ in 0..5 {
            drop(take());
        }
        assert_eq!(opened.get(), 1, "one case after the other");
        let all: Vec<_> = (0..2 * MAX_IDLE).map(|_| take()).collect();
        assert_eq!(opened.get(), 2 * MAX_IDLE, "cases beside each other");
        drop(all);
        let waiting = |idle: &IdleSessions| idle.0.lock().unwrap().len();
        assert_eq!(waiting(&idle), MAX_IDLE);
        let last = take();
        let weak = Arc::downgrade(&idle);
        drop(idle);
        assert!(weak.upgrade().is_none(), "a session keeps its store open");
        drop(last);
    }
}
