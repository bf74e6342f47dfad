//! Permits: the number of cases that work at once. A case that only waits for a TTL gives its permit to another meanwhile.
//!
//! Most of the time of a suite is such waiting. More cases at work would shorten it as well. But then a server with a
//! deadline of seconds would share the processors with a dozen other servers.
//!
//! A target whose cases work one at a time has a single permit of its own, which each of them takes besides.

use std::cell::Cell;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

static PERMITS: Semaphore = Semaphore::new(0);

thread_local! {
    /// The permits of this thread's case. A case that runs by itself has no permit and needs no permit.
    static HELD: Cell<Option<OpenPermit>> = const { Cell::new(None) };
}

/// A number of permits that cases share.
pub(super) struct Semaphore {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    free: usize,
    /// The cases that want their permit back. They come first, because the entries that they check change with time.
    returning: usize,
}

/// A permit of the suite, and the permit of a target whose cases work one at a time.
struct OpenPermit {
    of_target: Option<Arc<Semaphore>>,
}

/// The permits of a case, until they are dropped.
pub(super) struct Permit(());

/// Adds this number of permits.
pub(super) fn add(permits: usize) {
    PERMITS.add(permits);
}

/// Waits for a permit, and before that for the permit of a target whose cases work one at a time.
pub(super) fn acquire(of_target: Option<&Arc<Semaphore>>) -> Permit {
    if let Some(permits) = of_target {
        permits.acquire();
    }
    PERMITS.acquire();
    HELD.set(Some(OpenPermit { of_target: of_target.cloned() }));
    Permit(())
}

/// Waits for this time without a permit, and then until a permit is free again.
pub(super) fn wait(time: Duration) {
    let Some(taken) = HELD.take() else { return sleep(time) };
    taken.release();
    sleep(time);
    if let Some(permits) = &taken.of_target {
        permits.reacquire();
    }
    PERMITS.reacquire();
    HELD.set(Some(taken));
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(taken) = HELD.take() {
            taken.release();
        }
    }
}

impl OpenPermit {
    fn release(&self) {
        PERMITS.add(1);
        if let Some(permits) = &self.of_target {
            permits.add(1);
        }
    }
}

impl Semaphore {
    /// A semaphore of this many permits.
    pub(super) const fn new(free: usize) -> Self {
        Self { state: Mutex::new(State { free, returning: 0 }), changed: Condvar::new() }
    }

    fn add(&self, permits: usize) {
        self.lock().free += permits;
        self.changed.notify_all();
    }

    fn acquire(&self) {
        let state = self.lock();
        let mut state = self.wait(state, |state| state.free == 0 || state.returning > 0);
        state.free -= 1;
    }

    fn reacquire(&self) {
        let mut state = self.lock();
        state.returning += 1;
        let mut state = self.wait(state, |state| state.free == 0);
        state.free -= 1;
        state.returning -= 1;
        drop(state);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(
        &self,
        state: MutexGuard<'a, State>,
        while_so: impl Fn(&State) -> bool,
    ) -> MutexGuard<'a, State> {
        let waited = self.changed.wait_while(state, |state| while_so(state));
        waited.unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Duration = Duration::from_millis(300);

    /// The number that do something now, and the most that did it at once.
    #[derive(Default)]
    struct Most(Mutex<(i32, i32)>);

    impl Most {
        fn count<T>(&self, act: impl FnOnce() -> T) -> T {
            let change = |by: i32| {
                let mut most = self.0.lock().unwrap();
                most.0 += by;
                most.1 = most.0.max(most.1);
            };
            change(1);
            let done = act();
            change(-1);
            done
        }

        fn most(&self) -> i32 {
            self.0.lock().unwrap().1
        }
    }

    /// Twenty cases that work, wait and work again: the most that worked and that waited at once.
    fn work_and_wait(of_target: Option<&Arc<Semaphore>>) -> (i32, i32) {
        let (working, waiting) = (Most::default(), Most::default());
        std::thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| {
                    let _permit = acquire(of_target);
                    working.count(std::thread::yield_now);
                    waiting.count(|| wait(TIME));
                    working.count(std::thread::yield_now);
                });
            }
        });
        (working.most(), waiting.most())
    }

    #[test]
    fn a_waiting_case_leaves_its_seat_to_another() {
        // The only permit of this process, because no suite runs in it.
        add(1);
        let (working, waiting) = work_and_wait(None);
        assert_eq!(working, 1);
        assert!(waiting > 1, "they waited one after the other");
        // With permits for all, the single permit of a target decides.
        add(20);
        let (working, waiting) = work_and_wait(Some(&Arc::new(Semaphore::new(1))));
        assert_eq!(working, 1);
        assert!(waiting > 1, "they waited one after the other");
        assert!(HELD.take().is_none());
    }
}
