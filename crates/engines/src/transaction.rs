//! The outcomes of an operation inside a transaction, before the transaction is committed.

use larder_store::SetOutcome;

/// The outcome of a set.
pub(crate) enum SetInside {
    Done(SetOutcome),
    /// A value of this length does not fit.
    TooLarge(usize),
}

/// The outcome of an incr.
pub(crate) enum SumInside {
    Absent,
    NotANumber,
    Is(u64),
}
