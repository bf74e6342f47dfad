//! The kinds of keys in the trial: the operations on each, and the answer that is right.

use std::time::Duration;

/// A TTL that has not passed when the short TTL has.
pub(super) const LASTING: Duration = Duration::from_mins(1);

/// The operations on a key of the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyKind {
    /// Set with the short TTL: must go.
    Mortal,
    /// Set with the TTL that lasts: must stay.
    Lasting,
    /// Set with the short TTL and touched with the one that lasts: must stay.
    Renewed,
    /// Set with the TTL that lasts and touched with the short one: must go.
    Shortened,
    /// Set with the short TTL and set again with the one that lasts: must stay.
    Prolonged,
    /// Set with the TTL that lasts and set again with the short one: must go.
    Curtailed,
    /// Set with the short TTL and read again and again meanwhile: must go, for a read gives no TTL.
    Read,
}

/// The operation that gives a key its second TTL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    Touch,
    Set,
}

/// Every kind, in the order of [`Trial::keys`](super::trial::Trial).
pub(super) const KINDS: [KeyKind; 7] = [
    KeyKind::Mortal,
    KeyKind::Lasting,
    KeyKind::Renewed,
    KeyKind::Shortened,
    KeyKind::Prolonged,
    KeyKind::Curtailed,
    KeyKind::Read,
];

impl KeyKind {
    /// The TTL of the first set, and the operation that gives a second TTL afterwards, with that TTL.
    pub(super) fn ttls(self, short: Duration) -> (Duration, Option<(Again, Duration)>) {
        match self {
            Self::Mortal | Self::Read => (short, None),
            Self::Lasting => (LASTING, None),
            Self::Renewed => (short, Some((Again::Touch, LASTING))),
            Self::Shortened => (LASTING, Some((Again::Touch, short))),
            Self::Prolonged => (short, Some((Again::Set, LASTING))),
            Self::Curtailed => (LASTING, Some((Again::Set, short))),
        }
    }

    /// Whether the kind includes a touch.
    pub(super) fn is_touched(self) -> bool {
        matches!(self, Self::Renewed | Self::Shortened)
    }

    /// Whether a key of the kind must be gone when it is asked for.
    pub(super) fn must_go(self) -> bool {
        matches!(self, Self::Mortal | Self::Shortened | Self::Curtailed | Self::Read)
    }

    /// A letter that keeps the keys of the kinds apart.
    pub(super) fn letter(self) -> char {
        match self {
            Self::Mortal => 's',
            Self::Lasting => 'l',
            Self::Renewed => 'r',
            Self::Shortened => 'c',
            Self::Prolonged => 'p',
            Self::Curtailed => 'u',
            Self::Read => 'g',
        }
    }

    pub(super) fn place(self) -> usize {
        KINDS.iter().position(|kind| *kind == self).unwrap_or(0)
    }
}
