//! The limits of the work that is done at once.

/// Bytes of answers after which a connection's turn ends, so that they are sent.
pub(crate) const ANSWER_BYTES: usize = 256 << 10;

/// Keys that are looked up together.
pub(crate) const TOGETHER: usize = 16;

/// Values from this length on are read one by one, so that the bytes of an answer stay bounded.
pub(crate) const LONG: usize = 16 << 10;
