//! Caches in files: one process makes them, others open them, they outlive all processes, and their
//! content is never trusted.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod support;

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use larder_segment::{Cache, Options, Session, Set};
use proptest::prelude::*;
use support::folder;

const SMALL: Options = Options { item: 512, ..Options::of_size(1 << 20) };

/// Keys of a small cache, more than it has room for.
const KEYS: u32 = 3000;

/// The value of a key: longer than a record for some.
fn value(key: u32) -> Vec<u8> {
    let len = if key.is_multiple_of(97) {
        12_000 + key as usize % 7 * 4000
    } else {
        20 + key as usize * 7 % 900
    };
    key.to_le_bytes().iter().copied().cycle().take(len).collect()
}

fn name(key: u32) -> String {
    format!("key-{key}")
}

fn filled(path: &Path) -> Arc<Cache> {
    let cache = Cache::open(path, &SMALL).unwrap();
    let mut session = cache.session();
    for key in 0..KEYS {
        session.set(name(key).as_bytes(), &value(key), &Set::default()).unwrap();
    }
    cache
}

/// The number of present keys, which must all have their own values.
fn right(session: &mut Session) -> u32 {
    let mut found = Vec::new();
    let mut right = 0;
    for key in 0..KEYS {
        if session.get(name(key).as_bytes(), &mut found).is_some() {
            assert_eq!(found, value(key), "{key}");
            right += 1;
        }
    }
    right
}

#[test]
fn two_that_open_one_file_share_it_and_it_outlives_both() {
    let folder = folder();
    let path = folder.path().join("cache");
    let first = filled(&path);
    // The file keeps its size although another one is asked for.
    let second = Cache::open(&path, &Options { size: 8 << 20, ..SMALL }).unwrap();
    assert_eq!(second.size(), SMALL.size);
    let there = right(&mut first.session());
    assert!(there > 600, "{there}");
    assert_eq!(right(&mut second.session()), there);
    first.session().set(b"new", b"from the first", &Set::default()).unwrap();
    let mut found = Vec::new();
    assert!(second.session().get(b"new", &mut found).is_some());
    assert_eq!(found, b"from the first");
    second.session().delete(b"new").unwrap();
    assert!(first.session().get(b"new", &mut found).is_none());
    let before = first.stats();
    drop((first, second));
    let third = Cache::existing(&path).unwrap().unwrap();
    assert_eq!(right(&mut third.session()), there);
    assert_eq!(third.stats().sets, before.sets);
    third.clear();
    assert_eq!(right(&mut third.session()), 0);
    assert_eq!(fs::metadata(&path).unwrap().len(), SMALL.size as u64);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn many_that_make_one_file_at_once_share_one() {
    let folder = folder();
    let path = &folder.path().join("cache");
    let open = |key: u32| {
        let cache = Cache::open(path, &SMALL).unwrap();
        cache.session().set(name(key).as_bytes(), &value(key), &Set::default()).unwrap();
        cache
    };
    let caches: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (1..9).map(|key| scope.spawn(move || open(key))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for cache in caches {
        assert_eq!(right(&mut cache.session()), 8);
    }
}

#[test]
fn what_is_no_cache_or_is_cut_short_is_refused_and_left_alone() {
    let folder = folder();
    let path = folder.path().join("cache");
    let refused = || Cache::open(&path, &SMALL).unwrap_err().to_string();
    for (bytes, why) in [
        (&b""[..], "not a segment cache"),
        (b"somebody's notes", "not a segment cache"),
        (&[0; 8192], "not a segment cache"),
    ] {
        fs::write(&path, bytes).unwrap();
        assert!(refused().contains(why), "{}", refused());
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
    fs::remove_file(&path).unwrap();
    drop(filled(&path));
    let format = fs::read(&path).unwrap()[8..16].to_vec();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(&1_u64.to_ne_bytes(), 8).unwrap();
    assert!(refused().contains("format 1"), "{}", refused());
    file.write_all_at(&format, 8).unwrap();
    file.write_all_at(&1_u64.to_ne_bytes(), 24).unwrap();
    file.write_all_at(&99_u64.to_ne_bytes(), 32).unwrap();
    assert!(refused().contains("damaged"), "{}", refused());
    fs::remove_file(&path).unwrap();
    drop(filled(&path));
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(1 << 19).unwrap();
    assert!(refused().contains("524288 bytes and was made with 1048576"), "{}", refused());
    fs::remove_file(&path).unwrap();
    for size in [1 << 16, 1 << 10] {
        let small = Options { size, ..SMALL };
        let error = Cache::open(&path, &small).unwrap_err().to_string();
        assert!(error.contains(&format!("{size} bytes: a region has 1048576 at least")), "{error}");
    }
    assert!(!path.exists());
}

#[test]
fn a_file_from_an_earlier_run_of_the_machine_is_kept_only_if_it_was_closed() {
    /// The offset of the machine's run.
    const BOOT: u64 = 384;
    let folder = folder();
    let path = folder.path().join("cache");
    let there = right(&mut filled(&path).session());
    let set = |boot: u64| {
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all_at(&boot.to_ne_bytes(), BOOT).unwrap();
    };
    // All have closed the file, as after an orderly end of the machine.
    assert_eq!(right(&mut Cache::open(&path, &SMALL).unwrap().session()), there);
    set(12_345);
    assert_eq!(right(&mut Cache::open(&path, &SMALL).unwrap().session()), 0);
}

#[test]
fn who_opens_a_file_while_the_last_one_closes_it_notes_that_it_is_open() {
    /// The offset of the machine's run, and its value in a closed file.
    const BOOT: u64 = 384;
    const CLOSED: u64 = 1;
    let folder = folder();
    let path = folder.path().join("cache");
    drop(filled(&path));
    let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    // The last process takes this lock to note that the file is closed.
    // SAFETY: all zeros are a lock; the fields that matter are set below.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    (lock.l_type, lock.l_len) = (i16::try_from(libc::F_WRLCK).unwrap(), 1);
    let (fd, lock) = (std::os::fd::AsRawFd::as_raw_fd(&file), &raw const lock);
    // SAFETY: of a file that is open, with a lock that is read only.
    assert_eq!(unsafe { libc::fcntl(fd, libc::F_OFD_SETLK, lock) }, 0);
    let opened = std::thread::scope(|scope| {
        let opened = scope.spawn(|| Cache::open(&path, &SMALL).unwrap());
        std::thread::sleep(std::time::Duration::from_millis(50));
        file.write_all_at(&CLOSED.to_ne_bytes(), BOOT).unwrap();
        drop(file);
        opened.join().unwrap()
    });
    let mut boot = [0; 8];
    OpenOptions::new().read(true).open(&path).unwrap().read_exact_at(&mut boot, BOOT).unwrap();
    assert_ne!(u64::from_ne_bytes(boot), CLOSED);
    drop(opened);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_file_gives_no_wrong_value(
        damage in prop::collection::vec((4096_u64..1 << 20, prop::collection::vec(any::<u8>(), 1..200)), 1..40),
    ) {
        let folder = folder();
        let path = folder.path().join("cache");
        drop(filled(&path));
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        for (at, bytes) in damage {
            let bytes = &bytes[..bytes.len().min(usize::try_from((1 << 20) - at).unwrap())];
            file.write_all_at(bytes, at).unwrap();
        }
        let cache = Cache::open(&path, &SMALL).unwrap();
        let mut session = cache.session();
        right(&mut session);
        for key in 0..KEYS {
            let _ = session.set(name(key).as_bytes(), &value(key), &Set::default());
            if key % 5 == 0 {
                let _ = session.delete(name(key / 2).as_bytes());
            }
        }
        right(&mut session);
    }
}

#[test]
fn a_copy_with_holes_has_none_when_it_is_open() {
    let folder = folder();
    let (path, copy) = (folder.path().join("cache"), folder.path().join("copy"));
    drop(filled(&path));
    let bytes = fs::read(&path).unwrap();
    let file = fs::File::create_new(&copy).unwrap();
    file.set_len(SMALL.size as u64).unwrap();
    for (page, at) in bytes.chunks(4096).zip((0..).step_by(4096)) {
        if page.iter().any(|byte| *byte != 0) && at != 8192 {
            file.write_all_at(page, at).unwrap();
        }
    }
    assert!(file.metadata().unwrap().blocks() * 512 < SMALL.size as u64);
    let cache = Cache::existing(&copy).unwrap().unwrap();
    assert!(file.metadata().unwrap().blocks() * 512 >= SMALL.size as u64);
    right(&mut cache.session());
}
