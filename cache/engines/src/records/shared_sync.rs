//! Writes that wait at the same time share one sync to the disk.
//!
//! A write is done before it asks for the sync, and the sync that it waits for begins after that. One of the waiting
//! threads makes the sync for all. The writes that come meanwhile wait for the next sync, because the present one may
//! have begun before them.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The syncs of a store.
#[derive(Debug, Default)]
pub(crate) struct SharedSync {
    syncs: Mutex<Syncs>,
    ended: Condvar,
}

/// Syncs by their numbers, which count up from 1.
#[derive(Debug, Default)]
struct Syncs {
    /// The last sync that began.
    begun: u64,
    /// The last sync that succeeded.
    succeeded: u64,
    is_running: bool,
}

/// A sync that this thread makes.
struct Running<'s>(&'s SharedSync);

impl SharedSync {
    /// Returns when a sync that began after this call has succeeded. A thread whose sync was made by another thread and
    /// failed there makes its own, and so learns the reason.
    pub(crate) fn wait<E>(&self, sync: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let mut syncs = self.lock();
        let own = syncs.begun + 1;
        while syncs.is_running && syncs.succeeded < own {
            syncs = self.ended.wait(syncs).unwrap_or_else(PoisonError::into_inner);
        }
        if syncs.succeeded >= own {
            return Ok(());
        }
        syncs.begun += 1;
        syncs.is_running = true;
        let number = syncs.begun;
        drop(syncs);
        let running = Running(self);
        sync()?;
        let mut syncs = self.lock();
        syncs.succeeded = syncs.succeeded.max(number);
        drop(syncs);
        drop(running);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Syncs> {
        // A panic elsewhere does not spoil what the lock guards.
        self.syncs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.lock().is_running = false;
        self.0.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn each_write_is_followed_by_a_sync_that_began_after_it() {
        let (shared, written, synced) =
            (SharedSync::default(), AtomicU64::new(0), AtomicU64::new(0));
        let n_syncs = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let own = written.fetch_add(1, Ordering::SeqCst) + 1;
                        let sync = || {
                            let there = written.load(Ordering::SeqCst);
                            thread::yield_now();
                            synced.fetch_max(there, Ordering::SeqCst);
                            n_syncs.fetch_add(1, Ordering::SeqCst);
                            Ok::<_, ()>(())
                        };
                        shared.wait(sync).unwrap();
                        assert!(synced.load(Ordering::SeqCst) >= own);
                    }
                });
            }
        });
        assert!(n_syncs.load(Ordering::SeqCst) <= 400);
    }

    #[test]
    fn a_failure_is_told_and_the_next_sync_works() {
        let shared = SharedSync::default();
        assert_eq!(shared.wait(|| Err("full")), Err("full"));
        assert_eq!(shared.wait(|| Ok::<_, ()>(())), Ok(()));
    }
}
