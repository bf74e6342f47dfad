//! One call of a session, as the hook of a layer sees it.

use std::cell::Cell;

use crate::{Error, Put, Result, SetMode, SetOptions};

/// The kind of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallKind {
    /// `get`, `get_onto` and `look`.
    Read,
    /// `get_many`, and reads by prefix and tag.
    ReadMany,
    /// `set` and `set_tagged` without a condition.
    Set,
    /// `set` and `set_tagged` on a condition, and `append` and `prepend`.
    SetIf,
    /// `set_many`.
    SetMany,
    /// `delete`, `delete_many`, `delete_if` and `delete_tag`.
    Delete,
    /// `touch` and `get_and_touch`.
    Touch,
    /// `incr`.
    Count,
    /// Every call of [`Leases`](crate::Leases).
    Lease,
    /// `clear`.
    Clear,
    /// `settle`, `set_patience` and `set_read_timeout`, and every call of [`Pipeline`](crate::Pipeline): these may end without
    /// an answer of the store.
    Local,
}

impl CallKind {
    /// Every kind.
    pub const ALL: [Self; 11] = [
        Self::Read,
        Self::ReadMany,
        Self::Set,
        Self::SetIf,
        Self::SetMany,
        Self::Delete,
        Self::Touch,
        Self::Count,
        Self::Lease,
        Self::Clear,
        Self::Local,
    ];
}

/// One call of a session.
#[derive(Debug)]
pub struct Call {
    /// Its kind.
    pub kind: CallKind,
    may_repeat: bool,
    is_answered: Cell<bool>,
    has_fault: Cell<bool>,
    entry_error: Cell<Option<&'static str>>,
}

impl Call {
    /// A call that is not made twice: nobody knows whether the first one took effect.
    #[inline]
    pub(crate) fn once(kind: CallKind) -> Self {
        Self {
            kind,
            may_repeat: false,
            is_answered: Cell::new(false),
            has_fault: Cell::new(false),
            entry_error: Cell::new(None),
        }
    }

    /// A call that has the same effect when it is made twice.
    #[inline]
    pub(crate) fn repeatable(kind: CallKind) -> Self {
        Self { may_repeat: true, ..Self::once(kind) }
    }

    #[inline]
    pub(crate) fn set(options: &SetOptions) -> Self {
        match options.mode {
            SetMode::Set => Self::repeatable(CallKind::Set),
            _ => Self::once(CallKind::SetIf),
        }
    }

    pub(crate) fn set_many(entries: &[Put<'_>]) -> Self {
        let may_repeat = entries.iter().all(|entry| entry.options.mode == SetMode::Set);
        Self { may_repeat, ..Self::once(CallKind::SetMany) }
    }

    /// Whether the call may be made again after an error, although the first one may have taken effect: a read, a `set`
    /// without a condition, a `delete`, a `touch`. An `incr`, an `append`, an `add` or a compare-and-swap may not. A
    /// call whose caller has had a part of the answer may not either.
    pub fn may_repeat(&self) -> bool {
        self.may_repeat && !self.is_answered()
    }

    /// Whether the caller has had an entry of a call for many.
    pub fn is_answered(&self) -> bool {
        self.is_answered.get()
    }

    /// Whether some entry of a call for many failed by a fault of the store: [`Error::is_fault`].
    pub fn has_fault(&self) -> bool {
        self.has_fault.get()
    }

    /// The [kind](Error::kind) of the first error of an entry of a call for many.
    pub fn entry_error(&self) -> Option<&'static str> {
        self.entry_error.get()
    }

    pub(crate) fn answer(&self) {
        self.is_answered.set(true);
    }

    pub(crate) fn answer_with<T>(&self, outcome: &Result<T>) {
        self.answer();
        if let Err(error) = outcome {
            self.note(error);
        }
    }

    fn note(&self, error: &Error) {
        if error.is_fault() {
            self.has_fault.set(true);
        }
        if self.entry_error.get().is_none() {
            self.entry_error.set(Some(error.kind()));
        }
    }
}
