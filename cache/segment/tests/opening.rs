//! Opening a file: a process must know its predecessors' state, and the disk must know enough before it goes on.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod support;

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use larder_segment::{Cache, Options, Refused, Set};
use support::folder;

const SMALL: Options = Options { item: 512, ..Options::of_size(1 << 20) };

/// The offsets of the number of clears, and of the machine's run.
const CLEARED: u64 = 256;
const BOOT: u64 = 384;
/// The marks of a closed file, and of a file of another run.
const CLOSED: u64 = 1;
const OTHER: u64 = 0x1234_5672;

thread_local! {
    /// The first page as this thread last wrote it to the disk.
    static ON_DISK: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// The same page at the time at which this thread gave a file its name.
    static NAMED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Replaces the C library's function, and notes the page that it writes to the disk.
#[unsafe(no_mangle)]
extern "C" fn msync(at: *mut libc::c_void, len: usize, flags: i32) -> i32 {
    // SAFETY: synced memory is mapped.
    let page = unsafe { std::slice::from_raw_parts(at.cast::<u8>(), len.min(4096)) };
    if flags == libc::MS_SYNC {
        ON_DISK.set(page.to_vec());
    }
    // SAFETY: as the caller promises.
    let answer = unsafe { libc::syscall(libc::SYS_msync, at, len, flags) };
    i32::try_from(answer).unwrap()
}

/// Likewise.
#[unsafe(no_mangle)]
extern "C" fn linkat(
    from: i32,
    old: *const libc::c_char,
    to: i32,
    new: *const libc::c_char,
    flags: i32,
) -> i32 {
    NAMED.set(ON_DISK.with_borrow(Clone::clone));
    // SAFETY: as the caller promises.
    let answer = unsafe { libc::syscall(libc::SYS_linkat, from, old, to, new, flags) };
    if answer == 0 { 0 } else { -1 }
}

/// Likewise. A larger piece takes so long that there is always a signal.
#[unsafe(no_mangle)]
extern "C" fn posix_fallocate(file: i32, at: libc::off_t, len: libc::off_t) -> i32 {
    if len > 1 << 18 {
        return libc::EINTR;
    }
    // SAFETY: as the caller promises.
    let answer = unsafe { libc::syscall(libc::SYS_fallocate, file, 0, at, len) };
    if answer == 0 { 0 } else { libc::EIO }
}

fn word(bytes: &[u8], at: u64) -> u64 {
    let at = usize::try_from(at).unwrap();
    u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn read(path: &Path, at: u64) -> u64 {
    word(&fs::read(path).unwrap(), at)
}

fn write(path: &Path, at: u64, word: u64) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(&word.to_ne_bytes(), at).unwrap();
}

fn set(cache: &Arc<Cache>, key: &[u8], value: &[u8]) {
    cache.session().set(key, value, &Set::default()).unwrap();
}

fn has(cache: &Arc<Cache>, key: &[u8]) -> bool {
    cache.session().get(key, &mut Vec::new()).is_some()
}

/// A file with one key, closed.
fn closed(path: &Path) {
    let cache = Cache::open(path, &SMALL).unwrap();
    set(&cache, b"key", b"value");
    drop(cache);
    assert_eq!(read(path, BOOT), CLOSED);
}

/// The file, with a lock as a user or a lone process would hold it.
fn locked(path: &Path, kind: i32) -> File {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    // SAFETY: all zeros are a lock; the fields that matter are set below.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    (lock.l_type, lock.l_len) = (i16::try_from(kind).unwrap(), 1);
    // SAFETY: of a file that is open, with a lock that is read only.
    assert_eq!(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) }, 0);
    file
}

#[test]
fn the_disk_knows_that_a_file_is_open_before_it_is_used() {
    let folder = folder();
    let path = folder.path().join("cache");
    closed(&path);
    let mut disk = fs::read(&path).unwrap();
    ON_DISK.set(disk[..4096].to_vec());
    let cache = Cache::open(&path, &SMALL).unwrap();
    cache.session().delete(b"key").unwrap();
    // The machine goes down, and only awaited writes have reached the disk.
    ON_DISK.with_borrow(|page| disk[..4096].copy_from_slice(page));
    let after = folder.path().join("after");
    fs::write(&after, &disk).unwrap();
    if word(&disk, BOOT) != CLOSED {
        write(&after, BOOT, OTHER | word(&disk, BOOT) & 1);
    }
    assert!(!has(&Cache::open(&after, &SMALL).unwrap(), b"key"), "what was deleted is back");
}

#[test]
fn the_disk_knows_what_a_file_is_before_it_has_a_name() {
    let folder = folder();
    let path = folder.path().join("cache");
    drop(Cache::open(&path, &SMALL).unwrap());
    let (named, now) = (NAMED.take(), fs::read(&path).unwrap());
    assert_eq!(named.get(..14 * 8), Some(&now[..14 * 8]));
    let blocks = std::os::unix::fs::MetadataExt::blocks(&fs::metadata(&path).unwrap());
    assert!(blocks * 512 >= SMALL.size as u64, "{blocks} blocks are set aside");
    assert_ne!(word(&named, BOOT), CLOSED);
}

#[test]
fn what_was_lost_stays_lost_however_old_the_first_page_is() {
    let folder = folder();
    let path = folder.path().join("cache");
    // The number of clears that the disk knows, and the number before the key was set.
    for (is, before) in [(1, 1), (2, 5), (5, 5), (6, 5), ((9 << 32) - 1, (9 << 32) + 3)] {
        let _ = fs::remove_file(&path);
        drop(Cache::open(&path, &SMALL).unwrap());
        write(&path, CLEARED, before);
        closed(&path);
        write(&path, CLEARED, is);
        write(&path, BOOT, OTHER);
        let cache = Cache::open(&path, &SMALL).unwrap();
        for more in 0..8 {
            assert!(!has(&cache, b"key"), "{is} in place of {before}, and cleared {more} times");
            cache.clear();
        }
    }
}

#[test]
fn slots_that_are_newer_than_their_segment_mean_nothing_when_it_is_begun() {
    let folder = folder();
    let path = folder.path().join("cache");
    let cache = Cache::open(&path, &SMALL).unwrap();
    set(&cache, b"first", b"value");
    set(&cache, b"second", b"value");
    drop(cache);
    // The segments' words and notes have not reached the disk.
    let bytes = fs::read(&path).unwrap();
    let (first, segments) = (4096 + word(&bytes, 64) * 128 + 8640, word(&bytes, 32));
    (0..segments * 5).for_each(|i| write(&path, first + i * 8, 0));
    write(&path, BOOT, OTHER);
    let cache = Cache::open(&path, &SMALL).unwrap();
    set(&cache, b"third", b"value");
    assert!(has(&cache, b"third") && !has(&cache, b"first") && !has(&cache, b"second"));
}

#[test]
fn whoever_waits_for_one_who_is_killed_does_what_he_had_to_do() {
    let folder = folder();
    let path = folder.path().join("cache");
    closed(&path);
    write(&path, BOOT, OTHER);
    let alone = locked(&path, libc::F_WRLCK);
    let opened = std::thread::scope(|scope| {
        let opened = scope.spawn(|| Cache::open(&path, &SMALL).unwrap());
        std::thread::sleep(Duration::from_millis(50));
        drop(alone);
        opened.join().unwrap()
    });
    assert!(!has(&opened, b"key"), "a value of a run that was lost");
    // A process that is killed later: it has looked at the file and not yet made the locks.
    set(&opened, b"key", b"value");
    let run = read(&path, BOOT);
    drop(opened);
    write(&path, BOOT, run | 1);
    let cache = Cache::open(&path, &SMALL).unwrap();
    assert!(has(&cache, b"key"));
    assert_eq!(read(&path, BOOT), run);
}

#[test]
fn many_who_open_a_closed_file_at_once_all_get_it() {
    let folder = folder();
    let path = folder.path().join("cache");
    closed(&path);
    for _ in 0..20 {
        std::thread::scope(|scope| {
            let open = || assert!(has(&Cache::existing(&path).unwrap().unwrap(), b"key"));
            let threads: Vec<_> = (0..6).map(|_| scope.spawn(open)).collect();
            assert!(threads.into_iter().all(|thread| thread.join().is_ok()));
        });
    }
}

#[test]
fn a_link_to_nothing_is_refused_at_once() {
    let folder = folder();
    let path = folder.path().join("cache");
    std::os::unix::fs::symlink(folder.path().join("nothing"), &path).unwrap();
    let link = path.clone();
    let opened = std::thread::spawn(move || Cache::open(&link, &SMALL).map(drop));
    let began = Instant::now();
    while !opened.is_finished() {
        assert!(began.elapsed() < Duration::from_mins(5), "it goes on for ever");
        std::thread::sleep(Duration::from_millis(5));
    }
    let error = opened.join().unwrap().unwrap_err().to_string();
    let wanted = format!("{}: is a link to nothing", path.display());
    assert!(error.starts_with(&wanted) && !error.contains('\n'), "{error}");
    assert!(!folder.path().join("nothing").exists());
    closed(&folder.path().join("something"));
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(folder.path().join("something"), &path).unwrap();
    assert!(has(&Cache::open(&path, &SMALL).unwrap(), b"key"));
}

#[test]
fn nobody_is_waited_for_without_end() {
    let folder = folder();
    let open = |name: &str, kind| {
        let path = folder.path().join(name);
        closed(&path);
        let stopped = locked(&path, kind);
        let (began, opened) = (Instant::now(), std::thread::spawn(move || Cache::existing(&path)));
        while !opened.is_finished() {
            assert!(began.elapsed() < Duration::from_mins(5), "it waits for ever");
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(stopped);
        let refused = opened.join().unwrap().unwrap_err();
        assert!(matches!(refused, Refused::Busy), "{refused}");
        assert!(began.elapsed() > Duration::from_secs(4), "{:?}", began.elapsed());
    };
    std::thread::scope(|scope| {
        scope.spawn(|| open("alone", libc::F_WRLCK));
        // A process that has not yet noted that the locks belong to this run.
        scope.spawn(|| open("shared", libc::F_RDLCK));
    });
}

#[test]
fn signals_do_not_fail_an_open() {
    extern "C" fn nothing(_: i32) {}
    // SAFETY: all zeros are an action without flags, so an interrupted call is not restarted.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = nothing as extern "C" fn(i32) as usize;
    // SAFETY: a handler that does nothing.
    unsafe { libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()) };
    let folder = folder();
    let path = folder.path().join("cache");
    closed(&path);
    let alone = locked(&path, libc::F_WRLCK);
    // SAFETY: asks for the number of this thread.
    let thread = unsafe { libc::pthread_self() };
    let opened = std::thread::scope(|scope| {
        scope.spawn(|| {
            let began = Instant::now();
            let _alone = alone;
            while began.elapsed() < Duration::from_millis(50) {
                // SAFETY: of a thread that waits for this one to end.
                unsafe { libc::pthread_kill(thread, libc::SIGUSR1) };
                std::thread::sleep(Duration::from_micros(50));
            }
        });
        Cache::open(&path, &SMALL).map(drop)
    });
    opened.unwrap();
}
