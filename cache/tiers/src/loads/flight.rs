//! One load a key at a time within this process: the first caller leads, and the others wait for its end.
//!
//! No value passes from one caller to another. A caller that comes after a write must not get a value that was loaded
//! before it, so those who waited read the tiers again.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The number of parts, so that loads of different keys seldom meet.
const PARTS: usize = 16;

/// The loads that are under way.
#[derive(Debug)]
pub(crate) struct Flights {
    parts: [Mutex<Open>; PARTS],
    hasher: RandomState,
    /// The number of loads that have ended.
    n_ended: AtomicU64,
}

/// Loads by their keys.
type Open = HashMap<Box<[u8]>, Arc<Flight>>;

/// The load of one key.
#[derive(Debug, Default)]
struct Flight {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    /// The leader asks the tiers, or loads.
    #[default]
    Begun,
    /// The leader loads, or has failed to, and an older value is there for the others.
    Refreshing,
    Ended(End),
}

/// The end of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The answer is in the tiers.
    Stored,
    /// There is an answer, but the tiers have not got it.
    NotStored,
    /// There is no answer.
    Failed,
}

/// The place of a caller.
#[derive(Debug)]
pub(crate) enum Place<'a> {
    /// It leads.
    Leads(Lead<'a>),
    /// Another caller led, and has come to this end.
    Followed(End),
    /// Another caller leads, and an older value is there.
    Refreshing,
    /// Another caller leads, and the time to wait is over.
    Late,
}

/// The lead of one load. Dropping it ends the load as failed.
#[derive(Debug)]
pub(crate) struct Lead<'a> {
    flights: &'a Flights,
    key: Box<[u8]>,
    flight: Arc<Flight>,
}

impl Default for Flights {
    fn default() -> Self {
        Self { parts: Default::default(), hasher: RandomState::new(), n_ended: AtomicU64::new(0) }
    }
}

impl Flights {
    /// Leads the load of a key, or waits until the present one ends, at most until `deadline`.
    pub(crate) fn board(&self, key: &[u8], deadline: Instant) -> Place<'_> {
        let flight = match self.part(key).entry(key.into()) {
            Entry::Occupied(open) => Arc::clone(open.get()),
            Entry::Vacant(place) => {
                let flight = Arc::clone(place.insert(Arc::default()));
                return Place::Leads(Lead { flights: self, key: key.into(), flight });
            }
        };
        let mut state = lock(&flight.state);
        loop {
            match *state {
                State::Ended(end) => return Place::Followed(end),
                State::Refreshing => return Place::Refreshing,
                State::Begun => {}
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Place::Late;
            }
            let waited = flight.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The number of loads of any key that have ended. If it has not changed since a caller looked for a value, none was stored
    /// after that look.
    pub(crate) fn n_ended(&self) -> u64 {
        self.n_ended.load(Ordering::Acquire)
    }

    /// Leads the load of a key; `None` where another caller does.
    pub(crate) fn lead(&self, key: &[u8]) -> Option<Lead<'_>> {
        match self.board(key, Instant::now()) {
            Place::Leads(lead) => Some(lead),
            _ => None,
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "the rest is below the number of parts")]
    fn part(&self, key: &[u8]) -> MutexGuard<'_, Open> {
        lock(&self.parts[(self.hasher.hash_one(key) % PARTS as u64) as usize])
    }
}

impl Lead<'_> {
    /// Wakes the callers that wait: an older value is there.
    pub(crate) fn refreshes(&self) {
        *lock(&self.flight.state) = State::Refreshing;
        self.flight.changed.notify_all();
    }

    /// Ends the load.
    pub(crate) fn end(self, end: End) {
        self.note(end);
    }

    /// Notes the first end. A failure does not concern the callers that got an older value.
    fn note(&self, end: End) {
        let mut state = lock(&self.flight.state);
        match *state {
            State::Ended(_) => {}
            State::Refreshing if end == End::Failed => {}
            _ => *state = State::Ended(end),
        }
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        // First the count, so that the next leader knows of this load.
        self.flights.n_ended.fetch_add(1, Ordering::Release);
        self.flights.part(&self.key).remove(&self.key);
        self.note(End::Failed);
        self.flight.changed.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    fn far() -> Instant {
        Instant::now() + Duration::from_hours(1)
    }

    #[test]
    fn one_leads_and_the_others_see_its_end() {
        for (end, seen) in [(Some(End::Stored), End::Stored), (None, End::Failed)] {
            let flights = Flights::default();
            let Place::Leads(lead) = flights.board(b"k", far()) else { panic!("no lead") };
            thread::scope(|scope| {
                let follower = scope.spawn(|| flights.board(b"k", far()));
                assert!(matches!(flights.board(b"other", far()), Place::Leads(_)));
                match end {
                    Some(end) => lead.end(end),
                    None => drop(lead),
                }
                // The follower may have come after the end, and leads.
                let place = follower.join().unwrap();
                let follows = matches!(place, Place::Followed(end) if end == seen);
                assert!(follows || matches!(place, Place::Leads(_)), "{place:?}");
            });
            assert!(matches!(flights.board(b"k", far()), Place::Leads(_)), "the next load leads");
        }
    }

    #[test]
    fn a_follower_waits_no_longer_than_its_time_and_not_where_an_older_value_is_there() {
        let flights = Flights::default();
        let Place::Leads(lead) = flights.board(b"k", far()) else { panic!("no lead") };
        assert!(matches!(flights.board(b"k", Instant::now()), Place::Late));
        lead.refreshes();
        assert!(matches!(flights.board(b"k", far()), Place::Refreshing));
    }
}
