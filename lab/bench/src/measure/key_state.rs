//! The latest acknowledged write of every key.

use std::ops::RangeInclusive;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use super::numbers::Numbers;
use larder_workload::{NOTHING, base_version};

/// The knowledge of every key in one turn, shared by its threads.
#[derive(Debug)]
pub(crate) struct KeyState {
    /// The latest version whose set was acknowledged; 0 is no version, and [`NOTHING`] says that a delete was
    /// acknowledged since.
    acked: Vec<AtomicU32>,
    /// The latest version that an acknowledged delete removed; 0 where it is not known.
    removed: Vec<AtomicU32>,
    /// When a key is gone for certain, by its sets, fills and touches, on the monotonic clock; 0 where there was none.
    /// Empty where no entry has a TTL.
    gone_at_ns: Vec<AtomicU64>,
    /// The latest version that was drawn; only the thread that owns a key writes it.
    issued: Vec<AtomicU32>,
    /// The number of draws of each key in this phase.
    drawn: Vec<AtomicU32>,
    /// The numbers of counted keys.
    pub(super) numbers: Numbers,
    /// Keys with a write in this turn that got no answer: the write may still be carried out, after any later one.
    /// Empty before the first such write.
    doubted: OnceLock<Vec<AtomicBool>>,
    /// Whether threads raced in a phase of this turn: values older than the last acknowledged ones may rightly be
    /// there since.
    raced: AtomicBool,
    /// The version from which this turn counts.
    base: u32,
}

impl KeyState {
    pub(crate) fn new(keys: u32, turn: u32) -> Self {
        Self::with_base(keys as usize, base_version(turn))
    }

    /// A state in which nothing is known yet, of versions from this one on.
    fn with_base(keys: usize, base: u32) -> Self {
        let zeros = || (0..keys).map(|_| AtomicU32::new(0)).collect();
        Self {
            acked: zeros(),
            removed: zeros(),
            gone_at_ns: Vec::new(),
            issued: zeros(),
            drawn: zeros(),
            numbers: Numbers::default(),
            doubted: OnceLock::new(),
            raced: AtomicBool::new(false),
            base,
        }
    }

    /// Follows when each key was renewed, so that a key that outlives its TTL is seen.
    pub(crate) fn follow_renewals(&mut self) {
        self.gone_at_ns = self.acked.iter().map(|_| AtomicU64::new(0)).collect();
    }

    /// Follows the numbers of counted keys. They are known exactly where nobody else reads the keys meanwhile.
    pub(crate) fn follow_numbers(&mut self, is_exact: bool) {
        self.numbers = Numbers::of(self.acked.len(), is_exact);
    }

    /// The steps that a number of a key in a version can have, once `more` was counted to those that are known.
    pub(super) fn steps(&self, key: u32, version: u32, more: i64) -> RangeInclusive<i64> {
        let is_last = !self.raced() && self.acked(key) == Some(version);
        match self.numbers.known(key).filter(|_| is_last) {
            Some(steps) => steps + more..=steps + more,
            None => self.numbers.bounds(key),
        }
    }

    /// A state of the same turn in which nothing is known yet.
    pub(crate) fn blank(&self) -> Self {
        Self::with_base(self.acked.len(), self.base)
    }

    pub(crate) fn base(&self) -> u32 {
        self.base
    }

    /// The latest acknowledged version of a key; `None` where another version may be stored.
    #[inline]
    pub(crate) fn acked(&self, key: u32) -> Option<u32> {
        // A thread that sees the version also sees all memory writes before its acknowledgement.
        match self.acked[key as usize].load(Ordering::Acquire) {
            0 | NOTHING => None,
            version => (!self.is_doubted(key)).then_some(version),
        }
    }

    /// Whether a delete of a key was acknowledged and no set since, so that the key must be absent. After threads have
    /// raced that is not known.
    #[inline]
    pub(crate) fn is_deleted(&self, key: u32) -> bool {
        let is_deleted = self.acked[key as usize].load(Ordering::Acquire) == NOTHING;
        is_deleted && !self.raced() && !self.is_doubted(key)
    }

    /// Whether a set of a key was acknowledged in this turn, whatever became of it since.
    pub(crate) fn was_set(&self, key: u32) -> bool {
        self.acked[key as usize].load(Ordering::Acquire) != 0
    }

    /// The oldest version that may be there: the last acknowledged version. After an acknowledged delete it is the
    /// version after the removed one, where that is known. 0 is any version.
    #[inline]
    pub(super) fn oldest_alive(&self, key: u32) -> u32 {
        match self.acked[key as usize].load(Ordering::Acquire) {
            NOTHING => match self.removed[key as usize].load(Ordering::Relaxed) {
                0 => 0,
                removed => removed + 1,
            },
            version => version,
        }
    }

    /// A delete was acknowledged that removed this version and all older ones; `None` where the version is not known.
    #[inline]
    pub(crate) fn acknowledge_delete(&self, key: u32, removed: Option<u32>) {
        if let Some(removed) = removed {
            self.removed[key as usize].store(removed, Ordering::Relaxed);
        }
        self.acked[key as usize].store(NOTHING, Ordering::Release);
    }

    /// A set, a fill or a touch of a key begins, or was acknowledged: it is gone for certain at this instant,
    /// [`u64::MAX`] for never.
    #[inline]
    pub(super) fn note_renewal(&self, key: u32, gone_at_ns: u64) {
        if let Some(gone) = self.gone_at_ns.get(key as usize) {
            // A thread that lost the processor in between does not put the time back.
            gone.fetch_max(gone_at_ns, Ordering::Release);
        }
    }

    /// Whether a key that was found should have been gone when the operation began.
    #[inline]
    pub(super) fn has_outlived(&self, key: u32, began_ns: u64) -> bool {
        let gone = self.gone_at_ns.get(key as usize).map(|ns| ns.load(Ordering::Acquire));
        gone.is_some_and(|ns| ns > 0 && began_ns > ns)
    }

    /// A version of a key that no set has had; only the thread that owns the key may call this.
    #[inline]
    pub(crate) fn next_version(&self, key: u32) -> u32 {
        let version = self.issued(key).max(self.base) + 1;
        self.issued[key as usize].store(version, Ordering::Relaxed);
        version
    }

    /// A get-or-set that misses stores the key, with at least the first version of the turn: no later set gets that
    /// version.
    pub(super) fn note_fill(&self, key: u32) {
        if self.issued(key) <= self.base {
            self.issued[key as usize].fetch_max(self.base + 1, Ordering::Relaxed);
        }
    }

    /// The latest version of a key that was drawn; 0 is no version.
    #[inline]
    pub(super) fn issued(&self, key: u32) -> u32 {
        self.issued[key as usize].load(Ordering::Relaxed)
    }

    /// The threads of a phase race.
    pub(super) fn note_race(&self) {
        self.raced.store(true, Ordering::Relaxed);
    }

    /// Whether threads have raced in this turn.
    #[inline]
    pub(super) fn raced(&self) -> bool {
        self.raced.load(Ordering::Relaxed)
    }

    /// A key was drawn.
    #[inline]
    pub(super) fn note_drawn(&self, key: u32) {
        self.drawn[key as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// A set was acknowledged.
    #[inline]
    pub(crate) fn acknowledge(&self, key: u32, version: u32) {
        self.numbers.note(key, 0);
        self.acked[key as usize].store(version, Ordering::Release);
    }

    /// The latest version of a key that was drawn in this turn, fills included.
    pub(crate) fn newest(&self, key: u32) -> u32 {
        self.issued(key).max(self.base + 1)
    }

    /// A write of a key failed: the stored version is unknown until the next write is acknowledged.
    pub(crate) fn forget(&self, key: u32) {
        self.acked[key as usize].store(0, Ordering::Relaxed);
        self.numbers.forget(key);
    }

    /// A write of a key got no answer: the stored version is unknown for the rest of the turn.
    pub(super) fn doubt(&self, key: u32) {
        let none = || self.acked.iter().map(|_| AtomicBool::new(false)).collect();
        self.doubted.get_or_init(none)[key as usize].store(true, Ordering::Release);
    }

    /// Whether a write of a key got no answer in this turn.
    #[inline]
    pub(super) fn is_doubted(&self, key: u32) -> bool {
        let doubted = self.doubted.get();
        doubted.is_some_and(|doubted| doubted[key as usize].load(Ordering::Acquire))
    }

    /// The number of different keys that were drawn since the last call, and the number of draws of the
    /// most frequent key.
    pub(crate) fn take_drawn(&self) -> (u64, u64) {
        let mut distinct = 0;
        let mut top = 0;
        for count in &self.drawn {
            let count = u64::from(count.swap(0, Ordering::Relaxed));
            distinct += u64::from(count > 0);
            top = top.max(count);
        }
        (distinct, top)
    }
}
