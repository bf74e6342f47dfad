//! What workers know of each key, in a file that all of them have mapped: written around every change of the cache.

#![expect(clippy::unwrap_used, reason = "a worker without what it needs has failed")]

use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::KEYS;

/// What is counted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tally {
    Operations,
    Hits,
    Wrong,
    Old,
    Busy,
    Long,
}

const TALLIES: usize = 8;
const EACH: usize = 3;
const WORDS: usize = TALLIES + EACH * KEYS;

/// The file, mapped for as long as the process lives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ledger {
    words: &'static [AtomicU64],
}

impl Ledger {
    /// The one of a folder.
    pub(crate) fn open(folder: &Path) -> Self {
        let path = folder.join("ledger");
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path).unwrap();
        file.set_len(WORDS as u64 * 8).unwrap();
        let (protection, fd) = (libc::PROT_READ | libc::PROT_WRITE, file.as_raw_fd());
        // SAFETY: a new mapping, of a file that is long enough and never made shorter.
        let words = unsafe {
            libc::mmap(std::ptr::null_mut(), WORDS * 8, protection, libc::MAP_SHARED, fd, 0)
        };
        assert_ne!(words, libc::MAP_FAILED);
        // SAFETY: mapped for ever, and of atomics only.
        Self { words: unsafe { std::slice::from_raw_parts(words.cast(), WORDS) } }
    }

    pub(crate) fn add(self, of: Tally) {
        self.words[of as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count(self, of: Tally) -> u64 {
        self.words[of as usize].load(Ordering::Relaxed)
    }

    /// The last version of a key that anybody began to write.
    pub(crate) fn begun(self, key: usize) -> u64 {
        self.words[TALLIES + EACH * key].load(Ordering::SeqCst)
    }

    /// The next version, which is begun now.
    pub(crate) fn begin(self, key: usize) -> u64 {
        self.words[TALLIES + EACH * key].fetch_add(1, Ordering::SeqCst) + 1
    }

    /// The oldest version that may still be read.
    pub(crate) fn oldest(self, key: usize) -> u64 {
        self.words[TALLIES + EACH * key + 1].load(Ordering::SeqCst)
    }

    /// From now on nobody may read an older one.
    pub(crate) fn forbid_before(self, key: usize, oldest: u64) {
        self.words[TALLIES + EACH * key + 1].fetch_max(oldest, Ordering::SeqCst);
    }

    /// A version was stored, so that nobody may read an older one from now on.
    pub(crate) fn stored(self, key: usize, version: u64) {
        self.words[TALLIES + EACH * key + 2].fetch_max(version, Ordering::SeqCst);
        self.forbid_before(key, version);
    }

    /// The last version of which is known that it was stored.
    pub(crate) fn last_stored(self, key: usize) -> u64 {
        self.words[TALLIES + EACH * key + 2].load(Ordering::SeqCst)
    }
}
