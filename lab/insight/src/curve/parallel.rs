//! Simulations side by side, one on each thread.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The results of the jobs below `n`, in their order. The threads change nothing but the time.
pub(crate) fn map<T: Send>(n: usize, threads: usize, job: impl Fn(usize) -> T + Sync) -> Vec<T> {
    if threads < 2 || n < 2 {
        return (0..n).map(job).collect();
    }
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, T)>> = Mutex::new(Vec::with_capacity(n));
    let work = || loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= n {
            return;
        }
        let result = job(number);
        done.lock().unwrap_or_else(PoisonError::into_inner).push((number, result));
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(n) {
            scope.spawn(work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}
