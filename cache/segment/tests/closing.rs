//! Closing a file: only the last process that closes it marks it clean, also when several close at once. A process
//! whose forked child still has the file open does not mark it.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod support;

use std::path::Path;
use std::sync::{Barrier, Mutex, MutexGuard, PoisonError};

use larder_segment::{Cache, End, Options, Set, Survey};
use larder_testkit::{fork, has_succeeded, signal};
use support::folder;

const SMALL: Options = Options { item: 512, ..Options::of_size(1 << 20) };

/// Lets one test run after the other, because a forked child has the files of all tests open.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a file is open, and the end that it notes.
fn state(path: &Path) -> (Option<bool>, End) {
    let survey = Survey::of_file(path).unwrap().unwrap();
    (survey.is_open, survey.end)
}

#[test]
fn of_those_who_close_it_together_one_says_so() {
    let (_alone, folder) = (alone(), folder());
    let path = folder.path().join("cache");
    for round in 0..50 {
        let together = Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let cache = Cache::open(&path, &SMALL).unwrap();
                    cache.session().set(b"key", b"value", &Set::default()).unwrap();
                    together.wait();
                    drop(cache);
                });
            }
        });
        assert_eq!(state(&path), (Some(false), End::Closed), "round {round}");
    }
}

/// Sets the number of files that this process may have open, and returns the earlier number.
fn may_have(files: libc::rlim_t) -> libc::rlim_t {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes a limit to a place for one, and reads one.
    unsafe {
        assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit), 0);
        let before = limit.rlim_cur;
        limit.rlim_cur = files;
        assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit), 0);
        before
    }
}

#[test]
fn a_file_is_not_closed_while_a_child_has_it_by_its_parents_lock() {
    let (_alone, folder) = (alone(), folder());
    let path = folder.path().join("cache");
    // A process by itself, because other threads of this one may need to open files.
    let parent = fork(|| {
        let cache = Cache::open(&path, &SMALL).unwrap();
        let before = may_have(3);
        let child = fork(|| {
            // SAFETY: waits for a signal.
            unsafe { libc::pause() };
        });
        may_have(before);
        drop(cache);
        let seen = std::panic::catch_unwind(|| {
            assert_eq!(state(&path), (Some(true), End::Open));
            // Other processes may join, and do not take themselves for alone.
            drop(Cache::existing(&path).unwrap().unwrap());
            assert_eq!(state(&path), (Some(true), End::Open));
        });
        signal(child.unsigned_abs(), libc::SIGKILL);
        has_succeeded(child);
        assert!(seen.is_ok());
        assert_eq!(state(&path), (Some(false), End::Open));
    });
    assert!(has_succeeded(parent));
    drop(Cache::existing(&path).unwrap().unwrap());
    assert_eq!(state(&path), (Some(false), End::Closed));
}

#[test]
fn who_has_forked_says_that_he_is_the_last_once_he_is() {
    let (_alone, folder) = (alone(), folder());
    let path = folder.path().join("cache");
    let cache = Cache::open(&path, &SMALL).unwrap();
    assert!(has_succeeded(fork(|| {})));
    drop(cache);
    assert_eq!(state(&path), (Some(false), End::Closed));
}
