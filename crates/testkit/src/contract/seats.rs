//! Seats: the number of cases that work at once. A case that only waits for a TTL gives its seat to another meanwhile.
//!
//! Most of the time of a suite is such waiting. More cases at work would shorten it as well. But then a server with a
//! deadline of seconds would share the processors with a dozen other servers.
//!
//! A target whose cases work one at a time has a single seat of its own, which each of them takes besides.

use std::cell::Cell;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

static SEATS: Seats = Seats::new(0);

thread_local! {
    /// The seats of this thread's case. A case that runs by itself has no seat and needs no seat.
    static TAKEN: Cell<Option<Taken>> = const { Cell::new(None) };
}

/// A number of seats.
pub(super) struct Seats {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    free: usize,
    /// The cases that want their seat back. They come first, because the entries that they check change with time.
    back: usize,
}

/// A seat of the suite, and the seat of a target whose cases work one at a time.
struct Taken {
    of_target: Option<Arc<Seats>>,
}

/// The seats of a case, until they are dropped.
pub(super) struct Seat(());

/// Adds this number of seats.
pub(super) fn put_up(seats: usize) {
    SEATS.add(seats);
}

/// Waits for a seat, and before that for the seat of a target whose cases work one at a time.
pub(super) fn take(of_target: Option<&Arc<Seats>>) -> Seat {
    if let Some(seats) = of_target {
        seats.take();
    }
    SEATS.take();
    TAKEN.set(Some(Taken { of_target: of_target.cloned() }));
    Seat(())
}

/// Waits for this time without a seat, and then until a seat is free again.
pub(super) fn wait(time: Duration) {
    let Some(taken) = TAKEN.take() else { return sleep(time) };
    taken.leave();
    sleep(time);
    if let Some(seats) = &taken.of_target {
        seats.take_back();
    }
    SEATS.take_back();
    TAKEN.set(Some(taken));
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(taken) = TAKEN.take() {
            taken.leave();
        }
    }
}

impl Taken {
    fn leave(&self) {
        SEATS.add(1);
        if let Some(seats) = &self.of_target {
            seats.add(1);
        }
    }
}

impl Seats {
    /// So many seats.
    pub(super) const fn new(free: usize) -> Self {
        Self { state: Mutex::new(State { free, back: 0 }), changed: Condvar::new() }
    }

    fn add(&self, seats: usize) {
        self.lock().free += seats;
        self.changed.notify_all();
    }

    fn take(&self) {
        let state = self.lock();
        let mut state = self.wait(state, |state| state.free == 0 || state.back > 0);
        state.free -= 1;
    }

    fn take_back(&self) {
        let mut state = self.lock();
        state.back += 1;
        let mut state = self.wait(state, |state| state.free == 0);
        state.free -= 1;
        state.back -= 1;
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
    fn work_and_wait(of_target: Option<&Arc<Seats>>) -> (i32, i32) {
        let (working, waiting) = (Most::default(), Most::default());
        std::thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| {
                    let _seat = take(of_target);
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
        // The only seat of this process, because no suite runs in it.
        put_up(1);
        let (working, waiting) = work_and_wait(None);
        assert_eq!(working, 1);
        assert!(waiting > 1, "they waited one after the other");
        // With seats for all, the single seat of a target decides.
        put_up(20);
        let (working, waiting) = work_and_wait(Some(&Arc::new(Seats::new(1))));
        assert_eq!(working, 1);
        assert!(waiting > 1, "they waited one after the other");
        assert!(TAKEN.take().is_none());
    }
}
