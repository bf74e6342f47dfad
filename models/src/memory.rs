//! The region as the model checker sees it. Each word is an atomic of its own, and a reader may find an older value of
//! it wherever the memory orders allow it.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::sync::atomic::Ordering;

use loom::sync::atomic::AtomicU64 as Word;
pub(crate) use loom::sync::atomic::fence;

pub(crate) const fn size(word: u64) -> usize {
    word as usize
}

pub(crate) const LINE: usize = 64;

thread_local! {
    /// The number of further writes after which this thread dies.
    static WRITES_LEFT: Cell<Option<usize>> = const { Cell::new(None) };
    /// The thread that has died.
    static DEAD: Cell<Option<u32>> = const { Cell::new(None) };
}

/// The cause of death of a thread whose writes are counted.
#[derive(Debug)]
pub(crate) struct Killed;

/// Lets this thread die after this many writes; `None` lets it live.
pub(crate) fn die_after(writes: Option<usize>) {
    WRITES_LEFT.set(writes);
    if writes.is_some() {
        DEAD.set(None);
    }
}

loom::lazy_static! {
    /// A thread that knows of a death also sees all writes of the dead thread, because the kernel announces the
    /// death.
    static ref DEATH: Word = Word::new(0);
}

/// Announces the death of a thread.
pub(crate) fn dies(thread: u32) {
    DEATH.fetch_add(1, Ordering::Release);
    DEAD.set(Some(thread));
}

pub(crate) fn is_dead(thread: u32) -> bool {
    if DEAD.get() != Some(thread) {
        return false;
    }
    DEATH.fetch_add(1, Ordering::Acquire);
    true
}

fn live_or_die() {
    // The second thread of a scene lives.
    if let Some(left) = WRITES_LEFT.get().filter(|_| me() == 0) {
        if left == 0 {
            WRITES_LEFT.set(None);
            dies(me());
            std::panic::resume_unwind(Box::new(Killed));
        }
        WRITES_LEFT.set(Some(left - 1));
    }
}

loom::thread_local! {
    /// The number of this thread among the two threads of a scene.
    static ME: Cell<usize> = Cell::new(0);
}

pub(crate) fn me() -> u32 {
    ME.with(Cell::get) as u32
}

/// Makes the current thread the second thread of the scene.
pub(crate) fn be_the_second() {
    ME.with(|me| me.set(1));
}

/// A word, and two companions, one for each thread. A thread writes its companion before it reads the word; the other
/// thread writes the same companion before it writes the word.
///
/// Loom tries another order of two accesses where they depend on each other. But it remembers only the last access of a
/// word. So it forgets a thread's read once the other thread has read the word too, as a writer does before it writes.
/// The companions are never read, and so order nothing else.
#[derive(Debug)]
pub(crate) struct AtomicU64 {
    word: Word,
    read_by: [Word; 2],
}

impl AtomicU64 {
    fn new() -> Self {
        Self { word: Word::new(0), read_by: [Word::new(0), Word::new(0)] }
    }

    fn is_read(&self) {
        self.read_by[ME.with(Cell::get)].store(0, Ordering::Relaxed);
    }

    fn is_written(&self) {
        live_or_die();
        self.read_by[1 - ME.with(Cell::get)].store(0, Ordering::Relaxed);
    }

    pub(crate) fn load(&self, order: Ordering) -> u64 {
        self.is_read();
        self.word.load(order)
    }

    /// A store is an exchange here: loom does not know that a store comes after the result of an earlier exchange.
    pub(crate) fn store(&self, value: u64, order: Ordering) {
        // A dead thread's guards are dropped while it unwinds, but must not release their locks.
        if std::thread::panicking() {
            return;
        }
        self.is_written();
        self.word.swap(value, order);
    }

    pub(crate) fn fetch_add(&self, more: u64, order: Ordering) -> u64 {
        self.is_written();
        self.word.fetch_add(more, order)
    }

    pub(crate) fn compare_exchange(
        &self,
        is: u64,
        becomes: u64,
        done: Ordering,
        failed: Ordering,
    ) -> Result<u64, u64> {
        if std::thread::panicking() {
            return Err(0);
        }
        self.is_written();
        self.word.compare_exchange(is, becomes, done, failed)
    }
}

#[derive(Debug)]
pub(crate) struct Memory {
    words: Vec<AtomicU64>,
}

impl Memory {
    pub(crate) fn private(len: usize) -> io::Result<Self> {
        Ok(Self { words: (0..len / 8).map(|_| AtomicU64::new()).collect() })
    }

    pub(crate) fn of_file(_: &File, _: usize) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn len(&self) -> usize {
        self.words.len() * 8
    }

    pub(crate) fn resident(&self) -> Option<u64> {
        None
    }

    pub(crate) fn write_back(&self, _: usize) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn holds(&self, at: usize, len: usize) -> bool {
        at.checked_add(len).is_some_and(|end| end <= self.len())
    }

    pub(crate) fn word(&self, at: usize) -> &AtomicU64 {
        assert!(at.is_multiple_of(8), "no word at {at}");
        &self.words[at / 8]
    }

    pub(crate) fn line(&self, at: usize) -> &[AtomicU64; LINE / 8] {
        assert!(at.is_multiple_of(8), "no line at {at}");
        self.words[at / 8..][..LINE / 8].try_into().unwrap()
    }

    pub(crate) fn load(&self, at: usize) -> u64 {
        assert!(at.is_multiple_of(8), "no word at {at}");
        self.words[at / 8].load(Ordering::Relaxed)
    }

    pub(crate) fn store(&self, at: usize, value: u64) {
        self.word(at).store(value, Ordering::Relaxed);
    }

    pub(crate) fn copy_out(&self, at: usize, len: usize, into: &mut Vec<u8>) {
        let mut bytes = Vec::new();
        for word in at / 8..(at + len).div_ceil(8) {
            bytes.extend(self.words[word].load(Ordering::Relaxed).to_ne_bytes());
        }
        into.extend_from_slice(&bytes[at % 8..at % 8 + len]);
    }

    pub(crate) fn copy_in(&self, at: usize, bytes: &[u8]) {
        let (first, last) = (at / 8, (at + bytes.len()).div_ceil(8));
        let mut words = Vec::new();
        self.copy_out(first * 8, (last - first) * 8, &mut words);
        words[at % 8..at % 8 + bytes.len()].copy_from_slice(bytes);
        for (word, bytes) in (first..).zip(words.as_chunks::<8>().0) {
            self.store(word * 8, u64::from_ne_bytes(*bytes));
        }
    }

    pub(crate) fn is(&self, at: usize, bytes: &[u8]) -> bool {
        let mut there = Vec::new();
        self.copy_out(at, bytes.len(), &mut there);
        there == bytes
    }

    pub(crate) fn prefetch(&self, _: usize) {}

    pub(crate) fn prefetch_to_write(&self, _: usize, _: usize) {}
}
