//! Operations ready to run, with their keys as bytes.

use std::time::Duration;

use larder_store::{Delta, Operation};
use larder_workload::{Access, Condition};

/// One operation, ready to run.
///
/// An operation has everything that another program, such as a guest's, needs to carry it out. That is its `kind`, its
/// key ([`Block::key`] has the bytes), and the version and length of the value that it may store. For a get-or-set,
/// `fill` is the key under which a miss is stored, with its bytes in [`Block::fill_key`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Op {
    /// Index of its key.
    pub(crate) key: u32,
    /// For a get-or-set: index of the key under which a miss is stored. This is `key` itself, but for `--on-miss
    /// fill-next`.
    pub(crate) fill: u32,
    /// For a set the version to write, otherwise the oldest version that may rightly be there.
    /// [`NOTHING`](larder_workload::NOTHING) where no version may, because the only thread that writes this key has
    /// deleted it last.
    pub(crate) version: u32,
    /// For an operation that may store: the size of the value, in bytes; for a get-or-set, of the value under the key
    /// `fill`.
    pub(crate) len: u32,
    /// The TTL that the operation gives, in milliseconds; 0 for that of the phase.
    pub(crate) ttl_ms: u32,
    /// For a set or a count, what must be so for it to be carried out. A count without one stores a number under an absent
    /// key.
    pub(crate) condition: Option<Condition>,
    /// Whether a set stands in for a count, because the store cannot count.
    pub(crate) is_count: bool,
    /// Whether a get stands in for a get-or-set that has nothing to store after a miss.
    pub(crate) is_unfilled: bool,
    pub(crate) kind: Access,
}

impl Op {
    /// The TTL of its own that the operation gives.
    #[inline]
    pub(super) fn ttl(self) -> Option<Duration> {
        (self.ttl_ms > 0).then(|| Duration::from_millis(self.ttl_ms.into()))
    }

    /// The operation as which a request for this key alone counts.
    #[inline]
    pub(super) fn operation(self) -> Operation {
        match self {
            Self { is_count: true, .. } => Operation::Incr,
            Self { is_unfilled: true, .. } => Operation::GetOrSet,
            Self { kind, .. } => kind.operation(),
        }
    }

    /// The change of a number by a count. A trace counts by what it likes, and a replay by one.
    #[inline]
    pub(super) fn delta(self) -> Delta {
        if self.kind == Access::Decr { Delta::Down(1) } else { Delta::Up(1) }
    }
}

/// Some operations with their keys as bytes.
#[derive(Debug, Default)]
pub(crate) struct Block {
    pub(crate) ops: Vec<Op>,
    pub(super) keys: Vec<u8>,
    pub(super) ends: Vec<usize>,
    /// As `keys` and `ends`, for fills that go under another key; empty where no fill does.
    pub(super) fill_keys: Vec<u8>,
    pub(super) fill_ends: Vec<usize>,
    /// The tag of each draw of `per_draw` operations; empty where entries have no tags.
    pub(super) tags: Vec<u8>,
    pub(super) tag_ends: Vec<usize>,
    pub(super) per_draw: usize,
    pub(super) picks: Vec<u32>,
    /// The place of each operation in the trace that is replayed; empty without a trace.
    pub(super) places: Vec<u64>,
    /// For the first operation of each request of many keys the number of its keys, and 1 for every other; empty where
    /// the phase says how many keys a request has.
    pub(super) together: Vec<u32>,
}

impl Block {
    /// The key of operation `i`.
    #[inline]
    pub(crate) fn key(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.keys[start..self.ends[i]]
    }

    /// The key under which get-or-set `i` stores its miss.
    #[inline]
    pub(crate) fn fill_key(&self, i: usize) -> &[u8] {
        if self.fill_ends.is_empty() {
            return self.key(i);
        }
        let start = if i == 0 { 0 } else { self.fill_ends[i - 1] };
        &self.fill_keys[start..self.fill_ends[i]]
    }

    /// The tag of the entry that operation `i` stores or reads; `None` where entries have no tags.
    #[inline]
    pub(crate) fn tag(&self, i: usize) -> Option<&[u8]> {
        let draw = i / self.per_draw.max(1);
        let end = *self.tag_ends.get(draw)?;
        let start = if draw == 0 { 0 } else { self.tag_ends[draw - 1] };
        Some(&self.tags[start..end])
    }

    /// The place of operation `i` in the trace that is replayed, counted on where the trace comes round.
    #[inline]
    pub(crate) fn place(&self, i: usize) -> Option<u64> {
        self.places.get(i).copied()
    }

    /// The number of operations, from `i` on, that are asked for in one request.
    #[inline]
    pub(super) fn together(&self, i: usize) -> usize {
        self.together.get(i).map_or(1, |keys| *keys as usize)
    }

    pub(super) fn clear(&mut self) {
        self.together.clear();
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

/// The memory of an emptied list, for elements that live as long as others.
pub(super) fn recycled<A, B>(mut list: Vec<A>) -> Vec<B> {
    const { assert!(size_of::<A>() == size_of::<B>() && align_of::<A>() == align_of::<B>()) };
    list.clear();
    // The standard library collects such an iterator in place.
    list.into_iter().map(|_| unreachable!("the list is empty")).collect()
}
