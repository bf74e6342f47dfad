//! Requests that were sent and have no last answer yet.

/// One command that waits for its answer.
#[derive(Debug)]
pub(super) struct Outstanding<A> {
    /// The number of the request to which the command belongs.
    pub(super) id: usize,
    /// What the engine needs to read the answer.
    pub(super) asked: A,
    pub(super) role: Role,
}

/// The share of a command in its request.
#[derive(Debug, Clone, Copy)]
pub(super) enum Role {
    /// The command is the whole request, so its answers are the request's.
    Whole,
    /// It stores the entry at this place of a batch.
    Write { place: u32, end: End },
    /// It reads the next `n_keys` keys of the link's places.
    Read { n_keys: u32, end: End },
}

/// What ends with a command of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Nothing: another command of the batch follows on this link.
    Nothing,
    /// The batch, of which no other link has a part.
    Batch,
    /// The part of this link in a batch with this number.
    Part(u32),
}

impl Role {
    /// What ends with the command; `None` for a command that is a request of its own.
    pub(super) fn end(self) -> Option<End> {
        match self {
            Self::Whole => None,
            Self::Write { end, .. } | Self::Read { end, .. } => Some(end),
        }
    }

    /// Makes the command the last of its batch on this link.
    pub(super) fn set_end(&mut self, new: End) {
        match self {
            Self::Whole => {}
            Self::Write { end, .. } | Self::Read { end, .. } => *end = new,
        }
    }
}
