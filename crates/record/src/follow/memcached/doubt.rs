//! Answers of a server that several requests may have caused.
//!
//! A quiet request leaves out its usual answer. `NF` behind `md a q` and `md b` may belong to either: `a` was absent and
//! the answer about `b` comes next, or `a` was deleted in silence. The answers that follow decide, because each other
//! request has exactly one. Until then the answers are held, with every place in the queue of requests that the server may
//! have reached. The binary protocol has the same doubt where requests share an opaque number.

use super::super::Lost;
use super::super::queue::Queue;
use super::words::Fit;
use crate::desk::Desk;

/// The most answers that are held, and their bytes.
const MOST_HELD: usize = 256;
const MOST_BYTES: usize = 64 << 10;

/// The most places that are kept apart.
const MOST_PLACES: usize = 64;

/// A place in the queue that the server may have reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// The request that is answered next.
    next: usize,
    /// Its answer has begun.
    is_within: bool,
    /// The request that the last answer belongs to.
    took: usize,
    /// The place before that answer, among those of the answer before.
    before: usize,
}

const FRONT: Place = Place { next: 0, is_within: false, took: 0, before: 0 };

/// An answer that is held.
#[derive(Debug)]
struct Held<A> {
    answer: A,
    /// The places behind it.
    places: Vec<Place>,
    n_bytes: usize,
}

/// Answers whose requests are not known yet.
#[derive(Debug)]
pub(super) struct Doubt<A> {
    held: Vec<Held<A>>,
    bytes: usize,
}

/// What came of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The answer is held.
    Held,
    /// The answer is held, and all before it can be given to their requests.
    DecidedBefore,
    /// The answer is held, and all that are held can be given to their requests.
    Decided,
}

fn is_quiet<W: Copy>(queue: &Queue<W>, place: usize) -> bool {
    place < queue.len() && queue.next_loud(place) != place
}

/// The first request that fits an answer, at or behind a place: quiet ones before it have left out their answers.
pub(super) fn first_fit<W: Copy>(
    queue: &Queue<W>,
    from: usize,
    fit: impl Fn(usize) -> Fit,
) -> Option<(usize, Fit)> {
    let until = queue.len().min(queue.next_loud(from) + 1);
    (from..until).map(|place| (place, fit(place))).find(|(_, fit)| *fit != Fit::No)
}

/// The request behind a quiet one that must be answered, if that fits the answer too.
pub(super) fn other_fit<W: Copy>(
    queue: &Queue<W>,
    first: usize,
    fit: impl Fn(usize) -> Fit,
) -> Option<(usize, Fit)> {
    if !is_quiet(queue, first) {
        return None;
    }
    let place = queue.next_loud(first);
    Some((place, fit(place))).filter(|(_, fit)| *fit != Fit::No)
}

impl<A> Default for Doubt<A> {
    fn default() -> Self {
        Self { held: Vec::new(), bytes: 0 }
    }
}

impl<A> Doubt<A> {
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Whether the server may have answered all requests before this place.
    pub(super) fn may_have_reached(&self, place: usize) -> bool {
        let last = self.held.last().map_or(&[][..], |held| &held.places);
        last.iter().any(|reached| reached.next >= place && !reached.is_within)
    }

    /// Takes an answer with the places behind it, of which there is one at least.
    ///
    /// # Errors
    ///
    /// There is no memory for it.
    pub(super) fn take(
        &mut self,
        answer: A,
        n_bytes: usize,
        places: Vec<Place>,
        desk: &mut Desk,
    ) -> Result<Step, Lost> {
        let n_bytes = n_bytes + size_of::<Held<A>>() + size_of_val(&places[..]);
        if !desk.wait_with(n_bytes) {
            return Err(Lost::TooMuchWaits);
        }
        self.bytes += n_bytes;
        let is_decided = places.len() == 1
            || places.len() > MOST_PLACES
            || self.held.len() >= MOST_HELD
            || self.bytes > MOST_BYTES;
        // Ways that part behind the answer before have all that came before in common.
        let is_common = places.iter().all(|place| place.before == places[0].before);
        let step = match (is_decided, is_common && !self.held.is_empty()) {
            (true, _) => Step::Decided,
            (false, true) => Step::DecidedBefore,
            (false, false) => Step::Held,
        };
        self.held.push(Held { answer, places, n_bytes });
        Ok(step)
    }

    /// The places that the server may have reached with an answer, the first one first.
    pub(super) fn places_behind<W: Copy>(
        &self,
        queue: &Queue<W>,
        fit: impl Fn(usize) -> Fit,
    ) -> Vec<Place> {
        let mut places = Vec::new();
        let last = self.held.last().map_or(&[FRONT][..], |held| &held.places);
        for (before, place) in last.iter().enumerate() {
            let mut reach = |(took, fit)| {
                let is_within = fit == Fit::More;
                let next = if is_within { took } else { took + 1 };
                add(&mut places, Place { next, is_within, took, before }, queue);
            };
            if place.is_within {
                let fit = fit(place.next);
                if fit != Fit::No {
                    reach((place.next, fit));
                }
            } else if let Some(found) = first_fit(queue, place.next, &fit) {
                reach(found);
                other_fit(queue, found.0, &fit).into_iter().for_each(reach);
            }
        }
        places
    }

    /// Gives up all answers, each with the request that it belongs to. Where several are possible, the server has answered
    /// as many requests as it may have.
    pub(super) fn decide(&mut self, desk: &mut Desk) -> Vec<(A, usize)> {
        let held = std::mem::take(&mut self.held);
        self.give(held, usize::MAX, desk)
    }

    /// Gives up the answers before the last one. [`Doubt::shift`] follows, once their requests have left the queue.
    pub(super) fn decide_before_last(&mut self, desk: &mut Desk) -> Vec<(A, usize)> {
        let Some(mut last) = self.held.pop() else { return Vec::new() };
        let chosen = last.places.first().map_or(usize::MAX, |place| place.before);
        for place in &mut last.places {
            place.before = 0;
        }
        let before = std::mem::replace(&mut self.held, vec![last]);
        self.give(before, chosen, desk)
    }

    /// Hears that so many requests have left the queue.
    pub(super) fn shift(&mut self, n_requests: usize) {
        for place in self.held.iter_mut().flat_map(|held| &mut held.places) {
            place.next = place.next.saturating_sub(n_requests);
            place.took = place.took.saturating_sub(n_requests);
        }
    }

    /// Answers with their requests. The last one has reached its place of this number, or its last place.
    fn give(&mut self, held: Vec<Held<A>>, mut chosen: usize, desk: &mut Desk) -> Vec<(A, usize)> {
        let mut given = Vec::with_capacity(held.len());
        for Held { answer, places, n_bytes } in held.into_iter().rev() {
            self.bytes -= n_bytes;
            desk.waiting_bytes -= n_bytes;
            let place = places.get(chosen).or(places.last()).unwrap_or(&FRONT);
            given.push((answer, place.took));
            chosen = place.before;
        }
        given.reverse();
        given
    }
}

/// Adds a place, unless another one leaves at least the same requests open: those between both may stay unanswered.
fn add<W: Copy>(places: &mut Vec<Place>, place: Place, queue: &Queue<W>) {
    let is_covered = places.iter().any(|other| {
        if other.is_within || place.is_within {
            return (other.next, other.is_within) == (place.next, place.is_within);
        }
        other.next <= place.next && queue.next_loud(other.next) >= place.next
    });
    if !is_covered {
        places.push(place);
    }
}
