//! Neighbours that are not to be trusted: a process that writes anywhere in the region, and files that somebody else made.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod support;

use std::fs::{self, OpenOptions};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use larder_segment::{Cache, Options, Set};
use support::folder;

const SMALL: Options = Options { size: 1 << 20, item: 512, max_key: 250, max_value: None };

/// The part of a partition before the words of its segments, on which the notes follow.
const BEFORE_SEGMENTS: u64 = 4480;

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
