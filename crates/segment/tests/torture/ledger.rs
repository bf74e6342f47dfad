//! The workers' knowledge of each key and reports on themselves, in a file that all of them have mapped.
//!
//! It consists of words of 64 bits in the order of the machine, which workers in other languages read and write in the file:
//!
//! ```text
//! WORKERS lines of 288  16 tallies; since, waited, key, filling, slow, stopped; from word 32 on 64 slow operations of 4
//! KEYS of 4             begun, oldest, stored, excused
//! COUNTERS of 16        of each worker what it began to add; of each worker the last sum that it was told
//! ```
//!
//! A worker's line is written by this worker alone, as are begun and stored of its keys. A worker notes before a change what
//! it begins, and after it what was acknowledged. So a reader knows, before it asks, which is the oldest value that it may
//! find.

#![expect(clippy::unwrap_used, reason = "a worker without what it needs has failed")]

use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{COUNTERS, KEYS, WORKERS};

/// The counters of a worker.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tally {
    Operations,
    Hits,
    Wrong,
    Old,
    /// Old, of a filler that was stopped before it could look again whether it may fill.
    Excused,
    Busy,
    /// Fills with a token that were stored, and that were refused.
    Filled,
    Refused,
    Opened,
    /// Values that were found in namespaces that come and go.
    Strangers,
}

/// The present work of a worker.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Now {
    /// Since when; 0 is nothing.
    Since = 16,
    /// How long it had waited for a processor until then.
    Waited,
    /// With which key; a counter is one behind the keys, and [`ANY`] is all.
    Key,
    /// The version that it fills 48 | the key 16.
    Filling,
    /// How many slow operations it has told.
    Slow,
    /// Of the first worker: the key with which one was stopped, plus one.
    Stopped,
}

/// No key alone.
pub(crate) const ANY: u64 = u64::MAX;

const LINE: usize = 32 + 4 * SLOW;
const SLOW: usize = 64;
const EACH: usize = 4;
const FIRST_KEY: usize = WORKERS * LINE;
const FIRST_COUNTER: usize = FIRST_KEY + EACH * KEYS;
const WORDS: usize = FIRST_COUNTER + 2 * WORKERS * COUNTERS;

/// An operation that took long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slow {
    pub(crate) worker: usize,
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// How long of that its process waited for a processor.
    pub(crate) waited: u64,
    pub(crate) key: u64,
    /// It ended without the lock.
    pub(crate) is_busy: bool,
}

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

    pub(crate) fn add(self, worker: usize, of: Tally) {
        self.words[LINE * worker + of as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_of(self, worker: usize, of: Tally) -> u64 {
        self.words[LINE * worker + of as usize].load(Ordering::Relaxed)
    }

    pub(crate) fn count(self, of: Tally) -> u64 {
        (0..WORKERS).map(|worker| self.count_of(worker, of)).sum()
    }

    pub(crate) fn does(self, worker: usize, what: Now) -> u64 {
        self.words[LINE * worker + what as usize].load(Ordering::SeqCst)
    }

    pub(crate) fn set_does(self, worker: usize, what: Now, value: u64) {
        self.words[LINE * worker + what as usize].store(value, Ordering::Release);
    }

    /// The value that a worker is filling a key with, or none.
    pub(crate) fn set_filling(self, worker: usize, key: usize, version: u64) {
        self.set_does(worker, Now::Filling, version << 16 | key as u64);
    }

    /// A worker was stopped: if it was filling a key, nobody can say whether it may.
    pub(crate) fn excuse_filler(self, worker: usize) {
        let filling = self.does(worker, Now::Filling);
        if filling != 0 {
            let key = usize::try_from(filling & 0xffff).unwrap();
            self.key(key, 3).store(filling >> 16, Ordering::SeqCst);
        }
    }

    /// Tells of a slow operation. The oldest are forgotten.
    pub(crate) fn tell_slow(self, slow: &Slow) {
        let told = self.does(slow.worker, Now::Slow);
        let words = [slow.from, slow.to, slow.waited, slow.key << 1 | u64::from(slow.is_busy)];
        for (at, word) in (slow_at(slow.worker, told)..).zip(words) {
            self.words[at].store(word, Ordering::Relaxed);
        }
        self.set_does(slow.worker, Now::Slow, told + 1);
    }

    /// A slow operation that a worker told of.
    pub(crate) fn slow(self, worker: usize, number: u64) -> Slow {
        let at = slow_at(worker, number);
        let word = |i: usize| self.words[at + i].load(Ordering::Relaxed);
        let key = if word(3) >> 1 == ANY >> 1 { ANY } else { word(3) >> 1 };
        let (from, to, waited) = (word(0), word(1), word(2));
        Slow { worker, from, to, waited, key, is_busy: word(3) & 1 == 1 }
    }

    fn key(self, key: usize, word: usize) -> &'static AtomicU64 {
        &self.words[FIRST_KEY + EACH * key + word]
    }

    /// The last version of a key that anybody began to write.
    pub(crate) fn begun(self, key: usize) -> u64 {
        self.key(key, 0).load(Ordering::SeqCst)
    }

    /// The next version, which is begun now.
    pub(crate) fn begin(self, key: usize) -> u64 {
        self.key(key, 0).fetch_add(1, Ordering::SeqCst) + 1
    }

    /// The oldest version that may still be read.
    pub(crate) fn oldest(self, key: usize) -> u64 {
        self.key(key, 1).load(Ordering::SeqCst)
    }

    /// From now on nobody may read an older one.
    pub(crate) fn forbid_before(self, key: usize, oldest: u64) {
        self.key(key, 1).fetch_max(oldest, Ordering::SeqCst);
    }

    /// A version was stored, so that nobody may read an older one from now on.
    pub(crate) fn stored(self, key: usize, version: u64) {
        self.key(key, 2).fetch_max(version, Ordering::SeqCst);
        self.forbid_before(key, version);
    }

    /// The last version of which is known that it was stored.
    pub(crate) fn last_stored(self, key: usize) -> u64 {
        self.key(key, 2).load(Ordering::SeqCst)
    }

    /// The version that a filler was filling a key with when it was stopped.
    pub(crate) fn excused(self, key: usize) -> u64 {
        self.key(key, 3).load(Ordering::SeqCst)
    }

    /// It looked again, and what is there now is right.
    pub(crate) fn excuse_no_more(self, key: usize, version: u64) {
        let _ = self.key(key, 3).compare_exchange(version, 0, Ordering::SeqCst, Ordering::SeqCst);
    }

    fn counter(self, counter: usize, word: usize) -> &'static AtomicU64 {
        &self.words[FIRST_COUNTER + 2 * WORKERS * counter + word]
    }

    /// The number that a worker begins to add to a counter.
    pub(crate) fn begin_to_add(self, counter: usize, worker: usize, more: u64) {
        self.counter(counter, worker).fetch_add(more, Ordering::SeqCst);
    }

    /// The sum that all workers have begun to add to it.
    pub(crate) fn begun_to_add(self, counter: usize) -> u64 {
        (0..WORKERS).map(|worker| self.counter(counter, worker).load(Ordering::SeqCst)).sum()
    }

    /// The sum that a worker was told.
    pub(crate) fn added(self, counter: usize, worker: usize, sum: u64) {
        self.counter(counter, WORKERS + worker).store(sum, Ordering::SeqCst);
    }

    /// The last sum that each worker was told.
    pub(crate) fn sums(self, counter: usize) -> [u64; WORKERS] {
        std::array::from_fn(|worker| self.counter(counter, WORKERS + worker).load(Ordering::SeqCst))
    }
}

/// Where a slow operation is told.
fn slow_at(worker: usize, number: u64) -> usize {
    LINE * worker + 32 + 4 * usize::try_from(number % SLOW as u64).unwrap()
}
