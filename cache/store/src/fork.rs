//! Processes that are forked while they have a store open.
//!
//! A forked child has a copy of its parent's memory, and shares its parent's sockets and files. A request of the child on
//! such a socket would take an answer of the parent's. So the owner of a socket, a server or a folder notes its
//! [`Process`], and does nothing in any other. A value that belongs to a process as a whole is [`PerProcess`].
//!
//! The C library counts the forks (`pthread_atfork`), which costs a look at a number in memory. A child that was made by
//! a bare system call is not seen.

use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

/// The number of forks between this process and the first process that asked.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// A process, distinguished from its forked children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process(u32);

impl Process {
    /// The process that calls. From the first call on, forks are counted.
    pub fn current() -> Self {
        static IS_WATCHED: AtomicBool = AtomicBool::new(false);
        at_least_once(&IS_WATCHED, || {
            // If the system has no memory for this, a child is not distinguished from its parent.
            // SAFETY: the function only adds to a number, which may be done in a child.
            let _ = unsafe { libc::pthread_atfork(None, None, Some(count)) };
        });
        Self(generation())
    }

    /// Whether this is the process that calls, and not one that it was forked from.
    #[inline]
    pub fn is_current(self) -> bool {
        self.0 == generation()
    }
}

/// Does `work` unless it was done before; when this returns, it is done.
///
/// No thread waits for another one, as it would for a [`Once`](std::sync::Once) or a [`OnceLock`](std::sync::OnceLock). A child that is
/// forked while another thread works has no such thread, and would wait for ever. So two threads may both work, and `work` must be right
/// more than once.
pub fn at_least_once(is_done: &AtomicBool, work: impl FnOnce()) {
    if !is_done.load(Ordering::Acquire) {
        work();
        is_done.store(true, Ordering::Release);
    }
}

/// Only the forking thread exists in a child, and the number is older than the child. So no order is needed.
#[inline]
fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// Runs in a child that has just been forked.
extern "C" fn count() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// A static value that begins anew in a forked child. The values of earlier processes are kept, because other threads of
/// the parent may have been changing them at the fork.
pub struct PerProcess<T: 'static> {
    newest: AtomicPtr<Made<T>>,
}

struct Made<T: 'static> {
    process: Process,
    value: T,
    /// The value of the process from which that process was forked.
    older: Option<&'static Self>,
}

impl<T> fmt::Debug for PerProcess<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerProcess").finish_non_exhaustive()
    }
}

impl<T: Default + Send + Sync> PerProcess<T> {
    /// No value yet: [`get`](Self::get) makes it.
    pub const fn new() -> Self {
        Self { newest: AtomicPtr::new(ptr::null_mut()) }
    }

    /// The value of this process.
    pub fn get(&self) -> &'static T {
        let process = Process::current();
        let mut older = self.newest();
        loop {
            if let Some(made) = older.filter(|made| made.process == process) {
                return &made.value;
            }
            let made = Box::into_raw(Box::new(Made { process, value: T::default(), older }));
            let expected = older.map_or(ptr::null_mut(), |older| ptr::from_ref(older).cast_mut());
            let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
            if self.newest.compare_exchange(expected, made, success, failure).is_ok() {
                // SAFETY: it was just made, and is never freed.
                return unsafe { &(*made).value };
            }
            // Another thread of this process was faster.
            // SAFETY: it was just made, and no other code has seen it.
            drop(unsafe { Box::from_raw(made) });
            older = self.newest();
        }
    }

    /// The values of the processes from which this one was forked, the nearest first. A lock in them may be held by a
    /// thread that does not exist here.
    pub fn inherited(&self) -> impl Iterator<Item = &'static T> + use<T> {
        let process = Process::current();
        let all = std::iter::successors(self.newest(), |made| made.older);
        all.filter(move |made| made.process != process).map(|made| &made.value)
    }

    fn newest(&self) -> Option<&'static Made<T>> {
        // SAFETY: null, or a value that was made in `get` and is never freed.
        unsafe { self.newest.load(Ordering::Acquire).as_ref() }
    }
}

impl<T: Default + Send + Sync> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn no_thread_waits_for_another_that_works_once() {
        static IS_DONE: AtomicBool = AtomicBool::new(false);
        let ((begins, begun), (ends, ended)) = (channel(), channel());
        let other = std::thread::spawn(move || {
            at_least_once(&IS_DONE, || {
                begins.send(()).unwrap();
                ended.recv().unwrap();
            });
        });
        begun.recv().unwrap();
        // The other thread is in the midst of it, as at the fork of a child that does not have it.
        let mut has_worked = false;
        at_least_once(&IS_DONE, || has_worked = true);
        assert!(has_worked);
        at_least_once(&IS_DONE, || panic!("it was done before"));
        ends.send(()).unwrap();
        other.join().unwrap();
    }
}
