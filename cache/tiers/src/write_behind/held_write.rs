//! A queued write that is held back, while a caller carries out another write of its key.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::pending::Pending;
use super::state::Write;

/// A queued write that is held back. Readers see it still. Dropping this lets it wait again.
#[derive(Debug)]
pub(crate) struct HeldWrite {
    pub(super) pending: Arc<Pending>,
    pub(super) key: Box<[u8]>,
    pub(super) number: u64,
    pub(super) is_set: bool,
    /// The end of its value, if that has one.
    pub(super) end: Option<Instant>,
}

impl HeldWrite {
    /// Whether it is a set of a value that has not expired.
    pub(crate) fn is_fresh(&self, grace: Duration) -> bool {
        let left = |end: Instant| end.saturating_duration_since(Instant::now());
        self.is_set && self.end.is_none_or(|end| left(end) > grace)
    }

    /// Takes it out of the queue: the caller's write has taken its place.
    pub(crate) fn remove(self) {
        self.pending.replace_held(&self, None);
    }

    /// Puts the removal of its key in its place.
    pub(crate) fn invalidate(self) {
        self.pending.replace_held(&self, Some(Write::Remove));
    }
}

impl Drop for HeldWrite {
    fn drop(&mut self) {
        self.pending.let_go(&self.key, self.number);
    }
}
