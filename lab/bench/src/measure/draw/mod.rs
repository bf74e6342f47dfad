//! Operations, drawn in blocks between the timed segments.
//!
//! The operations of a thread follow from the seed, the round and the thread's number. The measured loop finds keys as
//! bytes and operations as numbers, and decides nothing.

mod replay;

use std::ops::Range;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::block::{Block, Op};
use super::key_state::KeyState;
use super::tally::Known;
use super::work::{KeySource, Work};
use larder_workload::{Access, KeySpace, NOTHING, Ratio, Values};

/// The keys on which a thread has done something, a bit for each; empty where that is not followed.
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
    work: &'a Work,
    source: KeySource<'a>,
    keys: &'a KeySpace,
    values: &'a Values,
    state: &'a KeyState,
    /// Draws keys. The size of a block depends on time, so each stream of random numbers has one purpose only.
    rng: Xoshiro256PlusPlus,
    /// Draws the kinds of operations.
    mix_rng: Xoshiro256PlusPlus,
    threads: u32,
    /// The session for which operations are drawn: the thread's own, or one of the connections that it drives.
    writer: u32,
    /// The sessions of all threads. Each key has one that writes it.
    writers: u32,
    /// Every key once, shuffled; `None` where keys are taken by index.
    order: Option<&'a [u32]>,
    /// The next draw of the whole phase that is this thread's: an operation, or a chain of operations on one key.
    next: u64,
    /// The keys, or groups, that this thread reads all of; `None` where threads share them.
    own: Option<Range<u32>>,
    /// Where the phase ends, in draws; `u64::MAX` when time ends it.
    end: u64,
    /// Keys of a group, where entries have the tag of their group.
    tagged: Option<u32>,
    /// Keys of this thread that were deleted last in this phase.
    gone: Marks,
    /// Whether no operation of this phase stores a value.
    stores_nothing: bool,
    /// Whether writes have no acknowledgement, so that writes of other threads may not be carried out yet.
    sent_only: bool,
    /// Keys of this thread that it has set in this phase. A version that was drawn for a key before may never have
    /// been stored.
    set: Marks,
}

/// Keys, the values that belong to them, and what is known of the values that a store has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dataset<'a> {
    pub(crate) keys: &'a KeySpace,
    pub(crate) values: &'a Values,
    pub(crate) state: &'a KeyState,
}

/// The part of the drawing that the threads of a phase share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DrawPlan<'a> {
    pub(crate) work: &'a Work,
    pub(crate) source: KeySource<'a>,
    pub(crate) dataset: Dataset<'a>,
    pub(crate) order: Option<&'a [u32]>,
    /// Keys of a group, where entries have the tag of their group.
    pub(crate) tagged: Option<u32>,
    pub(crate) threads: u32,
    /// The sessions of all threads: one each, or the connections that they drive. Each key has one session that writes it.
    pub(crate) writers: u32,
    /// The requests that may be under way at once.
    pub(crate) at_once: u32,
    pub(crate) seed: u64,
    /// Operations of all threads together; `None` when time ends the phase.
    pub(crate) requests: Option<u64>,
    /// Whether writes have no acknowledgement: another connection may read the value from before.
    pub(crate) sent_only: bool,
}

impl DrawPlan<'_> {
    /// Whether a thread knows which of its keys it has deleted last. With fewer keys than threads, some keys have
    /// several owners.
    fn follows_deletes(&self) -> bool {
        self.work.deletes()
            && !self.work.races(self.at_once)
            && self.writers <= self.dataset.keys.count()
    }

    /// The draws that make this many operations, the last one whole.
    fn draws(&self, operations: u64) -> u64 {
        match (self.work, self.source.recording) {
            (Work::Replayed { .. }, Some(recording)) => recording.requests_of(operations),
            _ => operations.div_ceil(self.work.per_draw(self.source.group) as u64),
        }
    }
}

impl<'a> Draw<'a> {
    pub(crate) fn new(plan: DrawPlan<'a>, thread: u32) -> Self {
        if plan.work.races(plan.at_once) {
            plan.dataset.state.note_race();
        }
        let stream = plan.seed ^ u64::from(thread + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self {
            work: plan.work,
            source: plan.source,
            keys: plan.dataset.keys,
            values: plan.dataset.values,
            state: plan.dataset.state,
            rng: Xoshiro256PlusPlus::seed_from_u64(stream),
            mix_rng: Xoshiro256PlusPlus::seed_from_u64(!stream),
            threads: plan.threads,
            writer: thread,
            writers: plan.writers,
            order: plan.order,
            next: u64::from(thread),
            own: own(&plan, thread),
            end: plan.requests.map_or(u64::MAX, |ops| plan.draws(ops)),
            tagged: plan.tagged,
            gone: Marks::new(plan.follows_deletes(), plan.dataset.keys.count()),
            stores_nothing: !plan.work.stores(),
            sent_only: plan.sent_only,
            set: Marks::new(
                plan.work.overwrites() || plan.follows_deletes(),
                plan.dataset.keys.count(),
            ),
        }
    }

    /// Whether operations must begin in the order in which they are drawn: that of a trace.
    pub(super) fn keeps_order(&self) -> bool {
        matches!(self.work, Work::Replayed { .. })
    }

    /// Draws for this session of the thread from now on, and judges its answers.
    #[inline]
    pub(super) fn act_for(&mut self, writer: u32) {
        self.writer = writer;
    }

    /// The knowledge about a key that an operation has not found.
    pub(super) fn known(&self, op: Op) -> Known {
        if op.version == NOTHING {
            return Known::Gone;
        }
        let may_be_deleted = self.work.deletes() && !self.is_only_writer(op.key);
        // A set before the draw of the operation has been acknowledged by now.
        let is_there = op.version > self.state.base() && self.state.acked(op.key).is_some();
        if is_there && !may_be_deleted { Known::There } else { Known::Unsure }
    }

    /// The version that a delete has removed, with all older versions: the newest that was set when the delete was
    /// drawn. It is known where no other thread writes the key in this phase.
    pub(super) fn removed(&self, op: Op) -> Option<u32> {
        let is_known = op.version != NOTHING && op.version > self.state.base();
        let is_alone = matches!(self.work, Work::Each(_)) || self.is_only_writer(op.key);
        (is_known && is_alone && !self.state.raced()).then_some(op.version)
    }

    /// Fills `block` with at most `count` operations, rounded up to a whole chain; leaves the block empty when the
    /// phase is over.
    pub(crate) fn fill(&mut self, block: &mut Block, count: usize) {
        block.clear();
        block.per_draw = self.work.per_draw(self.source.group);
        let count = count.div_ceil(block.per_draw).min(self.draws_left());
        block.picks.clear();
        block.picks.resize(count, 0);
        if let Work::Drawn { .. } | Work::Chained(_) | Work::Grouped = self.work {
            let at = self.next / u64::from(self.threads);
            self.source.picker.fill(&mut self.rng, at, &mut block.picks);
        }
        for i in 0..count {
            let first = block.ops.len();
            if let Work::Grouped = self.work {
                let size = self.source.group;
                let group = self.group(block.picks[i], size);
                for key in group * size..(group + 1) * size {
                    self.push(block, key, Access::Get);
                }
            } else if let Work::Chained(kinds) = self.work {
                let key = self.owned(self.by_pattern(block.picks[i]));
                for kind in kinds {
                    self.push(block, key, *kind);
                }
            } else if let Work::Replayed { read, writes } = *self.work {
                self.replay(block, read, writes);
            } else if let Some((key, kind)) = self.choose(block.picks[i]) {
                self.push(block, key, kind);
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

    /// The operations of this thread that are left to draw, or more than any memory holds where time ends the phase.
    pub(super) fn n_left(&self) -> usize {
        let per_draw = self.work.per_draw(self.source.group);
        self.draws_left().min(usize::MAX / 4 / per_draw) * per_draw
    }

    /// The draws of this thread that are left.
    fn draws_left(&self) -> usize {
        let left = self.end.saturating_sub(self.next).div_ceil(u64::from(self.threads));
        usize::try_from(left).unwrap_or(usize::MAX)
    }

    /// Whether every operation of this thread has been drawn.
    pub(crate) fn is_over(&self) -> bool {
        self.next >= self.end
    }

    /// A set, a fill or a delete failed: later gets may rightly see the value from before. A write without an answer
    /// may even be carried out after later writes.
    pub(crate) fn write_failed(&mut self, block: &mut Block, at: usize, got_answer: bool) {
        let (before, later) = block.ops.split_at_mut(at + 1);
        self.write_of_failed(before[at], later, got_answer);
    }

    /// The same of an operation by itself, and of those that were drawn after it for the same session.
    pub(super) fn write_of_failed<'o>(
        &mut self,
        op: Op,
        later: impl IntoIterator<Item = &'o mut Op>,
        got_answer: bool,
    ) {
        let key = if op.kind == Access::GetOrSet { op.fill } else { op.key };
        self.state.forget(key);
        if !got_answer {
            self.state.doubt(key);
        }
        self.set.set(key, false);
        self.gone.set(key, false);
        for op in later {
            if op.key == key && op.kind != Access::Set {
                op.version = self.state.base();
            }
        }
    }

    fn choose(&mut self, pick: u32) -> Option<(u32, Access)> {
        match *self.work {
            Work::Each(kind) => {
                let at = self.by_index();
                Some((self.order.map_or(at, |order| order[at as usize]), kind))
            }
            Work::Chained(_) | Work::Grouped | Work::Replayed { .. } => None,
            Work::Drawn { ratio, read, .. } => {
                let pick = self.by_pattern(pick);
                let kind = self.mix(ratio, read);
                let writes = matches!(kind, Access::Set | Access::Delete);
                Some((if writes { self.owned(pick) } else { pick }, kind))
            }
        }
    }

    fn by_index(&self) -> u32 {
        let at = self.next % u64::from(self.keys.count());
        u32::try_from(at).expect("below the number of keys")
    }

    /// The key that the pattern says. Threads that take keys by index share them out, as with `Each`, unless each has all.
    fn by_pattern(&self, pick: u32) -> u32 {
        match &self.own {
            Some(own) => own.start + pick % (own.end - own.start),
            None if self.order.is_none() => self.by_index(),
            None => pick,
        }
    }

    /// The group that the pattern gives, taken by its number where keys are taken by index.
    fn group(&self, pick: u32, size: u32) -> u32 {
        if self.own.is_some() || self.order.is_some() {
            return self.by_pattern(pick);
        }
        let n_groups = u64::from(self.keys.count() / size);
        u32::try_from(self.next % n_groups).expect("below the number of keys")
    }

    fn mix(&mut self, ratio: Ratio, read: Access) -> Access {
        if ratio.sets == 0 && ratio.deletes == 0 {
            return read;
        }
        let draw = self.mix_rng.random_range(0..ratio.sets + ratio.gets + ratio.deletes);
        if draw < ratio.gets {
            read
        } else if draw < ratio.gets + ratio.sets {
            Access::Set
        } else {
            Access::Delete
        }
    }

    /// The neighbour of a key that this session owns: a key has one writer, so that its newest version is known.
    fn owned(&self, key: u32) -> u32 {
        let owned = key - key % self.writers + self.writer;
        if owned < self.keys.count() { owned } else { self.writer % self.keys.count() }
    }

    fn push(&mut self, block: &mut Block, key: u32, kind: Access) {
        let version = match kind {
            Access::Set => self.state.next_version(key),
            Access::Get | Access::Touch | Access::Incr | Access::Decr | Access::Delete
                if self.is_gone(key) =>
            {
                NOTHING
            }
            // The value was deleted: the fill has a version that no write had before, and only that version is right.
            Access::GetOrSet if self.is_gone(key) => self.state.next_version(key),
            Access::GetOrSet => self.oldest_to_fill(key),
            // No delete removes a version that was never drawn.
            Access::Delete => self.oldest_alive(key).min(self.newest_drawn(key)),
            Access::Get | Access::Touch | Access::Incr | Access::Decr => self.oldest_alive(key),
        };
        match kind {
            // A get-or-set stores the keys that it misses.
            Access::Set => {
                self.gone.set(key, false);
                self.set.set(key, true);
            }
            Access::GetOrSet => {
                self.set.set(key, self.set.has(key) || self.gone.has(key));
                self.gone.set(key, false);
            }
            Access::Delete => self.gone.set(key, true),
            Access::Get | Access::Touch | Access::Incr | Access::Decr => {}
        }
        self.state.note_drawn(key);
        self.keys.write(key, &mut block.keys);
        block.ends.push(block.keys.len());
        let mut fill = key;
        if let Work::Drawn { fills_next: true, .. } = self.work {
            fill = (key + 1) % self.keys.count();
            self.keys.write(fill, &mut block.fill_keys);
            block.fill_ends.push(block.fill_keys.len());
        }
        if kind == Access::GetOrSet {
            self.state.note_fill(fill);
        }
        let len = match kind {
            Access::Set | Access::GetOrSet => self.values.len_of(fill),
            Access::Get | Access::Delete | Access::Touch | Access::Incr | Access::Decr => 0,
        };
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        block.ops.push(Op {
            key,
            fill,
            version,
            len,
            ttl_ms: 0,
            condition: None,
            is_count: false,
            is_unfilled: false,
            kind,
        });
    }

    /// Whether a key that is drawn now must be absent. This session, its only writer, has deleted it last in this
    /// phase; or an earlier phase has, and this phase stores nothing.
    fn is_gone(&self, key: u32) -> bool {
        let by_itself = self.gone.has(key) && self.is_only_writer(key);
        let by_now = by_itself || self.stores_nothing && self.state.is_deleted(key);
        by_now && !self.state.is_doubted(key)
    }

    /// Whether no other session sets or deletes a key in phases that draw keys by a pattern.
    fn is_only_writer(&self, key: u32) -> bool {
        self.writers == 1 || key % self.writers == self.writer && self.writers <= self.keys.count()
    }

    /// The oldest version that a get-or-set drawn now may find. Its fill has this version too, so it may be one that no
    /// delete has removed, and none that a later set may have.
    fn oldest_to_fill(&self, key: u32) -> u32 {
        let oldest = self.oldest_alive(key);
        if oldest > self.newest_drawn(key) { self.state.next_version(key) } else { oldest }
    }

    /// The newest version of a key that was drawn, or the one before all of this turn.
    fn newest_drawn(&self, key: u32) -> u32 {
        self.state.issued(key).max(self.state.base())
    }

    /// The oldest version that an operation drawn now may find. It is the version that this session has set last in
    /// this phase, or else the oldest that is known. Any version of this turn is right once threads have raced, and for
    /// another thread's key where writes have no acknowledgement.
    fn oldest_alive(&self, key: u32) -> u32 {
        let may_be_under_way = self.sent_only && !self.is_only_writer(key);
        if self.state.raced() || may_be_under_way || self.state.is_doubted(key) {
            return self.state.base();
        }
        let latest = if self.is_only_writer(key) && self.set.has(key) {
            self.state.issued(key)
        } else {
            self.state.oldest_alive(key)
        };
        latest.max(self.state.base())
    }
}

/// The keys, or groups, of which a thread reads all: those of its application.
fn own(plan: &DrawPlan<'_>, thread: u32) -> Option<Range<u32>> {
    let applications = plan.source.applications?;
    let all = match plan.work {
        Work::Grouped => plan.dataset.keys.count() / plan.source.group,
        _ => plan.dataset.keys.count(),
    };
    let (threads, keys) = (plan.threads / applications, all / applications);
    let application = thread / threads;
    Some(application * keys..(application + 1) * keys)
}

#[cfg(test)]
mod tests {
    use larder_workload::{Distribution, Lengths, Picker, Sizes};

    use super::*;
    use crate::measure::READS;

    /// The keys of work that needs no group and no recording.
    fn without_groups(picker: &Picker) -> KeySource<'_> {
        KeySource { picker, group: 1, recording: None, applications: None }
    }

    #[test]
    fn a_fill_after_a_phase_of_deletes_has_no_version_that_a_later_set_may_have() {
        let picker = Picker::new(Distribution::First, 1, 1);
        let keys = KeySpace::new(b"k", 1, Lengths::Drawn("8".parse().unwrap()), 1);
        let values = Values::random(Sizes::Drawn("8".parse().unwrap()), 8, 0.0, 1);
        let state = KeyState::new(1, 0);
        let set = state.next_version(0);
        state.acknowledge_delete(0, Some(set));
        let plan = DrawPlan {
            work: &Work::Each(Access::GetOrSet),
            source: without_groups(&picker),
            dataset: Dataset { keys: &keys, values: &values, state: &state },
            order: None,
            tagged: None,
            threads: 1,
            writers: 1,
            at_once: 1,
            seed: 1,
            requests: Some(1),
            sent_only: false,
        };
        let mut block = Block::default();
        Draw::new(plan, 0).fill(&mut block, 1);
        assert!(block.ops[0].version < state.next_version(0));
    }

    /// The keys that each of `threads` threads reads, of `n_keys` in order.
    fn read_in_order(n_keys: u32, threads: u32, applications: Option<u32>) -> Vec<Vec<u32>> {
        let keys = KeySpace::new(b"k", n_keys, Lengths::Drawn("8".parse().unwrap()), 1);
        let values = Values::random(Sizes::Drawn("8".parse().unwrap()), 8, 0.0, 1);
        let state = KeyState::new(n_keys, 0);
        let picker = Picker::new(Distribution::Sequential, n_keys, 1);
        let own = n_keys / applications.unwrap_or(threads);
        let plan = DrawPlan {
            work: &Work::Drawn { ratio: READS, read: Access::Get, fills_next: false },
            source: KeySource { applications, ..without_groups(&picker) },
            dataset: Dataset { keys: &keys, values: &values, state: &state },
            order: None,
            tagged: None,
            threads,
            writers: threads,
            at_once: threads,
            seed: 1,
            requests: Some(u64::from(own * threads)),
            sent_only: false,
        };
        let mut block = Block::default();
        let mut read = |thread| {
            let (mut draw, mut read) = (Draw::new(plan, thread), Vec::new());
            while !draw.is_over() {
                draw.fill(&mut block, 3);
                read.extend(block.ops.iter().map(|op| op.key));
            }
            read
        };
        (0..threads).map(&mut read).collect()
    }

    #[test]
    fn threads_share_the_keys_or_each_reads_all_of_its_application() {
        assert_eq!(read_in_order(4, 2, None), [vec![0, 2], vec![1, 3]]);
        assert_eq!(read_in_order(4, 2, Some(1)), [vec![0, 1, 2, 3], vec![0, 1, 2, 3]]);
        let read = read_in_order(8, 4, Some(2));
        assert_eq!(read[..2], [vec![0, 1, 2, 3], vec![0, 1, 2, 3]]);
        assert_eq!(read[2..], [vec![4, 5, 6, 7], vec![4, 5, 6, 7]]);
    }

    #[test]
    fn a_set_that_another_thread_has_only_sent_need_not_be_there_yet() {
        let picker = Picker::new(Distribution::First, 2, 1);
        let keys = KeySpace::new(b"k", 2, Lengths::Drawn("8".parse().unwrap()), 1);
        let values = Values::random(Sizes::Drawn("8".parse().unwrap()), 8, 0.0, 1);
        let state = KeyState::new(2, 0);
        for _ in 0..2 {
            state.acknowledge(1, state.next_version(1));
        }
        let oldest = |sent_only| {
            let plan = DrawPlan {
                work: &Work::Each(Access::Get),
                source: without_groups(&picker),
                dataset: Dataset { keys: &keys, values: &values, state: &state },
                order: Some(&[1, 0]),
                tagged: None,
                threads: 2,
                writers: 2,
                at_once: 2,
                seed: 1,
                requests: Some(2),
                sent_only,
            };
            let mut block = Block::default();
            Draw::new(plan, 0).fill(&mut block, 1);
            (block.ops[0].key, block.ops[0].version)
        };
        assert_eq!(oldest(false), (1, state.base() + 2));
        assert_eq!(oldest(true), (1, state.base()));
    }

    #[test]
    fn a_set_without_an_answer_may_replace_a_later_set() {
        let picker = Picker::new(Distribution::First, 1, 1);
        let keys = KeySpace::new(b"k", 1, Lengths::Drawn("8".parse().unwrap()), 1);
        let values = Values::random(Sizes::Drawn("8".parse().unwrap()), 8, 0.0, 1);
        let oldest = |got_answer| {
            let state = KeyState::new(1, 0);
            let plan = |work| DrawPlan {
                work,
                source: without_groups(&picker),
                dataset: Dataset { keys: &keys, values: &values, state: &state },
                order: None,
                tagged: None,
                threads: 1,
                writers: 1,
                at_once: 1,
                seed: 1,
                requests: None,
                sent_only: false,
            };
            let mut block = Block::default();
            let mut sets = Draw::new(plan(&Work::Each(Access::Set)), 0);
            sets.fill(&mut block, 2);
            sets.write_failed(&mut block, 0, got_answer);
            state.acknowledge(0, block.ops[1].version);
            Draw::new(plan(&Work::Each(Access::Get)), 0).fill(&mut block, 1);
            block.ops[0].version - state.base()
        };
        assert_eq!([oldest(true), oldest(false)], [2, 0]);
    }
}
