//! The time for which a session waits for lock holders, and operations that do not wait.

use std::time::Duration;

use crate::api::{Leased, Outcome, Set};
use crate::change::Revise;
use crate::number::Delta;
use crate::touch::{Initial, Sum};
use crate::{Failed, Session};

impl Session {
    /// Sets the time for which a writer waits for one lock holder. The default is a quarter of a second, because a process
    /// with a quota of processor time may be stopped for a tenth.
    ///
    /// While the lock goes from hand to hand, a writer waits at most four times as long. Once a writer has waited for a holder
    /// in vain, other writers do not wait for this holder any more.
    pub fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// [`set`](Self::set) without waiting: if another thread has the lock, it fails as [`Failed::Busy`] at
    /// once.
    pub fn try_set(&mut self, key: &[u8], value: &[u8], set: &Set) -> Result<Outcome, Failed> {
        self.at_once(|session| session.set(key, value, set))
    }

    /// [`delete`](Self::delete) without waiting: if another thread has the lock, the key is removed without
    /// the lock.
    pub fn try_delete(&mut self, key: &[u8]) -> Result<bool, Failed> {
        self.at_once(|session| session.delete(key))
    }

    /// [`touch`](Self::touch) without waiting.
    pub fn try_touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool, Failed> {
        self.at_once(|session| session.touch(key, ttl))
    }

    /// [`expire`](Self::expire) without waiting.
    pub fn try_expire(&mut self, key: &[u8], keep: Option<Duration>) -> Result<bool, Failed> {
        self.at_once(|session| session.expire(key, keep))
    }

    /// [`get_or_lease`](Self::get_or_lease) without waiting.
    pub fn try_get_or_lease(
        &mut self,
        key: &[u8],
        value: &mut Vec<u8>,
        time: Duration,
        early: Duration,
    ) -> Result<Leased, Failed> {
        self.at_once(|session| session.get_or_lease(key, value, time, early))
    }

    /// [`incr`](Self::incr) without waiting.
    pub fn try_incr(
        &mut self,
        key: &[u8],
        delta: Delta,
        absent: Option<Initial>,
    ) -> Result<Sum, Failed> {
        self.at_once(|session| session.incr(key, delta, absent))
    }

    /// [`revise`](Self::revise) without waiting.
    pub fn try_revise(&mut self, key: &[u8], value: &Revise<'_>) -> Result<Outcome, Failed> {
        self.at_once(|session| session.revise(key, value))
    }

    fn at_once<T>(&mut self, operation: impl FnOnce(&mut Self) -> T) -> T {
        let patience = std::mem::replace(&mut self.patience, Duration::ZERO);
        let outcome = operation(self);
        self.patience = patience;
        outcome
    }
}
