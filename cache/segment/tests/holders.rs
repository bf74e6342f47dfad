//! Holders of locks that do not run: stopped, killed, forked with a lock, or many more than there are processors.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod support;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::time::{Duration, Instant};

use larder_segment::{Cache, Condition, Failed, Options, Outcome, Session, Set};
use support::{Child, folder};
use tempfile::TempDir;

/// A region with one lock.
const ONE: Options = Options { item: 512, ..Options::of_size(1 << 20) };
const SHORT: Duration = Duration::from_millis(50);
/// Longer than any machine lets a process wait for a processor.
const LONG: Duration = Duration::from_mins(1);

fn set(session: &mut Session, value: &[u8]) -> Result<Outcome, Failed> {
    session.set(b"key", value, &Set::default())
}

fn get(session: &mut Session) -> Option<Vec<u8>> {
    let mut value = Vec::new();
    session.get(b"key", &mut value).map(|_| value)
}

/// A process that takes the lock of a file's only partition, and stops itself while it holds it.
fn stopped_holder(path: &Path) -> Child {
    let child = Child::fork(|| {
        let mut session = Cache::existing(path).unwrap().unwrap().session();
        let _ = session.revise(b"key", &|_, new| {
            // SAFETY: a signal to this process.
            unsafe { libc::raise(libc::SIGSTOP) };
            new.extend_from_slice(b"of the holder");
            true
        });
    });
    child.wait_until_stopped();
    child
}

/// A region with a value, and a stopped process that holds its lock: the region's folder and path, the region, the holder.
fn stored_and_held() -> (TempDir, PathBuf, Arc<Cache>, Child) {
    let folder = folder();
    let path = folder.path().join("cache");
    let cache = Cache::open(&path, &ONE).unwrap();
    set(&mut cache.session(), b"value").unwrap();
    let holder = stopped_holder(&path);
    (folder, path, cache, holder)
}

#[test]
fn a_stopped_holder_is_waited_for_once_and_the_older_value_stays() {
    let (_folder, path, cache, holder) = stored_and_held();
    let mut session = cache.session();
    session.set_patience(SHORT);
    let Err(Failed::Busy { holder: Some(thread), waited }) = set(&mut session, b"other") else {
        panic!("the lock was had from one who is stopped");
    };
    assert_eq!(thread, holder.0.unsigned_abs());
    assert!(waited >= SHORT, "{waited:?}");
    // Others do not wait for the holder, whatever their patience; only one does now and then.
    let mut other = Cache::existing(&path).unwrap().unwrap().session();
    let (began, mut waits) = (Instant::now(), 0_u64);
    other.set_patience(SHORT);
    for _ in 0..2000 {
        let Err(Failed::Busy { waited, .. }) = set(&mut other, b"other") else { panic!() };
        waits += u64::from(!waited.is_zero());
    }
    assert!(waits <= 1 + began.elapsed().as_secs(), "{waits} waited");
    assert_eq!(get(&mut other).as_deref(), Some(&b"value"[..]));
    // A delete still removes the key, and the holder does not bring the value back.
    assert_eq!(other.delete(b"key"), Ok(true));
    holder.signal(libc::SIGCONT);
    assert_eq!(holder.wait(), 0);
    assert_eq!(get(&mut session), None);
    session.set_patience(LONG);
    set(&mut session, b"after").unwrap();
    assert_eq!(cache.stats().lock_repairs, 0);
}

#[test]
fn the_lock_of_a_killed_holder_is_taken_over_even_by_one_who_never_waits() {
    for waits in [true, false] {
        let (_folder, _, cache, holder) = stored_and_held();
        let mut session = cache.session();
        assert!(session.try_set(b"key", b"other", &Set::default()).is_err());
        holder.signal(libc::SIGKILL);
        holder.wait();
        session.set_patience(LONG);
        if waits {
            set(&mut session, b"other").unwrap();
        } else {
            session.try_set(b"key", b"other", &Set::default()).unwrap();
        }
        assert_eq!(cache.stats().lock_repairs, 1);
        assert_eq!(get(&mut session).as_deref(), Some(&b"other"[..]));
    }
}

#[test]
fn a_child_goes_on_where_another_thread_of_its_parent_had_the_lock() {
    let private = Cache::private(&ONE).unwrap();
    let shared = Cache::shared(&ONE).unwrap();
    for cache in [private, shared] {
        set(&mut cache.session(), b"value").unwrap();
        let is_private = cache.descriptor().is_none();
        let ((held, is_held), (done, is_done)) = (mpsc::channel(), mpsc::channel::<()>());
        std::thread::scope(|scope| {
            let cache = &cache;
            scope.spawn(move || {
                let is_done = std::sync::Mutex::new(is_done);
                let _ = cache.session().revise(b"key", &|_, _| {
                    held.send(()).unwrap();
                    let _ = is_done.lock().unwrap().recv();
                    false
                });
            });
            is_held.recv().unwrap();
            let child = Child::fork(|| {
                let mut session = cache.session();
                session.set_patience(SHORT);
                assert_eq!(set(&mut session, b"of the child").is_ok(), is_private);
            });
            assert_eq!(child.wait(), 0, "private: {is_private}");
            drop(done);
        });
        assert_eq!(get(&mut cache.session()).as_deref(), Some(&b"value"[..]));
        set(&mut cache.session(), b"after").unwrap();
    }
}

#[test]
fn who_forks_under_the_lock_holds_it_and_the_child_does_not() {
    let cache = Cache::shared(&ONE).unwrap();
    let mut session = cache.session();
    set(&mut session, b"value").unwrap();
    let own = std::process::id();
    let revised = session.revise(b"key", &|_, new| {
        // SAFETY: the child does no more than what follows.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0);
        if pid == 0 {
            // A child that hangs is killed, because its parent waits for it.
            // SAFETY: alarm touches no memory.
            unsafe { libc::alarm(300) };
        } else {
            let mut status = -1;
            // SAFETY: no other thread waits for this child.
            unsafe { libc::waitpid(pid, &raw mut status, 0) };
            assert_eq!(status, 0);
        }
        new.extend_from_slice(if pid == 0 { b"child" } else { b"owner" });
        true
    });
    if std::process::id() != own {
        let is_refused = matches!(revised, Err(Failed::Busy { .. }));
        // SAFETY: ends this process without its parent's exit handlers.
        unsafe { libc::_exit(i32::from(!is_refused)) };
    }
    assert!(matches!(revised, Ok(Outcome::Stored(_))), "{revised:?}");
    assert_eq!(get(&mut session).as_deref(), Some(&b"owner"[..]));
}

#[test]
fn a_neighbour_with_a_quota_makes_nothing_busy() {
    let folder = folder();
    let path = folder.path().join("cache");
    let cache = Cache::open(&path, &ONE).unwrap();
    let neighbour = Child::fork(|| {
        let mut session = Cache::existing(&path).unwrap().unwrap().session();
        loop {
            session.set_patience(LONG);
            let _ = set(&mut session, &[1; 900]);
        }
    });
    let mut session = cache.session();
    let (began, mut sets) = (Instant::now(), 0_u32);
    std::thread::scope(|scope| {
        let stopping = scope.spawn(|| {
            // As the kernel does with one that may run 10 ms of 100.
            for _ in 0..20 {
                neighbour.signal(libc::SIGSTOP);
                std::thread::sleep(Duration::from_millis(90));
                neighbour.signal(libc::SIGCONT);
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        while sets <= 1000 || !stopping.is_finished() {
            assert!(began.elapsed() < 5 * LONG, "{sets} sets");
            // The neighbour may be stopped on a machine with more to do for longer than anybody waits.
            session.set_patience(LONG);
            set(&mut session, &[2; 900]).unwrap();
            sets += 1;
        }
    });
    assert_eq!(cache.stats().busy, 0, "{:?}", cache.stats());
}

#[test]
fn many_threads_that_set_one_key_all_have_their_turn() {
    let cache = Cache::private(&ONE).unwrap();
    let (together, is_over) = (Barrier::new(64), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for thread in 0..64_u64 {
            let (cache, together, is_over) = (Arc::clone(&cache), &together, &is_over);
            scope.spawn(move || {
                let mut session = cache.session();
                session.set_patience(LONG);
                together.wait();
                let began = Instant::now();
                while !is_over.load(Ordering::Relaxed) {
                    set(&mut session, &thread.to_ne_bytes().repeat(100)).unwrap();
                    is_over.fetch_or(began.elapsed() > Duration::from_secs(1), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(cache.stats().busy, 0);
    assert!(get(&mut cache.session()).is_some());
}

#[test]
fn a_version_that_was_read_holds_while_another_waits_for_the_lock() {
    let cache = Cache::private(&ONE).unwrap();
    let mut session = cache.session();
    let Ok(Outcome::Stored(version)) = set(&mut session, b"value") else { panic!() };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let set = Set { condition: Condition::Version(version), ..Set::default() };
            cache.session().set(b"key", b"by version", &set)
        });
        let revised = session.revise(b"key", &|_, new| {
            new.extend_from_slice(b"revised");
            true
        });
        let won = matches!(other.join().unwrap(), Ok(Outcome::Stored(_)));
        assert!(matches!(revised, Ok(Outcome::Stored(_))));
        let there = get(&mut cache.session()).unwrap();
        assert!(there == b"revised" || won && there == b"by version", "{there:?}");
    });
}
