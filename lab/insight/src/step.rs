//! The steps of a simulation: uses of keys, with all that a look-aside cache needs to know of them.

use larder_report::MeasuredIn;

/// The parts of a second in which times are counted.
pub(crate) const TICKS_A_SECOND: u32 = 16;

/// One use of a key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Step {
    /// Number of the key, from 0.
    pub key: u32,
    /// Bytes of the key and of the value that it has from now on.
    pub size: u32,
    /// The time, in whole sixteenths of a second since the beginning.
    pub at: u32,
    /// Whether it is a part of a sixteenth later.
    pub is_later: bool,
    /// The TTL of an entry that is stored now, in sixteenths of a second; 0 for none.
    pub ttl: u32,
    /// What is done with the key.
    pub usage: Use,
    /// How many times more the same is done, with nothing in between.
    pub more: u32,
}

impl Step {
    /// How many times it is done.
    pub(crate) fn times(&self) -> u64 {
        u64::from(self.more) + 1
    }

    /// What the entry takes of a capacity in this unit.
    pub(crate) fn size_in(&self, measure: MeasuredIn) -> u32 {
        match measure {
            MeasuredIn::Entries => 1,
            MeasuredIn::Bytes => self.size,
        }
    }

    /// The time at which an entry that is stored now expires; the end of all times for one without a TTL.
    pub(crate) fn expiry(&self) -> u32 {
        if self.ttl == 0 { u32::MAX } else { self.at.saturating_add(self.ttl) }
    }

    /// The time at which it is certainly over. Ticks may tell that an entry expires a tick before it does.
    pub(crate) fn certain_expiry(&self) -> u32 {
        self.expiry().saturating_add(self.is_later.into())
    }
}

/// What is done with a key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// Looks for the key; after a miss it is stored.
    #[default]
    Read,
    /// The same, and the recorded cache had the key.
    Found,
    /// Looks for the key; after a miss the application had nothing to store.
    Look,
    /// Stores the key, whether it is there or not.
    Write,
    /// Gives the entry that the read before stored after its miss its size and its TTL: the application stores once, and so does a cache
    /// that fills at the read. In a cache that had the key, the application would store nothing. An entry that has expired since the
    /// read is stored anew, because a recording without answers does not tell a fill from an update.
    Fill,
    /// Stores the key where it is not there.
    Add,
    /// Stores the key where it is there.
    Change,
    /// Renews the TTL of the key where it is there.
    Renew,
    /// Removes the key.
    Drop,
}

impl Use {
    /// Whether the use is a read.
    pub(crate) fn reads(self) -> bool {
        matches!(self, Self::Read | Self::Found | Self::Look)
    }
}

/// Steps in their order, in whatever form their owner keeps them: a sample has them as they are, and a comparison of a hundred
/// million operations in a fourth of that memory.
pub trait Steps {
    /// One more than the largest key.
    fn n_keys(&self) -> usize;

    /// The number of steps.
    fn n_steps(&self) -> usize;

    /// The step at a place below [`Self::n_steps`].
    fn step(&self, at: usize) -> Step;
}

/// Some steps of a sample.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept<'a> {
    pub(crate) steps: &'a [Step],
    pub(crate) n_keys: usize,
}

impl Steps for Kept<'_> {
    fn n_keys(&self) -> usize {
        self.n_keys
    }

    fn n_steps(&self) -> usize {
        self.steps.len()
    }

    #[inline]
    fn step(&self, at: usize) -> Step {
        self.steps[at]
    }
}
