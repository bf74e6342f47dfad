//! Untrusted neighbours: a process that writes anywhere in the region, and files of another user.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod support;

use std::fs::{self, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use larder_segment::{Cache, Options, Set};
use support::folder;

const SMALL: Options = Options { item: 512, ..Options::of_size(1 << 20) };

/// The part of a partition before its segments' words, which the notes follow.
const BEFORE_SEGMENTS: u64 = 8640;

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(*bytes[at..].first_chunk().unwrap())
}

/// A region's words, as a neighbour has them mapped.
fn mapped(path: &Path) -> &'static [AtomicU64] {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let (protection, fd) = (libc::PROT_READ | libc::PROT_WRITE, file.as_raw_fd());
    // SAFETY: a new mapping, of a file that is long enough and never made shorter.
    let words = unsafe {
        libc::mmap(std::ptr::null_mut(), SMALL.size, protection, libc::MAP_SHARED, fd, 0)
    };
    assert_ne!(words, libc::MAP_FAILED);
    // SAFETY: mapped for ever, and of atomics only.
    unsafe { std::slice::from_raw_parts(words.cast(), SMALL.size / 8) }
}

#[test]
fn a_writer_beside_one_that_scribbles_on_the_notes_goes_on() {
    let folder = folder();
    let path = folder.path().join("cache");
    let cache = Cache::open(&path, &SMALL).unwrap();
    let bytes = fs::read(&path).unwrap();
    let (lines, segments) = (word(&bytes, 64), word(&bytes, 32));
    let first = 4096 + lines * 128 + BEFORE_SEGMENTS + segments * 8;
    let notes = mapped(&path);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Ends far outside of the region, just outside of the segment, and right ones, in turn.
            for end in [u64::from(u32::MAX), 1 << 20, 40_000, 64].into_iter().cycle() {
                for segment in 0..segments {
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    let at = usize::try_from((first + segment * 32) / 8).unwrap();
                    notes[at].store(end << 32 | 1, Ordering::Relaxed);
                }
            }
        });
        let written = scope.spawn(|| {
            let mut session = cache.session();
            for key in 0..60_000_u32 {
                let _ = session.set(&key.to_ne_bytes(), &[7; 200], &Set::default());
            }
        });
        let written = written.join();
        is_over.store(true, Ordering::Relaxed);
        assert!(written.is_ok(), "a writer followed what its neighbour had written");
    });
}

fn refused(path: &Path) -> Option<String> {
    Cache::open(path, &SMALL).err().map(|why| why.to_string())
}

#[test]
fn a_file_that_others_may_write_is_refused_by_its_mode() {
    let folder = folder();
    let path = folder.path().join("cache");
    drop(Cache::open(&path, &SMALL).unwrap());
    for (mode, wanted) in [(0o666, false), (0o620, false), (0o644, true), (0o600, true)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let why = refused(&path);
        assert_eq!(why.is_none(), wanted, "{mode:o}: {why:?}");
        let says = format!("(mode {mode:03o}): chmod go-w");
        assert!(wanted || why.is_some_and(|why| why.contains(&says)), "{mode:o}");
    }
}

/// This test needs root, because only root can give a file away.
#[test]
fn a_file_or_link_of_another_user_is_refused_by_its_owner() {
    let folder = folder();
    let (path, link) = (folder.path().join("cache"), folder.path().join("link"));
    drop(Cache::open(&path, &SMALL).unwrap());
    std::os::unix::fs::symlink(&path, &link).unwrap();
    if std::os::unix::fs::lchown(&link, Some(65534), None).is_err() {
        eprintln!("not root: nothing was tried");
        return;
    }
    // Nobody else can have put the link there, because nobody else may write the folder.
    assert_eq!(refused(&link), None);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    let says = "belongs to user 65534, and this process is user 0";
    assert!(refused(&link).is_some_and(|why| why.contains(says)));
    assert_eq!(refused(&path), None);
    std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
    assert!(refused(&path).is_some_and(|why| why.contains(says)));
}

#[test]
fn a_file_that_says_it_is_large_takes_no_more_room_than_is_allowed() {
    let folder = folder();
    let (path, sparse) = (folder.path().join("cache"), folder.path().join("sparse"));
    let large = Options { size: 16 << 20, ..SMALL };
    drop(Cache::open(&path, &large).unwrap());
    let file = fs::File::create_new(&sparse).unwrap();
    fs::set_permissions(&sparse, fs::Permissions::from_mode(0o600)).unwrap();
    file.write_all_at(&fs::read(&path).unwrap()[..4096], 0).unwrap();
    file.set_len(16 << 20).unwrap();
    let why = refused(&sparse);
    assert!(why.is_some_and(|why| why.contains("it has holes: of its 16777216 bytes")));
    assert!(file.metadata().unwrap().blocks() * 512 < 1 << 20, "it was made larger");
    // A file without holes is opened, whatever its size. So is a sparse file of at most the
    // requested size.
    assert_eq!(refused(&path), None);
    drop(Cache::open(&sparse, &large).unwrap());
    assert!(file.metadata().unwrap().blocks() * 512 >= 16 << 20);
}

#[test]
fn what_is_no_file_is_refused_and_not_waited_for() {
    let folder = folder();
    let path = folder.path().join("pipe");
    let name = std::ffi::CString::new(path.as_os_str().as_encoded_bytes()).unwrap();
    // SAFETY: a string that ends with a zero.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    assert!(refused(&path).is_some_and(|why| why.contains("not a segment cache")));
    assert!(refused(folder.path()).is_some_and(|why| why.contains("not a segment cache")));
}
