//! A lock's operating system, as the model checker has it. No thread sleeps, and each reading of the clock is a second later
//! than the one before. A killed thread counts as dead.

use std::cell::Cell;
use std::time::Duration;

use crate::memory::{self, AtomicU64};

pub(crate) const THREAD_BITS: u32 = 22;

pub(crate) fn sleep(_: &AtomicU64, _: u32, _: Duration) {
    loom::thread::yield_now();
}

pub(crate) fn wake(_: &AtomicU64) {}

pub(crate) fn thread() -> u32 {
    memory::me() + 1
}

pub(crate) fn is_gone(thread: u32) -> bool {
    memory::is_dead(thread - 1)
}

loom::thread_local! {
    static LOOKS: Cell<u64> = Cell::new(0);
}

pub(crate) fn now() -> Duration {
    LOOKS.with(|looks| {
        looks.set(looks.get() + 1);
        Duration::from_secs(looks.get())
    })
}

pub(crate) fn pause() {}
