//! The results of calls, as the hook of a layer sees them.

use crate::{Counted, DeleteOutcome, Facts, Leased, Meta, SetOutcome, Token};

/// The result of a call that has not failed.
pub trait Outcome {
    /// Whether a call for one key found an entry to read; `None` for other calls.
    fn is_hit(&self) -> Option<bool> {
        None
    }

    /// Whether the entry that was found is stale.
    fn is_stale(&self) -> bool {
        false
    }

    /// Whether a write took effect; `None` for other calls.
    fn is_done(&self) -> Option<bool> {
        None
    }
}

impl Outcome for Option<Meta> {
    fn is_hit(&self) -> Option<bool> {
        Some(self.is_some())
    }

    fn is_stale(&self) -> bool {
        self.is_some_and(|meta| meta.stale)
    }
}

impl Outcome for Option<Facts> {
    fn is_hit(&self) -> Option<bool> {
        Some(self.is_some())
    }

    fn is_stale(&self) -> bool {
        self.as_ref().is_some_and(|facts| facts.meta.stale)
    }
}

impl Outcome for Leased {
    fn is_hit(&self) -> Option<bool> {
        Some(matches!(self, Self::Hit(_)))
    }

    fn is_stale(&self) -> bool {
        match self {
            Self::Hit(meta) => meta.stale,
            Self::Load { stale, .. } | Self::Wait { stale } => stale.is_some(),
        }
    }
}

impl Outcome for SetOutcome {
    fn is_done(&self) -> Option<bool> {
        Some(self.is_stored())
    }
}

impl Outcome for DeleteOutcome {
    fn is_done(&self) -> Option<bool> {
        Some(*self == Self::Deleted)
    }
}

impl Outcome for Option<Counted> {
    fn is_done(&self) -> Option<bool> {
        Some(self.is_some())
    }
}

/// Whether a key was there that was deleted, touched or expired.
impl Outcome for bool {
    fn is_done(&self) -> Option<bool> {
        Some(*self)
    }
}

impl Outcome for () {}
impl Outcome for u64 {}
impl Outcome for usize {}
impl Outcome for Token {}
impl Outcome for Option<Token> {}
