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

    /// Tells how the call of a permit ended. Every permit is told once.
    fn tell(&self, permit: u64, told: Told<'_>);
}

/// Decides which of several processes tries a server that does not answer, so that all of them together try it seldom.
pub trait Permits: fmt::Debug + Send + Sync {
    /// Whether this process may try the server of this name now. After that no process may for so long.
    fn may_probe(&self, server: &str, every: Duration) -> bool;
}

/// The end of a call, as far as it tells something about the server.
#[derive(Debug, Clone, Copy)]
pub enum Told<'a> {
    /// The server answered.
    Answer,
    /// The server failed.
    Fault(Option<&'a Error>),
    /// Nothing: the call ended before the server was asked, perhaps.
    Nothing,
}

impl<'a> Told<'a> {
    /// What the result of a call tells.
    pub fn by<T>(result: &'a Result<T>) -> Self {
        match result {
            Ok(_) => Self::Answer,
            Err(error) if error.is_fault() => Self::Fault(Some(error)),
            Err(_) => Self::Nothing,
        }
    }
}

/// The permission of one call. If the call panics, it tells nothing, so that the gate waits for no answer of it.
#[derive(Debug)]
#[must_use = "a pass that is dropped tells nothing"]
pub struct Pass<'a> {
    gate: &'a dyn Gate,
    permit: u64,
    is_told: bool,
}

impl<'a> Pass<'a> {
    /// Asks a gate for a call.
    ///
    /// # Errors
    ///
    /// As [`Gate::ask`].
    #[inline]
    pub fn ask(gate: &'a dyn Gate) -> Result<Self> {
        Ok(Self { gate, permit: gate.ask()?, is_told: false })
    }

    /// Tells how the call ended.
    #[inline]
    pub fn end(mut self, told: Told<'_>) {
        self.is_told = true;
        self.gate.tell(self.permit, told);
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if !self.is_told {
            self.gate.tell(self.permit, Told::Nothing);
        }
    }
}
