//! The errors of the view, each in one line that names the value, the limit and the fix.

use std::io;
use std::time::Duration;

use crate::figures;
use crate::interval::{LONGEST, SHORTEST};

/// The result of a call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason for the end of the view.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is no address of a server.
    #[error("`{text}` is no server: {fault}")]
    Address {
        /// The text.
        text: String,
        /// Its fault, with the limit and the fix.
        fault: String,
    },
    /// Two of the addresses are the same.
    #[error("`{text}` is named twice, and a total would count it twice: name each server once")]
    Twice {
        /// The address.
        text: String,
    },
    /// The time between samples is out of bounds.
    #[error(
        "an interval of {}: the limits are {} and {}, and 1s is usual",
        figures::span(*given), figures::span(SHORTEST), figures::span(LONGEST)
    )]
    Interval {
        /// The time.
        given: Duration,
    },
    /// The single table has no server that answered.
    #[error("no server answered; {first}")]
    NoAnswer {
        /// The first server and its reason.
        first: String,
    },
    /// A thread that asks a server cannot start, or has failed.
    #[error("the thread that asks {address} {what}")]
    Thread {
        /// The server.
        address: String,
        /// What happened to the thread.
        what: String,
    },
    /// The terminal fails.
    #[error("using the terminal (`--once` needs none)")]
    Terminal(#[source] io::Error),
    /// Standard output fails.
    #[error("writing to standard output")]
    Output(#[source] io::Error),
}

impl Error {
    /// Whether the caller's arguments are wrong.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Address { .. } | Self::Twice { .. } | Self::Interval { .. })
    }
}
