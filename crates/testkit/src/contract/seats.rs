//! Seats: the number of cases that work at once. A case that only waits for a TTL gives its seat to another meanwhile.
//!
//! Most of the time of a suite is such waiting. More cases at work would shorten it as well. But then a server with a
//! deadline of seconds would share the processors with a dozen other servers.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

static SEATS: Seats =
    Seats { state: Mutex::new(State { free: 0, back: 0 }), changed: Condvar::new() };

thread_local! {
    /// Whether this thread has a seat. A case that runs by itself has no seat and needs no seat.
    static IS_SEATED: Cell<bool> = const { Cell::new(false) };
}

struct Seats {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    free: usize,
    /// The cases that want their seat back. They come first, because the entries that they check change with time.
    back: usize,
}

/// A seat, until it is dropped.
pub(super) struct Seat(());

/// Adds this number of seats.
pub(super) fn put_up(seats: usize) {
    SEATS.lock().free += seats;
    SEATS.changed.notify_all();
}

/// Waits for a seat.
pub(super) fn take() -> Seat {
    let state = SEATS.lock();
    let mut state = SEATS.wait(state, |state| state.free == 0 || state.back > 0);
    state.free -= 1;
    IS_SEATED.set(true);
    Seat(())
}

/// Waits for this time without a seat, and then until a seat is free again.
pub(super) fn wait(time: Duration) {
    if !IS_SEATED.get() {
        return sleep(time);
    }
    put_up(1);
    sleep(time);
    let mut state = SEATS.lock();
    state.back += 1;
    let mut state = SEATS.wait(state, |state| state.free == 0);
    state.free -= 1;
    state.back -= 1;
    drop(state);
    SEATS.changed.notify_all();
}

impl Drop for Seat {
    fn drop(&mut self) {
        IS_SEATED.set(false);
        put_up(1);
    }
}

impl Seats {
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

    #[test]
    fn a_waiting_case_leaves_its_seat_to_another() {
        const TIME: Duration = Duration::from_millis(300);
        // The only seat of this process, because no suite runs in it.
        put_up(1);
        let (working, waiting) = (Mutex::new((0, 0)), Mutex::new((0, 0)));
        let count = |of: &Mutex<(i32, i32)>, change: i32| {
            let mut most = of.lock().unwrap();
            most.0 += change;
            most.1 = most.0.max(most.1);
        };
        std::thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| {
                    let _seat = take();
                    count(&working, 1);
                    count(&working, -1);
                    count(&waiting, 1);
                    wait(TIME);
                    count(&waiting, -1);
                    count(&working, 1);
                    count(&working, -1);
                });
            }
        });
        assert_eq!(working.into_inner().unwrap(), (0, 1));
        assert!(waiting.into_inner().unwrap().1 > 1, "they waited one after the other");
        assert!(!IS_SEATED.get());
    }
}
