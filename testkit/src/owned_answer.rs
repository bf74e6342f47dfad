//! Answers of a pipeline that own their values.

use larder_store::{Answer, Counted, Error, Meta, Result, SetOutcome};

/// An [`Answer`] that owns its value.
#[derive(Debug)]
pub(crate) enum OwnedAnswer {
    Hit(Vec<u8>, Meta),
    Miss,
    Stored(SetOutcome),
    Found(bool),
    Counted(Option<Counted>),
    Entry(usize, Vec<u8>, Meta),
    Outcome(usize, Result<SetOutcome>),
    End,
    Failed(Error),
}

impl OwnedAnswer {
    /// A copy; `None` for a kind of answer that this list does not have.
    pub(crate) fn of(answer: Answer<'_>) -> Option<Self> {
        Some(match answer {
            Answer::Hit { value, meta } => Self::Hit(value.to_vec(), meta),
            Answer::Miss => Self::Miss,
            Answer::Stored(outcome) => Self::Stored(outcome),
            Answer::Found(found) => Self::Found(found),
            Answer::Counted(counted) => Self::Counted(counted),
            Answer::Entry { place, value, meta } => Self::Entry(place, value.to_vec(), meta),
            Answer::Outcome { place, outcome } => Self::Outcome(place, outcome),
            Answer::End => Self::End,
            Answer::Failed(error) => Self::Failed(error),
            _ => return None,
        })
    }

    /// Passes it to a function as an [`Answer`].
    pub(crate) fn pass_to(self, take: impl FnOnce(Answer<'_>)) {
        match self {
            Self::Hit(value, meta) => take(Answer::Hit { value: &value, meta }),
            Self::Miss => take(Answer::Miss),
            Self::Stored(outcome) => take(Answer::Stored(outcome)),
            Self::Found(found) => take(Answer::Found(found)),
            Self::Counted(counted) => take(Answer::Counted(counted)),
            Self::Entry(place, value, meta) => take(Answer::Entry { place, value: &value, meta }),
            Self::Outcome(place, outcome) => take(Answer::Outcome { place, outcome }),
            Self::End => take(Answer::End),
            Self::Failed(error) => take(Answer::Failed(error)),
        }
    }
}
