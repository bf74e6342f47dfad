//! The reasons to refuse a request by its header.

use super::{Echo, HEADER_LEN, Status};

/// The reason why a server refuses a request, as its header alone tells it.
///
/// Statuses and the ends of connections are those of memcached's `proto_bin.c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The first byte is no [`REQUEST_MAGIC`](super::REQUEST_MAGIC). There is no answer.
    Magic,
    /// Extras and key are longer than the body that has them.
    Lengths(Echo),
    /// The body is longer than [`MAX_BODY_LEN`](super::MAX_BODY_LEN).
    Body(Echo),
    /// The parts are not those of the command, or the key is longer than a key may be.
    Arguments {
        /// Header fields that the answer repeats.
        echo: Echo,
        /// Number of bytes behind the header.
        body_len: usize,
    },
    /// No known command.
    Unknown {
        /// Header fields that the answer repeats.
        echo: Echo,
        /// Number of bytes behind the header.
        body_len: usize,
    },
}

impl Fault {
    /// The answer's header fields and its status.
    pub fn answer(self) -> Option<(Echo, Status)> {
        match self {
            Self::Magic => None,
            Self::Lengths(echo) | Self::Unknown { echo, .. } => {
                Some((echo, Status::UnknownCommand))
            }
            Self::Body(echo) | Self::Arguments { echo, .. } => {
                Some((echo, Status::InvalidArguments))
            }
        }
    }

    /// Whether the connection ends once the answer has been sent. Only an unknown command lets it go on.
    pub fn ends_connection(self) -> bool {
        !matches!(self, Self::Unknown { .. })
    }

    /// The number of bytes that the request takes, header included; `None` where the bytes behind it have no meaning.
    ///
    /// A server reads all these bytes even if it then ends the connection. A connection that ends with unread bytes is
    /// reset, and the client may miss the answer.
    pub fn request_len(self) -> Option<usize> {
        match self {
            Self::Magic | Self::Lengths(_) | Self::Body(_) => None,
            Self::Arguments { body_len, .. } | Self::Unknown { body_len, .. } => {
                Some(HEADER_LEN + body_len)
            }
        }
    }
}
