//! The steps of a simulation: uses of keys, with all that a look-aside cache needs to know of them.

use larder_report::MeasuredIn;

/// The parts of a second in which times are counted.
pub(crate) const TICKS_A_SECOND: u32 = 16;

/// One use of a key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Step {
    /// Number of the key, from 0.
    pub(crate) key: u32,
    /// Bytes of the key and of the value that it has from now on.
    pub(crate) size: u32,
    /// The time, in ticks since the beginning.
    pub(crate) at: u32,
    /// The TTL in ticks that an entry has which is stored now; 0 for none.
    pub(crate) ttl: u32,
    /// What is done with the key.
    pub(crate) usage: Use,
}

impl Step {
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
}

/// What is done with a key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Use {
    /// Looks for the key; after a miss it is stored.
    #[default]
    Read,
    /// Looks for the key; after a miss the application had nothing to store.
    Look,
    /// Stores the key, whether it is there or not.
    Write,
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
        matches!(self, Self::Read | Self::Look)
    }
}
