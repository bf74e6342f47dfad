//! Operations, drawn in blocks between the timed segments.
//!
//! What a thread does follows from the seed, the round and the thread's number; the measured loop finds keys as bytes
//! and operations as numbers and decides nothing.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::trace::{Trace, TraceKind};
use crate::workload::{KeySpace, NOTHING, Picker, Ratio, Values, base_version};

/// One operation, ready to run.
///
/// Everything that somebody needs who carries it out elsewhere, as the program of a guest does: what is done (`kind`), to
/// which key ([`Block::key`] has its bytes), the version and length of what it may store, and for a get-or-set under which
/// key a miss is stored (`fill`, with its bytes in [`Block::fill_key`]).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Op {
    /// Index of its key.
    pub(crate) key: u32,
    /// For a get-or-set: index of the key under which a miss is stored. It is `key` itself, but for `--on-miss fill-next`.
    pub(crate) fill: u32,
    /// For a set the version to write, for a get the oldest that is right; [`NOTHING`] where no value is, because the thread
    /// that alone writes this key has deleted it last.
    pub(crate) version: u32,
    /// For what may store: the size of the value, in bytes; for a get-or-set, of the value under the key `fill`.
    pub(crate) len: u32,
    pub(crate) kind: Kind,
}

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Read.
    Get,
    /// Store.
    Set,
    /// Read, and store on a miss.
    GetOrSet,
    /// Remove.
    Delete,
    /// Renew the TTL.
    Touch,
}

/// What a phase does.
#[derive(Debug, Clone, Copy)]
pub enum Work<'a> {
    /// One kind of operation on every key, once, in the phase's order.
    Each {
        /// What is done.
        kind: Kind,
    },
    /// Operations drawn from a pattern, reads and writes mixed by a ratio.
    Drawn {
        /// Which keys.
        picker: &'a Picker,
        /// Sets to gets to deletes.
        ratio: Ratio,
        /// What a read is: `Get` or `GetOrSet`.
        read: Kind,
        /// A miss is stored under the key after the one that was read, counted round: a mistake that is made.
        fills_next: bool,
    },
    /// Several operations on the same key, one after the other, before the next key is drawn.
    Chained {
        /// Which keys.
        picker: &'a Picker,
        /// What is done to each, in this order.
        kinds: &'a [Kind],
    },
    /// Every key of a group, in order, before the next group is drawn.
    Grouped {
        /// Which groups.
        picker: &'a Picker,
        /// Keys of a group.
        size: u32,
    },
    /// A trace as it was recorded.
    Replayed {
        /// The recording.
        trace: &'a Trace,
        /// What a read is: `Get` or `GetOrSet`.
        read: Kind,
        /// Recorded sets and deletes are carried out; otherwise only the reads are.
        writes: bool,
    },
}

impl Work<'_> {
    /// Whether several threads may rightly leave an older value behind, or none: a fill after a miss brings back what
    /// another thread has just replaced or deleted, and a trace's writes of one key are spread over threads. That is the
    /// workload's own race and no fault of a store.
    pub(crate) fn races(&self, threads: u32) -> bool {
        let possible = match self {
            // Each key has one writer.
            Work::Each { .. } | Work::Chained { .. } | Work::Grouped { .. } => false,
            Work::Drawn { ratio, read, .. } => {
                *read == Kind::GetOrSet && (ratio.sets > 0 || ratio.deletes > 0)
            }
            Work::Replayed { writes, .. } => *writes,
        };
        possible && threads > 1
    }

    /// Whether it deletes keys.
    fn deletes(&self) -> bool {
        match self {
            Work::Each { .. } | Work::Grouped { .. } => false,
            Work::Drawn { ratio, .. } => ratio.deletes > 0,
            Work::Chained { kinds, .. } => kinds.contains(&Kind::Delete),
            Work::Replayed { writes, .. } => *writes,
        }
    }

    /// Whether it sets keys that it may read.
    fn overwrites(&self) -> bool {
        match self {
            Work::Each { .. } | Work::Grouped { .. } => false,
            Work::Drawn { ratio, .. } => ratio.sets > 0,
            Work::Chained { kinds, .. } => kinds.contains(&Kind::Set),
            Work::Replayed { writes, .. } => *writes,
        }
    }

    /// Whether it stores anything, be it a fill.
    fn stores(&self) -> bool {
        let stores = |kind: &Kind| matches!(kind, Kind::Set | Kind::GetOrSet);
        match self {
            Work::Each { kind } => stores(kind),
            Work::Grouped { .. } => false,
            Work::Drawn { ratio, read, .. } => ratio.sets > 0 || stores(read),
            Work::Chained { kinds, .. } => kinds.iter().any(stores),
            Work::Replayed { writes, read, .. } => *writes || stores(read),
        }
    }

    /// Operations that are drawn as one: on a key, or on a group of keys, before the next is drawn.
    fn per_key(&self) -> usize {
        match self {
            Work::Chained { kinds, .. } => kinds.len(),
            Work::Grouped { size, .. } => *size as usize,
            _ => 1,
        }
    }
}

/// What is known of every key in one turn, shared by its threads.
#[derive(Debug)]
pub(crate) struct KeyState {
    /// The latest version whose set was acknowledged; 0 is none, and [`NOTHING`] says that a delete was acknowledged since.
    acked: Vec<AtomicU32>,
    /// The latest version that was drawn; only the thread that owns a key writes it.
    issued: Vec<AtomicU32>,
    /// How often a key was drawn in this phase.
    drawn: Vec<AtomicU32>,
    /// In a phase of this turn threads raced: older values than those acknowledged last may rightly be there since.
    raced: AtomicBool,
    /// The version from which this turn counts.
    base: u32,
}

impl KeyState {
    pub(crate) fn new(keys: u32, turn: u32) -> Self {
        let zeros = || (0..keys).map(|_| AtomicU32::new(0)).collect();
        let raced = AtomicBool::new(false);
        Self { acked: zeros(), issued: zeros(), drawn: zeros(), raced, base: base_version(turn) }
    }

    /// The same turn with nothing known yet.
    pub(crate) fn blank(&self) -> Self {
        let zeros = || self.acked.iter().map(|_| AtomicU32::new(0)).collect();
        let raced = AtomicBool::new(false);
        Self { acked: zeros(), issued: zeros(), drawn: zeros(), raced, base: self.base }
    }

    pub(crate) fn base(&self) -> u32 {
        self.base
    }

    /// The latest acknowledged version of a key.
    #[inline]
    pub(crate) fn acked(&self, key: u32) -> Option<u32> {
        // Whoever sees the version also sees what was done before it was acknowledged.
        match self.acked[key as usize].load(Ordering::Acquire) {
            0 | NOTHING => None,
            version => Some(version),
        }
    }

    /// Whether a delete of a key was acknowledged and no set of it since, so that nothing may be there. Of threads that raced
    /// nobody knows.
    #[inline]
    pub(crate) fn is_deleted(&self, key: u32) -> bool {
        self.acked[key as usize].load(Ordering::Acquire) == NOTHING
            && !self.raced.load(Ordering::Relaxed)
    }

    /// Whether a set of a key was acknowledged in this turn, whatever became of it since.
    pub(crate) fn was_set(&self, key: u32) -> bool {
        self.acked[key as usize].load(Ordering::Acquire) != 0
    }

    /// A delete was acknowledged.
    #[inline]
    pub(crate) fn acknowledge_delete(&self, key: u32) {
        self.acked[key as usize].store(NOTHING, Ordering::Release);
    }

    /// A version of a key that no set has had, for one outside of all phases.
    pub(crate) fn next_version(&self, key: u32) -> u32 {
        self.issue(key)
    }

    /// A set was acknowledged.
    #[inline]
    pub(crate) fn acknowledge(&self, key: u32, version: u32) {
        self.acked[key as usize].store(version, Ordering::Release);
    }

    /// The latest version of a key that was drawn in this turn, fills included.
    pub(crate) fn newest(&self, key: u32) -> u32 {
        self.issued[key as usize].load(Ordering::Relaxed).max(self.base + 1)
    }

    /// A set or a delete of a key failed: nobody knows what is there.
    pub(crate) fn forget(&self, key: u32) {
        self.acked[key as usize].store(0, Ordering::Relaxed);
    }

    /// How many different keys were drawn since the last call, and how often the most frequent one.
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

    fn issue(&self, key: u32) -> u32 {
        let issued = &self.issued[key as usize];
        let version = issued.load(Ordering::Relaxed).max(self.base) + 1;
        issued.store(version, Ordering::Relaxed);
        version
    }
}

/// Some operations with their keys as bytes.
#[derive(Debug, Default)]
pub(crate) struct Block {
    pub(crate) ops: Vec<Op>,
    keys: Vec<u8>,
    ends: Vec<usize>,
    /// As `keys` and `ends`, for fills that go under another key; empty where none does.
    fill_keys: Vec<u8>,
    fill_ends: Vec<usize>,
    /// The tag of each draw, of which there are so many operations; empty where entries have none.
    tags: Vec<u8>,
    tag_ends: Vec<usize>,
    per_draw: usize,
    picks: Vec<u32>,
    /// The place of each operation in the trace that is replayed; empty where none is.
    places: Vec<u64>,
}

impl Block {
    /// The key of operation `i`.
    #[inline]
    pub(crate) fn key(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.keys[start..self.ends[i]]
    }

    /// The key under which get-or-set `i` stores what it missed.
    #[inline]
    pub(crate) fn fill_key(&self, i: usize) -> &[u8] {
        if self.fill_ends.is_empty() {
            return self.key(i);
        }
        let start = if i == 0 { 0 } else { self.fill_ends[i - 1] };
        &self.fill_keys[start..self.fill_ends[i]]
    }

    /// The tag of what operation `i` stores or reads; `None` where entries have none.
    #[inline]
    pub(crate) fn tag(&self, i: usize) -> Option<&[u8]> {
        let draw = i / self.per_draw.max(1);
        let end = *self.tag_ends.get(draw)?;
        let start = if draw == 0 { 0 } else { self.tag_ends[draw - 1] };
        Some(&self.tags[start..end])
    }

    /// The place of operation `i` in the trace that is replayed, counted on where that comes round.
    #[inline]
    pub(crate) fn place(&self, i: usize) -> Option<u64> {
        self.places.get(i).copied()
    }

    fn clear(&mut self) {
        self.ops.clear();
        self.places.clear();
        self.keys.clear();
        self.ends.clear();
        self.fill_keys.clear();
        self.fill_ends.clear();
        self.tags.clear();
        self.tag_ends.clear();
    }
}

/// Which keys a thread has done something to, a bit for each; none where that is not followed.
#[derive(Debug)]
struct Marks(Vec<u64>);

impl Marks {
    fn new(is_followed: bool, keys: u32) -> Self {
        Self(vec![0; if is_followed { keys.div_ceil(u64::BITS) as usize } else { 0 }])
    }

    fn has(&self, key: u32) -> bool {
        let word = self.0.get((key / u64::BITS) as usize);
        word.is_some_and(|word| word >> (key % u64::BITS) & 1 == 1)
    }

    fn set(&mut self, key: u32, is_so: bool) {
        if let Some(word) = self.0.get_mut((key / u64::BITS) as usize) {
            let bit = 1 << (key % u64::BITS);
            *word = if is_so { *word | bit } else { *word & !bit };
        }
    }
}

/// One thread's share of a phase, drawn block by block.
#[derive(Debug)]
pub(crate) struct Draw<'a> {
    work: Work<'a>,
    keys: &'a KeySpace,
    values: &'a Values,
    state: &'a KeyState,
    /// Draws keys. Blocks are as large as time allows, so each stream is drawn from for one thing only.
    rng: Xoshiro256PlusPlus,
    /// Draws what is done to them.
    mix_rng: Xoshiro256PlusPlus,
    thread: u32,
    threads: u32,
    /// Every key once, shuffled; `None` where keys are taken by index.
    order: Option<&'a [u32]>,
    /// The next draw of the whole phase that is this thread's: an operation, or a chain of them on one key.
    next: u64,
    /// Where the phase ends, in draws; `u64::MAX` when time ends it.
    end: u64,
    /// Keys of a group, where entries have the tag of theirs.
    tagged: Option<u32>,
    /// Keys whose latest set or delete failed: what is stored under them may be the version before.
    unsure: HashSet<u32>,
    /// Keys of this thread that were deleted last in this phase.
    gone: Marks,
    /// Nothing that is done in this phase stores a value.
    stores_nothing: bool,
    /// Keys of this thread that it has set in this phase. What was drawn for one before may never have been carried out.
    set: Marks,
}

/// What the threads of a phase share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DrawPlan<'a> {
    pub(crate) work: Work<'a>,
    pub(crate) keys: &'a KeySpace,
    pub(crate) values: &'a Values,
    pub(crate) state: &'a KeyState,
    pub(crate) order: Option<&'a [u32]>,
    /// Keys of a group, where entries have the tag of theirs.
    pub(crate) tagged: Option<u32>,
    pub(crate) threads: u32,
    pub(crate) seed: u64,
    /// Operations of all threads together; `None` when time ends the phase.
    pub(crate) requests: Option<u64>,
}

impl DrawPlan<'_> {
    /// Whether a thread knows which of its keys it has deleted last. With fewer keys than threads, some keys have several
    /// owners.
    fn follows_deletes(&self) -> bool {
        self.work.deletes() && !self.work.races(self.threads) && self.threads <= self.keys.count()
    }
}

impl<'a> Draw<'a> {
    pub(crate) fn new(plan: DrawPlan<'a>, thread: u32) -> Self {
        if plan.work.races(plan.threads) {
            plan.state.raced.store(true, Ordering::Relaxed);
        }
        let stream = plan.seed ^ u64::from(thread + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self {
            work: plan.work,
            keys: plan.keys,
            values: plan.values,
            state: plan.state,
            rng: Xoshiro256PlusPlus::seed_from_u64(stream),
            mix_rng: Xoshiro256PlusPlus::seed_from_u64(!stream),
            thread,
            threads: plan.threads,
            order: plan.order,
            next: u64::from(thread),
            end: plan.requests.map_or(u64::MAX, |ops| ops.div_ceil(plan.work.per_key() as u64)),
            tagged: plan.tagged,
            unsure: HashSet::new(),
            gone: Marks::new(plan.follows_deletes(), plan.keys.count()),
            stores_nothing: !plan.work.stores(),
            set: Marks::new(plan.work.overwrites() || plan.follows_deletes(), plan.keys.count()),
        }
    }

    /// Fills `block` with at most `count` operations, rounded up to a whole chain; leaves it empty when the phase is over.
    pub(crate) fn fill(&mut self, block: &mut Block, count: usize) {
        block.clear();
        block.per_draw = self.work.per_key();
        let count = count.div_ceil(block.per_draw);
        let left = self.end.saturating_sub(self.next).div_ceil(u64::from(self.threads));
        let count = usize::try_from(left).map_or(count, |left| left.min(count));
        block.picks.clear();
        block.picks.resize(count, 0);
        if let Work::Drawn { picker, .. }
        | Work::Chained { picker, .. }
        | Work::Grouped { picker, .. } = self.work
        {
            picker.fill(&mut self.rng, self.next / u64::from(self.threads), &mut block.picks);
        }
        for i in 0..count {
            let first = block.ops.len();
            if let Work::Grouped { size, .. } = self.work {
                let group = self.group(block.picks[i], size);
                for key in group * size..(group + 1) * size {
                    self.push(block, key, Kind::Get);
                }
            } else if let Work::Chained { kinds, .. } = self.work {
                let key = self.owned(self.by_pattern(block.picks[i]));
                for kind in kinds {
                    self.push(block, key, *kind);
                }
            } else if let Some((key, kind)) = self.choose(block.picks[i]) {
                self.push(block, key, kind);
                if let Work::Replayed { .. } = self.work {
                    block.places.push(self.next);
                }
            }
            if let (Some(size), Some(op)) = (self.tagged, block.ops.get(first)) {
                self.keys.write_tag(op.key / size, &mut block.tags);
                block.tag_ends.push(block.tags.len());
            }
            self.next += u64::from(self.threads);
        }
    }

    /// The keys that operations are drawn from.
    pub(crate) fn keys(&self) -> &'a KeySpace {
        self.keys
    }

    /// Whether every operation of this thread has been drawn.
    pub(crate) fn is_over(&self) -> bool {
        self.next >= self.end
    }

    /// A set or delete failed: later gets in this block and after may rightly see what was there before.
    pub(crate) fn write_failed(&mut self, block: &mut Block, at: usize) {
        let key = block.ops[at].key;
        self.unsure.insert(key);
        self.state.forget(key);
        for op in &mut block.ops[at + 1..] {
            if op.key == key && op.kind != Kind::Set {
                op.version = self.state.base;
            }
        }
    }

    fn choose(&mut self, pick: u32) -> Option<(u32, Kind)> {
        match self.work {
            Work::Each { kind } => {
                let at = self.by_index();
                Some((self.order.map_or(at, |order| order[at as usize]), kind))
            }
            Work::Chained { .. } | Work::Grouped { .. } => None,
            Work::Drawn { ratio, read, .. } => {
                let pick = self.by_pattern(pick);
                let kind = self.mix(ratio, read);
                let writes = matches!(kind, Kind::Set | Kind::Delete);
                Some((if writes { self.owned(pick) } else { pick }, kind))
            }
            Work::Replayed { trace, read, writes } => {
                let op = trace.op(usize::try_from(self.next).ok()? % trace.len());
                let kind = match op.kind {
                    TraceKind::Get => read,
                    TraceKind::Set => Kind::Set,
                    TraceKind::Delete => Kind::Delete,
                    TraceKind::Touch => Kind::Touch,
                };
                (writes || op.kind == TraceKind::Get).then_some((op.key, kind))
            }
        }
    }

    fn by_index(&self) -> u32 {
        let at = self.next % u64::from(self.keys.count());
        u32::try_from(at).expect("below the number of keys")
    }

    /// The key that the pattern says. Threads that take keys by index share them out, as with `Each`.
    fn by_pattern(&self, pick: u32) -> u32 {
        if self.order.is_none() { self.by_index() } else { pick }
    }

    /// The group that the pattern says, taken by its number where keys are taken by index.
    fn group(&self, pick: u32, size: u32) -> u32 {
        if self.order.is_some() {
            return pick;
        }
        let n_groups = u64::from(self.keys.count() / size);
        u32::try_from(self.next % n_groups).expect("below the number of keys")
    }

    fn mix(&mut self, ratio: Ratio, read: Kind) -> Kind {
        if ratio.sets == 0 && ratio.deletes == 0 {
            return read;
        }
        let draw = self.mix_rng.random_range(0..ratio.sets + ratio.gets + ratio.deletes);
        if draw < ratio.gets {
            read
        } else if draw < ratio.gets + ratio.sets {
            Kind::Set
        } else {
            Kind::Delete
        }
    }

    /// The neighbour of a key that this thread owns: a key has one writer, so that its newest version is known.
    fn owned(&self, key: u32) -> u32 {
        let owned = key - key % self.threads + self.thread;
        if owned < self.keys.count() { owned } else { self.thread % self.keys.count() }
    }

    fn push(&mut self, block: &mut Block, key: u32, kind: Kind) {
        let version = match kind {
            Kind::Set => self.state.issue(key),
            Kind::Get if self.is_gone(key) => NOTHING,
            // What was there was deleted: its fill has a version that nothing had before, and only that is right.
            Kind::GetOrSet if self.is_gone(key) => self.state.issue(key),
            Kind::Get | Kind::GetOrSet => self.oldest_right(key),
            Kind::Delete | Kind::Touch => 0,
        };
        match kind {
            // What a get-or-set misses it stores.
            Kind::Set => {
                self.gone.set(key, false);
                self.set.set(key, true);
            }
            Kind::GetOrSet => {
                self.set.set(key, self.set.has(key) || self.gone.has(key));
                self.gone.set(key, false);
            }
            Kind::Delete => self.gone.set(key, true),
            Kind::Get | Kind::Touch => {}
        }
        self.state.drawn[key as usize].fetch_add(1, Ordering::Relaxed);
        self.keys.write(key, &mut block.keys);
        block.ends.push(block.keys.len());
        let mut fill = key;
        if let Work::Drawn { fills_next: true, .. } = self.work {
            fill = (key + 1) % self.keys.count();
            self.keys.write(fill, &mut block.fill_keys);
            block.fill_ends.push(block.fill_keys.len());
        }
        let len = match kind {
            Kind::Set | Kind::GetOrSet => self.values.len_of(fill),
            Kind::Get | Kind::Delete | Kind::Touch => 0,
        };
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        block.ops.push(Op { key, fill, version, len, kind });
    }

    /// Whether nothing may be under a key that is drawn now: this thread, which alone writes it, has deleted it last in this
    /// phase, or an earlier phase has and this one stores nothing.
    fn is_gone(&self, key: u32) -> bool {
        let by_now = self.gone.has(key) || self.stores_nothing && self.state.is_deleted(key);
        by_now && !self.unsure.contains(&key)
    }

    /// The oldest version that a get drawn now may return: the one that this thread has set last in this phase, or else the
    /// one acknowledged last; once threads have raced, any version of this turn.
    fn oldest_right(&self, key: u32) -> u32 {
        if self.state.raced.load(Ordering::Relaxed) || self.unsure.contains(&key) {
            return self.state.base;
        }
        let is_own = self.threads == 1 || key % self.threads == self.thread;
        let latest = if is_own && self.set.has(key) {
            self.state.issued[key as usize].load(Ordering::Relaxed)
        } else {
            self.state.acked(key).unwrap_or(0)
        };
        latest.max(self.state.base)
    }
}
