//! Lines of a server that several requests may have caused.
//!
//! A quiet request of the meta protocol leaves out its usual answer. `NF` behind `md a q` and `md b` may belong to either:
//! `a` was absent and the answer about `b` comes next, or `a` was deleted in silence. The lines that follow decide, because
//! each other request has exactly one answer. Until then the lines are held, with every place in the queue of requests that
//! the server may have reached.

use super::super::Lost;
use super::super::queue::Queue;
use super::text::{Silence, What};
use super::words::{Fit, Line};
use crate::desk::Desk;
use crate::keys::Keys;

/// The most lines that are held, and their bytes.
const MOST_LINES: usize = 256;
const MOST_BYTES: usize = 64 << 10;

/// The most places that are kept apart.
const MOST_PLACES: usize = 64;

/// The most quiet requests behind one that fits a line among which another request is looked for that fits too.
const HORIZON: usize = 1024;

/// A line that is held.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) bytes: Box<[u8]>,
    /// The time at which its first byte went to the application.
    pub(super) at: u64,
}

/// A place in the queue that the server may have reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    /// The request that is answered next.
    next: usize,
    /// Its answer has begun.
    is_within: bool,
    /// The request that the last line answers.
    took: usize,
    /// The place before that line, among those of the line before.
    before: usize,
}

const FRONT: Place = Place { next: 0, is_within: false, took: 0, before: 0 };

/// Lines whose requests are not known yet.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    lines: Vec<Held>,
    /// The places behind each line.
    places: Vec<Vec<Place>>,
    bytes: usize,
}

/// What came of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// No request fits it.
    Unfit,
    /// The line is held.
    Held,
    /// The line is held, and all lines that are held can be given to their requests.
    Decided,
}

/// The meaning of a line for the request at a place.
fn fit_at(queue: &Queue<What>, place: usize, line: &Line<'_>, keys: &Keys) -> Fit {
    let Some(asked) = queue.at(place) else { return Fit::No };
    let fit = line.fit(asked);
    let is_foreign = |hash| fit == Fit::More && !queue.asks_for(place, hash);
    if line.is_foreign_error(asked.what.kind) || line.value_key(keys).is_some_and(is_foreign) {
        return Fit::No;
    }
    fit
}

fn is_quiet(queue: &Queue<What>, place: usize) -> bool {
    queue.at(place).is_some_and(|asked| asked.what.silence != Silence::Never)
}

/// The first request that fits a line, at or behind a place: quiet ones before it have left out their answers.
pub(super) fn first_fit(
    queue: &Queue<What>,
    from: usize,
    line: &Line<'_>,
    keys: &Keys,
) -> Option<(usize, Fit)> {
    for place in from..queue.len() {
        match fit_at(queue, place, line, keys) {
            Fit::No if is_quiet(queue, place) => {}
            Fit::No => return None,
            fit => return Some((place, fit)),
        }
    }
    None
}

/// The request behind a quiet one that must be answered, if that fits the line too.
pub(super) fn other_fit(
    queue: &Queue<What>,
    first: usize,
    line: &Line<'_>,
    keys: &Keys,
) -> Option<(usize, Fit)> {
    if !is_quiet(queue, first) {
        return None;
    }
    let mut behind = first + 1..queue.len().min(first + HORIZON);
    let place = behind.find(|place| !is_quiet(queue, *place))?;
    Some((place, fit_at(queue, place, line, keys))).filter(|(_, fit)| *fit != Fit::No)
}

impl Doubt {
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Whether the server may have answered all of so many requests.
    pub(super) fn may_be_over(&self, n_requests: usize) -> bool {
        let last = self.places.last().into_iter().flatten();
        last.into_iter().any(|place| place.next == n_requests && !place.is_within)
    }

    /// Takes a line.
    ///
    /// # Errors
    ///
    /// There is no memory for it.
    pub(super) fn take(
        &mut self,
        line: &Line<'_>,
        at: u64,
        queue: &Queue<What>,
        desk: &mut Desk,
    ) -> Result<Step, Lost> {
        let places = self.places_behind(line, queue, &desk.keys);
        if places.is_empty() {
            return Ok(Step::Unfit);
        }
        let bytes = line.bytes.len() + size_of::<Held>() + size_of_val(&places[..]);
        if !desk.wait_with(bytes) {
            return Err(Lost::TooMuchWaits);
        }
        self.bytes += bytes;
        let is_decided = places.len() == 1
            || places.len() > MOST_PLACES
            || self.lines.len() >= MOST_LINES
            || self.bytes > MOST_BYTES;
        self.lines.push(Held { bytes: line.bytes.into(), at });
        self.places.push(places);
        Ok(if is_decided { Step::Decided } else { Step::Held })
    }

    /// The places that the server may have reached with this line, the first one first.
    fn places_behind(&self, line: &Line<'_>, queue: &Queue<What>, keys: &Keys) -> Vec<Place> {
        let mut places = Vec::new();
        for (before, place) in self.places.last().map_or(&[FRONT][..], |it| it).iter().enumerate() {
            let mut reach = |(took, fit)| {
                let is_within = fit == Fit::More;
                let next = if is_within { took } else { took + 1 };
                add(&mut places, Place { next, is_within, took, before }, queue);
            };
            if place.is_within {
                let fit = fit_at(queue, place.next, line, keys);
                if fit != Fit::No {
                    reach((place.next, fit));
                }
            } else if let Some(found) = first_fit(queue, place.next, line, keys) {
                reach(found);
                other_fit(queue, found.0, line, keys).into_iter().for_each(reach);
            }
        }
        places
    }

    /// Gives up all lines, each with the request that it answers. Where several are possible, the server has answered as
    /// many requests as it may have.
    pub(super) fn decide(&mut self, desk: &mut Desk) -> Vec<(Held, usize)> {
        desk.waiting_bytes -= std::mem::take(&mut self.bytes);
        let mut places = std::mem::take(&mut self.places);
        let mut chosen = usize::MAX;
        let mut given = Vec::new();
        for line in std::mem::take(&mut self.lines).into_iter().rev() {
            let Some(of_line) = places.pop() else { break };
            let Some(place) = of_line.get(chosen).or(of_line.last()) else { break };
            given.push((line, place.took));
            chosen = place.before;
        }
        given.reverse();
        given
    }
}

/// Adds a place, unless another one leaves at least the same requests open: those between both may stay unanswered.
fn add(places: &mut Vec<Place>, place: Place, queue: &Queue<What>) {
    let is_covered = places.iter().any(|other| {
        if other.is_within || place.is_within {
            return (other.next, other.is_within) == (place.next, place.is_within);
        }
        other.next <= place.next && (other.next..place.next).all(|it| is_quiet(queue, it))
    });
    if !is_covered {
        places.push(place);
    }
}
