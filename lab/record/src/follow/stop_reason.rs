//! The reasons why a connection is not followed any more.

use std::fmt;

/// The reason why a connection is not followed any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// Bytes of the application that are no request.
    Request(&'static str),
    /// Bytes of the server that answer no request.
    Answer(&'static str),
    /// More requests wait for their answers than the limit allows.
    TooManyPending,
    /// From here on the connection has another use than a cache, such as a stream of a server's events.
    OtherUse(&'static str),
}

impl StopReason {
    /// Whether something was not understood, unlike [`StopReason::OtherUse`].
    pub fn is_trouble(self) -> bool {
        !matches!(self, Self::OtherUse(_))
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(what) => write!(f, "the application sent {what}"),
            Self::Answer(what) => write!(f, "the server sent {what}"),
            Self::TooManyPending => f.write_str("more requests wait for answers than are held"),
            Self::OtherUse(what) => f.write_str(what),
        }
    }
}
