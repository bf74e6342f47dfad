//! One call of a session, as the hook of a layer sees it.

use std::cell::Cell;

use super::Outcome;
use crate::{End, Error, Fill, Put, Result, SetMode, SetOptions, Token};

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

/// The keys of a call.
#[derive(Debug, Clone, Copy)]
pub enum Keys<'a> {
    /// No key, as of `clear`; or keys that only the store knows, as of a tag.
    None,
    /// One key.
    One(&'a [u8]),
    /// The keys of a call for many.
    Many(&'a [&'a [u8]]),
    /// The keys of entries.
    Entries(&'a [Put<'a>]),
    /// The keys of values that were loaded.
    Fills(&'a [Fill<'a>]),
    /// The keys of values that end.
    Ends(&'a [End<'a>]),
    /// The keys of leases.
    Held(&'a [(&'a [u8], Token)]),
}

impl<'a> Keys<'a> {
    /// Their number in a call for many; `None` for a call for one key, or without keys.
    pub fn n_of_many(self) -> Option<usize> {
        match self {
            Self::None | Self::One(_) => None,
            Self::Many(keys) => Some(keys.len()),
            Self::Entries(entries) => Some(entries.len()),
            Self::Fills(fills) => Some(fills.len()),
            Self::Ends(ends) => Some(ends.len()),
            Self::Held(held) => Some(held.len()),
        }
    }

    /// Each key.
    pub fn iter(self) -> impl Iterator<Item = &'a [u8]> {
        let at = move |i: usize| match self {
            Self::None => None,
            Self::One(key) => (i == 0).then_some(key),
            Self::Many(keys) => keys.get(i).copied(),
            Self::Entries(entries) => entries.get(i).map(|entry| entry.key),
            Self::Fills(fills) => fills.get(i).map(|fill| fill.put.key),
            Self::Ends(ends) => ends.get(i).map(|end| end.key),
            Self::Held(held) => held.get(i).map(|(key, _)| *key),
        };
        (0..).map_while(at)
    }
}

/// One call of a session.
#[derive(Debug)]
pub struct Call<'a> {
    /// Its kind.
    pub kind: CallKind,
    /// The name of the operation, as `get_many`.
    pub operation: &'static str,
    /// Its keys.
    pub keys: Keys<'a>,
    may_repeat: bool,
    n_answered: Cell<usize>,
    n_hits: Cell<usize>,
    value_bytes: Cell<Option<usize>>,
    has_fault: Cell<bool>,
    entry_error: Cell<Option<&'static str>>,
}

impl<'a> Call<'a> {
    /// A call that is not made twice: nobody knows whether the first one took effect.
    #[inline]
    pub fn once(kind: CallKind, operation: &'static str, keys: Keys<'a>) -> Self {
        Self {
            kind,
            operation,
            keys,
            may_repeat: false,
            n_answered: Cell::new(0),
            n_hits: Cell::new(0),
            value_bytes: Cell::new(None),
            has_fault: Cell::new(false),
            entry_error: Cell::new(None),
        }
    }

    /// A call that has the same effect when it is made twice.
    #[inline]
    pub fn repeatable(kind: CallKind, operation: &'static str, keys: Keys<'a>) -> Self {
        Self { may_repeat: true, ..Self::once(kind, operation, keys) }
    }

    /// A call that stores a value.
    #[inline]
    pub fn set(key: &'a [u8], value: &[u8], options: &SetOptions) -> Self {
        let (kind, operation) = match options.mode {
            SetMode::Set => (CallKind::Set, "set"),
            SetMode::Add => (CallKind::SetIf, "add"),
            SetMode::Replace => (CallKind::SetIf, "replace"),
            SetMode::Append => (CallKind::SetIf, "append"),
            SetMode::Prepend => (CallKind::SetIf, "prepend"),
            SetMode::Cas(_) => (CallKind::SetIf, "cas"),
        };
        let call = Self::once(kind, operation, Keys::One(key));
        call.tell_bytes(value.len());
        Self { may_repeat: options.mode == SetMode::Set, ..call }
    }

    /// A call that stores many values.
    pub fn set_many(entries: &'a [Put<'a>]) -> Self {
        let may_repeat = entries.iter().all(|entry| entry.options.mode == SetMode::Set);
        Self { may_repeat, ..Self::once(CallKind::SetMany, "set_many", Keys::Entries(entries)) }
    }

    /// Whether the call may be made again after an error, although the first one may have taken effect: a read, a `set`
    /// without a condition, a `delete`, a `touch`. An `incr`, an `append`, an `add` or a compare-and-swap may not. A
    /// call whose caller has had a part of the answer may not either.
    pub fn may_repeat(&self) -> bool {
        self.may_repeat && !self.is_answered()
    }

    /// Whether the caller has had an entry of a call for many.
    pub fn is_answered(&self) -> bool {
        self.n_answered.get() > 0
    }

    /// The entries that a read of many keys has found.
    pub fn n_hits(&self) -> usize {
        self.n_hits.get()
    }

    /// The bytes of the values that are stored, or of the value that was found.
    pub fn value_bytes(&self) -> Option<usize> {
        match self.keys {
            Keys::Entries(entries) => Some(entries.iter().map(|entry| entry.value.len()).sum()),
            Keys::Fills(fills) => Some(fills.iter().map(|fill| fill.put.value.len()).sum()),
            _ => self.value_bytes.get(),
        }
    }

    /// Whether some entry of a call for many failed by a fault of the store: [`Error::is_fault`].
    pub fn has_fault(&self) -> bool {
        self.has_fault.get()
    }

    /// The [kind](Error::kind) of the first error of an entry of a call for many.
    pub fn entry_error(&self) -> Option<&'static str> {
        self.entry_error.get()
    }

    /// Notes the bytes of the value.
    #[inline]
    pub fn tell_bytes(&self, len: usize) {
        self.value_bytes.set(Some(len));
    }

    /// Notes that the caller has had an entry of a read of many keys.
    #[inline]
    pub fn answer(&self) {
        self.n_answered.set(self.n_answered.get() + 1);
        self.n_hits.set(self.n_hits.get() + 1);
    }

    /// Notes that the caller has had the outcome of an entry of a call for many.
    pub fn answer_with<T: Outcome>(&self, outcome: &Result<T>) {
        self.n_answered.set(self.n_answered.get() + 1);
        match outcome {
            Ok(outcome) => {
                let is_hit = outcome.is_hit() == Some(true);
                self.n_hits.set(self.n_hits.get() + usize::from(is_hit));
            }
            Err(error) => self.note(error),
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
