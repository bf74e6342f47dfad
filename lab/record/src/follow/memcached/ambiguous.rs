//! Answers of a server that several requests may have caused.
//!
//! A quiet request leaves out its usual answer. `NF` behind `md a q` and `md b` may belong to either: `a` was absent and
//! the answer about `b` comes next, or `a` was deleted in silence. The answers that follow decide, because each other
//! request has exactly one. Until then the answers are held, with every place in the queue of requests that the server may
//! have reached. The binary protocol has the same ambiguity if requests share an opaque number.

use super::super::StopReason;
use super::super::queue::Queue;
use super::answer_line::Fit;
use crate::recorder::Recorder;

/// The most held answers, and their bytes.
const MAX_HELD: usize = 256;
const MAX_BYTES: usize = 64 << 10;

/// The most positions that are kept apart.
const MAX_POSITIONS: usize = 64;

/// A position in the queue that the server may have reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    /// The request that is answered next.
    next: usize,
    /// Its answer has begun.
    is_within: bool,
    /// The request that the last answer belongs to.
    took: usize,
    /// The index of the position before that answer, among those of the previous answer.
    before: usize,
}

const FRONT: Position = Position { next: 0, is_within: false, took: 0, before: 0 };

/// An answer that is held.
#[derive(Debug)]
struct HeldAnswer<A> {
    answer: A,
    /// The positions behind it.
    positions: Vec<Position>,
    n_bytes: usize,
}

/// Answers whose requests are not known yet.
#[derive(Debug)]
pub(super) struct AmbiguousAnswers<A> {
    held: Vec<HeldAnswer<A>>,
    bytes: usize,
}

/// The outcome of taking an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The answer is held.
    Undecided,
    /// The answer is held, and all earlier ones can be given to their requests.
    DecidedExceptLast,
    /// All held answers can be given to their requests.
    Decided,
}

fn is_quiet<W: Copy>(queue: &Queue<W>, place: usize) -> bool {
    place < queue.len() && queue.next_must_answer(place) != place
}

/// The first request that fits an answer, at or behind a place: quiet ones before it have left out their answers.
pub(super) fn first_fit<W: Copy>(
    queue: &Queue<W>,
    from: usize,
    fit: impl Fn(usize) -> Fit,
) -> Option<(usize, Fit)> {
    let until = queue.len().min(queue.next_must_answer(from) + 1);
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
    let place = queue.next_must_answer(first);
    Some((place, fit(place))).filter(|(_, fit)| *fit != Fit::No)
}

impl<A> Default for AmbiguousAnswers<A> {
    fn default() -> Self {
        Self { held: Vec::new(), bytes: 0 }
    }
}

impl<A> AmbiguousAnswers<A> {
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Whether the server may have answered all requests before this place.
    pub(super) fn may_have_reached(&self, place: usize) -> bool {
        let last = self.held.last().map_or(&[][..], |held| &held.positions);
        last.iter().any(|reached| reached.next >= place && !reached.is_within)
    }

    /// Takes an answer with the positions behind it, of which there is one at least.
    ///
    /// # Errors
    ///
    /// There is no memory for it.
    pub(super) fn take(
        &mut self,
        answer: A,
        n_bytes: usize,
        positions: Vec<Position>,
        recorder: &mut Recorder,
    ) -> Result<Step, StopReason> {
        let n_bytes = n_bytes + size_of::<HeldAnswer<A>>() + size_of_val(&positions[..]);
        if !recorder.reserve(n_bytes) {
            return Err(StopReason::TooManyPending);
        }
        self.bytes += n_bytes;
        let is_decided = positions.len() == 1
            || positions.len() > MAX_POSITIONS
            || self.held.len() >= MAX_HELD
            || self.bytes > MAX_BYTES;
        // Alternatives that part after the previous answer share all earlier answers.
        let is_common = positions.iter().all(|position| position.before == positions[0].before);
        let step = match (is_decided, is_common && !self.held.is_empty()) {
            (true, _) => Step::Decided,
            (false, true) => Step::DecidedExceptLast,
            (false, false) => Step::Undecided,
        };
        self.held.push(HeldAnswer { answer, positions, n_bytes });
        Ok(step)
    }

    /// The positions that the server may have reached with an answer, the first one first.
    pub(super) fn positions_after<W: Copy>(
        &self,
        queue: &Queue<W>,
        fit: impl Fn(usize) -> Fit,
    ) -> Vec<Position> {
        let mut positions = Vec::new();
        let last = self.held.last().map_or(&[FRONT][..], |held| &held.positions);
        for (before, place) in last.iter().enumerate() {
            let mut reach = |(took, fit)| {
                let is_within = fit == Fit::More;
                let next = if is_within { took } else { took + 1 };
                add(&mut positions, Position { next, is_within, took, before }, queue);
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
        positions
    }

    /// Gives up all answers, each with the request that it belongs to. Where several are possible, the server has answered
    /// as many requests as it may have.
    pub(super) fn decide(&mut self, recorder: &mut Recorder) -> Vec<(A, usize)> {
        let held = std::mem::take(&mut self.held);
        self.give(held, usize::MAX, recorder)
    }

    /// Gives up the answers before the last one. [`AmbiguousAnswers::shift`] follows, once their requests have left the queue.
    pub(super) fn decide_before_last(&mut self, recorder: &mut Recorder) -> Vec<(A, usize)> {
        let Some(mut last) = self.held.pop() else { return Vec::new() };
        let chosen = last.positions.first().map_or(usize::MAX, |place| place.before);
        for place in &mut last.positions {
            place.before = 0;
        }
        let before = std::mem::replace(&mut self.held, vec![last]);
        self.give(before, chosen, recorder)
    }

    /// Adjusts the positions after this number of requests has left the queue.
    pub(super) fn shift(&mut self, n_requests: usize) {
        for place in self.held.iter_mut().flat_map(|held| &mut held.positions) {
            place.next = place.next.saturating_sub(n_requests);
            place.took = place.took.saturating_sub(n_requests);
        }
    }

    /// Answers with their requests. The last one has reached its place of this number, or its last place.
    fn give(
        &mut self,
        held: Vec<HeldAnswer<A>>,
        mut chosen: usize,
        recorder: &mut Recorder,
    ) -> Vec<(A, usize)> {
        let mut given = Vec::with_capacity(held.len());
        for HeldAnswer { answer, positions, n_bytes } in held.into_iter().rev() {
            self.bytes -= n_bytes;
            recorder.pending_bytes -= n_bytes;
            let place = positions.get(chosen).or(positions.last()).unwrap_or(&FRONT);
            given.push((answer, place.took));
            chosen = place.before;
        }
        given.reverse();
        given
    }
}

/// Adds a position, unless another one leaves at least the same requests open: the requests between both may stay unanswered.
fn add<W: Copy>(positions: &mut Vec<Position>, place: Position, queue: &Queue<W>) {
    let is_covered = positions.iter().any(|other| {
        if other.is_within || place.is_within {
            return (other.next, other.is_within) == (place.next, place.is_within);
        }
        other.next <= place.next && queue.next_must_answer(other.next) >= place.next
    });
    if !is_covered {
        positions.push(place);
    }
}
