//! The workers' knowledge of each key and reports on themselves, in a file that all of them have mapped.
//!
//! It consists of words of 64 bits in the order of the machine, which workers in other languages read and write in the file:
//!
//! ```text
//! WORKERS lines of 288  16 tallies; since, waited, key, filling, slow, stopped; from word 32 on 64 slow operations of 4
//! KEYS of 4             begun, oldest, stored, excused
//! COUNTERS of 16        each worker's begun additions; the last sum that each worker got
//! KEYS of 3             changes that were begun, and that were ended; of the last lease these changes 24 | its end in
//!                       milliseconds 40
//! ```
//!
//! Only the worker itself writes its line, and the words `begun` and `stored` of its keys. Before a change a worker notes
//! what it begins, and afterwards what was acknowledged. So a reader knows, before it asks, the oldest version that it may
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
    /// Old values of a filler that was stopped before its second look at the key's changes.
    Excused,
    Busy,
    /// Fills with a token that were stored, and fills that were refused.
    Filled,
    Refused,
    Opened,
    /// Values that were found in namespaces that come and go.
    Strangers,
    /// Leases that were given.
    Leased,
}

/// The present work of a worker.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Now {
    /// The time at which it began; 0 means no work.
    Since = 16,
    /// The time for which it had waited for a processor by then.
    Waited,
    /// The key. Counters follow the keys, and [`ANY`] means all of them.
    Key,
    /// The version that it fills 48 | the key 16.
    Filling,
    /// The number of slow operations that it has reported.
    Slow,
    /// In the first worker's line: the key with which a worker was stopped, plus one.
    Stopped,
}

/// The key of an operation on all keys.
pub(crate) const ANY: u64 = u64::MAX;

const LINE: usize = 32 + 4 * SLOW;
const SLOW: usize = 64;
const EACH: usize = 4;
const FIRST_KEY: usize = WORKERS * LINE;
const FIRST_COUNTER: usize = FIRST_KEY + EACH * KEYS;
const FIRST_LEASE: usize = FIRST_COUNTER + 2 * WORKERS * COUNTERS;
const WORDS: usize = FIRST_LEASE + 3 * KEYS;
const END_BITS: u32 = 40;

/// A slow operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slow {
    pub(crate) worker: usize,
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// The part of the time in which its process waited for a processor.
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
    /// Opens the ledger in a folder.
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

    /// Notes the version with which a worker is filling a key.
    pub(crate) fn set_filling(self, worker: usize, key: usize, version: u64) {
        self.set_does(worker, Now::Filling, version << 16 | key as u64);
    }

    /// Notes that a worker was stopped. If it was filling a key, an old value of this key is
    /// excused.
    pub(crate) fn excuse_filler(self, worker: usize) {
        let filling = self.does(worker, Now::Filling);
        if filling != 0 {
            let key = usize::try_from(filling & 0xffff).unwrap();
            self.key(key, 3).store(filling >> 16, Ordering::SeqCst);
        }
    }

    /// Reports a slow operation. The oldest reports are overwritten.
    pub(crate) fn tell_slow(self, slow: &Slow) {
        let told = self.does(slow.worker, Now::Slow);
        let words = [slow.from, slow.to, slow.waited, slow.key << 1 | u64::from(slow.is_busy)];
        for (at, word) in (slow_at(slow.worker, told)..).zip(words) {
            self.words[at].store(word, Ordering::Relaxed);
        }
        self.set_does(slow.worker, Now::Slow, told + 1);
    }

    /// A slow operation that a worker has reported.
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

    /// The last version of a key that any worker began to write.
    pub(crate) fn begun(self, key: usize) -> u64 {
        self.key(key, 0).load(Ordering::SeqCst)
    }

    /// Begins the next version.
    pub(crate) fn begin(self, key: usize) -> u64 {
        self.key(key, 0).fetch_add(1, Ordering::SeqCst) + 1
    }

    /// The oldest version that may still be read.
    pub(crate) fn oldest(self, key: usize) -> u64 {
        self.key(key, 1).load(Ordering::SeqCst)
    }

    /// Forbids older versions from now on.
    pub(crate) fn forbid_before(self, key: usize, oldest: u64) {
        self.key(key, 1).fetch_max(oldest, Ordering::SeqCst);
    }

    /// Notes that a version was stored, which forbids older versions from now on.
    pub(crate) fn stored(self, key: usize, version: u64) {
        self.key(key, 2).fetch_max(version, Ordering::SeqCst);
        self.forbid_before(key, version);
    }

    /// The last version that was certainly stored.
    pub(crate) fn last_stored(self, key: usize) -> u64 {
        self.key(key, 2).load(Ordering::SeqCst)
    }

    /// The version with which a filler was filling a key when it was stopped.
    pub(crate) fn excused(self, key: usize) -> u64 {
        self.key(key, 3).load(Ordering::SeqCst)
    }

    /// Ends the excuse: the filler has looked again, and the present value is right.
    pub(crate) fn excuse_no_more(self, key: usize, version: u64) {
        let _ = self.key(key, 3).compare_exchange(version, 0, Ordering::SeqCst, Ordering::SeqCst);
    }

    fn of_leases(self, key: usize, word: usize) -> &'static AtomicU64 {
        &self.words[FIRST_LEASE + 3 * key + word]
    }

    /// The number of changes of a key so far that end a lease; `None` while one is under way.
    pub(crate) fn changes(self, key: usize) -> Option<u64> {
        let ended = self.of_leases(key, 1).load(Ordering::SeqCst);
        let begun = self.of_leases(key, 0).load(Ordering::SeqCst);
        (begun == ended).then_some(begun & ((1 << (u64::BITS - END_BITS)) - 1))
    }

    /// Counts a change that is about to be made.
    pub(crate) fn begin_change(self, key: usize) {
        self.of_leases(key, 0).fetch_add(1, Ordering::SeqCst);
    }

    /// Counts a change that was made.
    pub(crate) fn end_change(self, key: usize) {
        self.of_leases(key, 1).fetch_add(1, Ordering::SeqCst);
    }

    /// No change is under way, because all workers were killed.
    pub(crate) fn end_all_changes(self) {
        for key in 0..KEYS {
            let begun = self.of_leases(key, 0).load(Ordering::SeqCst);
            self.of_leases(key, 1).store(begun, Ordering::SeqCst);
        }
    }

    /// Notes a lease that was given after this many changes; returns the changes and the end of the one before.
    pub(crate) fn begin_lease(self, key: usize, changes: u64, end: u64) -> (u64, u64) {
        let lease = changes << END_BITS | end;
        let before = self.of_leases(key, 2).swap(lease, Ordering::SeqCst);
        (before >> END_BITS, before & ((1 << END_BITS) - 1))
    }

    fn counter(self, counter: usize, word: usize) -> &'static AtomicU64 {
        &self.words[FIRST_COUNTER + 2 * WORKERS * counter + word]
    }

    /// Notes the number that a worker begins to add to a counter.
    pub(crate) fn begin_to_add(self, counter: usize, worker: usize, more: u64) {
        self.counter(counter, worker).fetch_add(more, Ordering::SeqCst);
    }

    /// The sum that all workers have begun to add to a counter.
    pub(crate) fn begun_to_add(self, counter: usize) -> u64 {
        (0..WORKERS).map(|worker| self.counter(counter, worker).load(Ordering::SeqCst)).sum()
    }

    /// Notes the sum that a worker got.
    pub(crate) fn added(self, counter: usize, worker: usize, sum: u64) {
        self.counter(counter, WORKERS + worker).store(sum, Ordering::SeqCst);
    }

    /// The last sum that each worker got.
    pub(crate) fn sums(self, counter: usize) -> [u64; WORKERS] {
        std::array::from_fn(|worker| self.counter(counter, WORKERS + worker).load(Ordering::SeqCst))
    }
}

/// The place of a report on a slow operation.
fn slow_at(worker: usize, number: u64) -> usize {
    LINE * worker + 32 + 4 * usize::try_from(number % SLOW as u64).unwrap()
}
