//! Answers of a pipeline that are kept.

use larder_store::{Answer, Counted, Error, Meta, Result, SetOutcome};

/// An [`Answer`] with a value of its own.
#[derive(Debug)]
pub(crate) enum Given {
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

impl Given {
    /// A copy; `None` of a kind of answers that this list does not have.
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

    /// Passes it on.
    pub(crate) fn tell(self, tell: impl FnOnce(Answer<'_>)) {
        match self {
            Self::Hit(value, meta) => tell(Answer::Hit { value: &value, meta }),
            Self::Miss => tell(Answer::Miss),
            Self::Stored(outcome) => tell(Answer::Stored(outcome)),
            Self::Found(found) => tell(Answer::Found(found)),
            Self::Counted(counted) => tell(Answer::Counted(counted)),
            Self::Entry(place, value, meta) => tell(Answer::Entry { place, value: &value, meta }),
            Self::Outcome(place, outcome) => tell(Answer::Outcome { place, outcome }),
            Self::End => tell(Answer::End),
            Self::Failed(error) => tell(Answer::Failed(error)),
        }
    }
}
