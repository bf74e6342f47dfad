//! Gates before the servers of a store that has several, so that one that does not answer is left alone.

use std::fmt;
use std::time::Duration;

use crate::{Error, Result};

/// Refuses the calls to one server of a store while that server does not answer. A breaker is one.
pub trait Gate: fmt::Debug + Send + Sync {
    /// Asks for a call, and returns the number of its permit.
    ///
    /// # Errors
    ///
    /// [`Error::not_made`] where the call is refused.
    fn ask(&self) -> Result<u64>;

    /// Takes the end of the call of a permit. Every permit is reported once.
    fn report(&self, permit: u64, end: CallEnd<'_>);
}

/// Decides which of several processes tries a server that does not answer, so that all of them together try it seldom.
pub trait Permits: fmt::Debug + Send + Sync {
    /// Whether this process may try the server of this name now. After that no process may for this time.
    fn may_probe(&self, server: &str, every: Duration) -> bool;
}

/// The end of a call, as far as it concerns the server.
#[derive(Debug, Clone, Copy)]
pub enum CallEnd<'a> {
    /// The server answered.
    Answer,
    /// The server failed.
    Fault(Option<&'a Error>),
    /// Nothing: the call ended before the server was asked, perhaps.
    Nothing,
}

impl<'a> CallEnd<'a> {
    /// The end of a call with this result.
    pub fn of<T>(result: &'a Result<T>) -> Self {
        match result {
            Ok(_) => Self::Answer,
            Err(error) if error.is_fault() => Self::Fault(Some(error)),
            Err(_) => Self::Nothing,
        }
    }
}

/// Guard of a permitted call; dropping it unreported, as a panic does, releases the permit.
#[derive(Debug)]
#[must_use = "a pass that is dropped reports nothing"]
pub struct Pass<'a> {
    gate: &'a dyn Gate,
    permit: u64,
    is_reported: bool,
}

impl<'a> Pass<'a> {
    /// Asks a gate for a call.
    ///
    /// # Errors
    ///
    /// As [`Gate::ask`].
    #[inline]
    pub fn ask(gate: &'a dyn Gate) -> Result<Self> {
        Ok(Self { gate, permit: gate.ask()?, is_reported: false })
    }

    /// Reports how the call ended.
    #[inline]
    pub fn end(mut self, end: CallEnd<'_>) {
        self.is_reported = true;
        self.gate.report(self.permit, end);
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if !self.is_reported {
            self.gate.report(self.permit, CallEnd::Nothing);
        }
    }
}
