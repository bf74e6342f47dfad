//! What is known of each key: its acknowledged state, and the states that were sent and not yet acknowledged.

use std::collections::VecDeque;

use crate::values::{first_number, name};

/// The state of a key. Later states of a key have higher numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Absent,
    Value(u64),
    List(List),
    /// A counter.
    Number(u64),
}

/// The entries of a list, whose numbers rise. Numbers may be left out: those of entries that were in flight at a kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct List {
    pub(crate) n_entries: usize,
    pub(crate) last: u64,
    /// The digest of all numbers.
    digest: u64,
}

impl List {
    /// The list with one more entry.
    pub(crate) fn with(self, number: u64) -> Self {
        let digest = self.digest.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number);
        Self { n_entries: self.n_entries + 1, last: number, digest }
    }
}

impl State {
    fn number(self) -> u64 {
        match self {
            Self::Absent => 0,
            Self::Value(number) | Self::Number(number) => number,
            Self::List(list) => list.last,
        }
    }
}

/// The ways in which an answer is not the right one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A value that was never sent under this key, or an answer that does not fit the request.
    Wrong,
    /// A value from before the acknowledged state.
    Older,
    Missing,
    /// The right value, with a version that is not its own.
    Version,
}

/// An answer that is not the right one.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) verdict: Verdict,
    pub(crate) told: String,
}

impl Fault {
    pub(crate) fn wrong(told: impl Into<String>) -> Self {
        Self { verdict: Verdict::Wrong, told: told.into() }
    }
}

/// A key in the books of its writer.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) of: usize,
    acknowledged: State,
    /// The states that were sent since, in order.
    in_flight: VecDeque<State>,
    /// The highest number that was acknowledged: a state that is not allowed and not above it is an older one.
    settled: u64,
    /// The highest number that was sent.
    begun: u64,
    /// The version of the acknowledged state, where the server has told it.
    pub(crate) version: Option<u64>,
}

impl Key {
    pub(crate) fn new(of: usize) -> Self {
        let number = first_number(of);
        Self {
            of,
            acknowledged: State::Absent,
            in_flight: VecDeque::new(),
            settled: number,
            begun: number,
            version: None,
        }
    }

    pub(crate) fn acknowledged(&self) -> State {
        self.acknowledged
    }

    /// Whether all that was sent is acknowledged.
    pub(crate) fn is_settled(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// The number of states that were sent and not acknowledged.
    pub(crate) fn n_in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// A number above all that were sent.
    pub(crate) fn next_number(&self) -> u64 {
        self.begun + 1
    }

    /// Notes that this state is about to be sent.
    pub(crate) fn send(&mut self, state: State) {
        self.begun = self.begun.max(state.number());
        self.version = None;
        self.in_flight.push_back(state);
    }

    /// Notes that the first state in flight was acknowledged.
    pub(crate) fn acknowledge(&mut self) {
        if let Some(state) = self.in_flight.pop_front() {
            self.reach(state);
        }
    }

    /// Notes that the server refused the first state in flight.
    pub(crate) fn refuse(&mut self) {
        self.in_flight.pop_front();
    }

    fn reach(&mut self, state: State) {
        self.settled = self.settled.max(state.number());
        self.acknowledged = state;
    }

    /// Judges a state that was found while no change could have been made since the last acknowledged one.
    pub(crate) fn judge(&self, found: State) -> Result<(), Fault> {
        if found == self.acknowledged { Ok(()) } else { Err(self.fault(found)) }
    }

    /// Judges the state after which nothing that was in flight can happen any more, and goes on from there. Returns
    /// whether it is one that was in flight.
    pub(crate) fn settle(&mut self, found: State) -> Result<bool, Fault> {
        let was_in_flight = self.in_flight.contains(&found);
        if found != self.acknowledged && !was_in_flight {
            return Err(self.fault(found));
        }
        if found != self.acknowledged {
            self.version = None;
        }
        self.in_flight.clear();
        self.reach(found);
        Ok(was_in_flight)
    }

    /// Judges the version of the present state.
    pub(crate) fn judge_version(&self, found: u64) -> Result<(), Fault> {
        match self.version {
            Some(version) if version != found => Err(Fault {
                verdict: Verdict::Version,
                told: format!("{}: version {found}, not {version}", name(self.of)),
            }),
            _ => Ok(()),
        }
    }

    fn fault(&self, found: State) -> Fault {
        let verdict = match found {
            State::Absent => Verdict::Missing,
            found if found.number() <= self.settled => Verdict::Older,
            _ => Verdict::Wrong,
        };
        let Self { of, acknowledged, in_flight, .. } = self;
        let told = format!(
            "{}: found {found:?}, acknowledged {acknowledged:?}, in flight {in_flight:?}",
            name(*of)
        );
        Fault { verdict, told }
    }
}
