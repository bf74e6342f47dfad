//! The states of a breaker, as a function of the ends of calls and of a time that it is given.

use std::time::{Duration, Instant};

/// The calls in a row that must succeed after a probe until the breaker is closed. Their number at once grows from one,
/// by one with each success, so that a server that has just come back meets no flood.
pub(super) const RAMP: u32 = 16;

/// A process asks so often for the right to probe in the time between two probes. So it notices soon that it has its turn.
const TURNS: u32 = 4;

/// The states of a breaker.
#[derive(Debug)]
pub(super) struct Machine {
    /// The failures in a row that open it.
    failures: u32,
    /// The shortest time between two probes.
    probe: Duration,
    state: State,
    /// It changes with each change of state, so that a call of an earlier state says nothing about this one.
    epoch: u64,
    pub(super) counts: Counts,
}

/// The events since the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    /// Times that it opened.
    pub(super) opened: u64,
    /// Times that it closed after that.
    pub(super) closed: u64,
    /// Calls that were let through to try the store.
    pub(super) probes: u64,
    /// Calls that were refused.
    pub(super) refused: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// All calls go through. This many have failed in a row.
    Closed { failures: u32 },
    /// No call goes through before `until`, and none while the probe is on its way.
    Open { until: Instant, is_probing: bool },
    /// A probe has succeeded: this many calls may be on their way at once.
    Ramp { width: u32, on_their_way: u32 },
}

/// A permitted call, by the number of the state in which it was permitted: the end of a call from an earlier state changes
/// nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Permit(pub(super) u64);

/// The end of a call, as far as it concerns the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The store answered.
    Answer,
    /// The store failed.
    Fault,
    /// Nothing: the call ended before the store was asked, perhaps.
    Nothing,
}

impl Machine {
    pub(super) fn new(failures: u32, probe: Duration) -> Self {
        let state = State::Closed { failures: 0 };
        Self { failures, probe, state, epoch: 0, counts: Counts::default() }
    }

    /// Asks for a call. `Err` is the time until the next probe.
    pub(super) fn ask(&mut self, now: Instant) -> Result<Permit, Duration> {
        let refusal = match &mut self.state {
            State::Closed { .. } => None,
            State::Open { until, is_probing } => {
                if *is_probing || now < *until {
                    Some(until.saturating_duration_since(now))
                } else {
                    (*until, *is_probing) = (now + self.probe, true);
                    self.counts.probes += 1;
                    None
                }
            }
            State::Ramp { width, on_their_way } => {
                if on_their_way < width {
                    *on_their_way += 1;
                    None
                } else {
                    Some(Duration::ZERO)
                }
            }
        };
        match refusal {
            None => Ok(Permit(self.epoch)),
            Some(wait) => {
                self.counts.refused += 1;
                Err(wait)
            }
        }
    }

    /// Puts a probe off that has a permit and is not made: another process probes.
    pub(super) fn put_off(&mut self, permit: Permit, now: Instant) -> Duration {
        let pause = self.probe / TURNS;
        if permit.0 == self.epoch && matches!(self.state, State::Open { .. }) {
            self.state = State::Open { until: now + pause, is_probing: false };
            self.counts.probes -= 1;
            self.counts.refused += 1;
        }
        pause
    }

    /// Whether a call with this permit is a probe.
    pub(super) fn is_probe(&self, permit: Permit) -> bool {
        permit.0 == self.epoch && matches!(self.state, State::Open { .. })
    }

    /// Takes the end of a call. Every permit is reported once.
    pub(super) fn report(&mut self, permit: Permit, verdict: Verdict, now: Instant) {
        if permit.0 != self.epoch {
            return;
        }
        let next = match (self.state, verdict) {
            (State::Closed { .. }, Verdict::Answer) => State::Closed { failures: 0 },
            (State::Closed { failures }, Verdict::Fault) if failures + 1 < self.failures => {
                State::Closed { failures: failures + 1 }
            }
            (State::Ramp { width, .. }, Verdict::Answer) if width == RAMP => {
                State::Closed { failures: 0 }
            }
            // After a probe, the next comes a while after its end, not only after its beginning.
            (_, Verdict::Fault) => State::Open { until: now + self.probe, is_probing: false },
            (State::Open { .. }, Verdict::Answer) => State::Ramp { width: 1, on_their_way: 0 },
            (State::Open { until, .. }, Verdict::Nothing) => {
                State::Open { until, is_probing: false }
            }
            (State::Ramp { width, on_their_way }, verdict) => State::Ramp {
                width: width + u32::from(verdict == Verdict::Answer),
                on_their_way: on_their_way - 1,
            },
            (closed, _) => closed,
        };
        self.enter(next);
    }

    fn enter(&mut self, next: State) {
        match (self.state, next) {
            (State::Closed { .. } | State::Ramp { .. }, State::Open { .. }) => {
                self.counts.opened += 1;
            }
            (State::Ramp { .. }, State::Closed { .. }) => self.counts.closed += 1,
            (State::Open { .. }, State::Ramp { .. }) => {}
            _ => {
                self.state = next;
                return;
            }
        }
        self.epoch += 1;
        self.state = next;
    }

    /// The present permit where no call has failed, so that calls need not ask.
    pub(super) fn quiet(&self) -> Option<Permit> {
        (self.state == State::Closed { failures: 0 }).then_some(Permit(self.epoch))
    }

    /// The state in one word.
    pub(super) fn name(&self) -> &'static str {
        match self.state {
            State::Closed { .. } => "closed",
            State::Open { .. } => "open",
            State::Ramp { .. } => "recovering",
        }
    }
}

#[cfg(test)]
mod tests;
