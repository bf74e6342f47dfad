//! The gate before the transactions of this process: LMDB replaces a map by another only while no transaction is active.
//!
//! A pass costs two atomic operations on a counter that a thread shares with few others, so reads do not slow each other
//! down. Whoever closes the gate waits until all passes are given back; meanwhile no thread gets one.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The number of counters.
const COUNTERS: usize = 32;

/// The pause between two looks at the passes that are out.
const LOOK: Duration = Duration::from_micros(50);

/// The gate.
#[derive(Debug, Default)]
pub(super) struct Gate {
    passes: [Passes; COUNTERS],
    is_closed: AtomicBool,
    /// Held by the one thread that has the gate closed.
    closing: Mutex<()>,
    opened: Condvar,
}

/// A number of passes that are out, in cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Passes(AtomicUsize);

/// The right to have a transaction.
#[derive(Debug)]
pub(super) struct Pass<'g>(&'g AtomicUsize);

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

impl Gate {
    /// Takes a pass, once the gate is open.
    pub(super) fn enter(&self) -> Pass<'_> {
        let passes = &self.passes[own_counter()].0;
        loop {
            // One of the two threads sees the other, because both first write and then read, in one order for all.
            passes.fetch_add(1, Ordering::SeqCst);
            let pass = Pass(passes);
            if !self.is_closed.load(Ordering::SeqCst) {
                return pass;
            }
            drop(pass);
            self.wait();
        }
    }

    /// Whether a thread wants all passes back.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    fn wait(&self) {
        // No code that may panic runs under the lock.
        let closing = self.closing.lock().unwrap_or_else(PoisonError::into_inner);
        let is_closed = |(): &mut ()| self.is_closed.load(Ordering::SeqCst);
        drop(self.opened.wait_while(closing, is_closed));
    }

    /// Does `work` while no pass is out. `None` where a pass stays out for longer than `patience`, as the calling thread's own
    /// pass does.
    pub(super) fn alone<T>(&self, patience: Duration, work: impl FnOnce() -> T) -> Option<T> {
        let closing = self.closing.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_closed.store(true, Ordering::SeqCst);
        let until = Instant::now() + patience;
        let done = loop {
            if self.passes.iter().all(|passes| passes.0.load(Ordering::SeqCst) == 0) {
                break Some(work());
            }
            if Instant::now() >= until {
                break None;
            }
            sleep(LOOK);
        };
        self.is_closed.store(false, Ordering::SeqCst);
        drop(closing);
        self.opened.notify_all();
        done
    }
}

/// The counter of this thread.
fn own_counter() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: Cell<usize> = Cell::new(NEXT.fetch_add(1, Ordering::Relaxed) % COUNTERS);
    }
    OWN.get()
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn nobody_has_a_pass_while_one_is_alone_and_all_go_on_after_it() {
        let gate = &Gate::default();
        let (inside, is_over) = (&AtomicUsize::new(0), &AtomicBool::new(false));
        let n_passes = &AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(move || {
                    while !is_over.load(Ordering::Relaxed) {
                        let _pass = gate.enter();
                        inside.fetch_add(1, Ordering::Relaxed);
                        n_passes.fetch_add(1, Ordering::Relaxed);
                        inside.fetch_sub(1, Ordering::Relaxed);
                    }
                });
            }
            for n in 0..200 {
                let found = gate.alone(Duration::from_mins(1), || inside.load(Ordering::Relaxed));
                assert_eq!(found, Some(0), "{n}");
            }
            let before = n_passes.load(Ordering::Relaxed);
            while n_passes.load(Ordering::Relaxed) == before {
                thread::yield_now();
            }
            is_over.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn a_pass_that_stays_out_stops_the_one_that_waits_and_no_other() {
        let gate = Gate::default();
        let pass = gate.enter();
        assert_eq!(gate.alone(Duration::from_millis(1), || ()), None);
        drop((gate.enter(), pass));
        assert_eq!(gate.alone(Duration::from_millis(1), || ()), Some(()));
    }
}
