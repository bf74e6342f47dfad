//! The requests of a client, and the check of each answer against its request.

use std::collections::HashMap;

use larder_store::Answer;

use crate::owned_answer::OwnedAnswer;

/// Spreads numbers over all of `usize`, so that an engine that takes them for places is found out.
const SPREAD: usize = 0x9E37_79B9_7F4A_7C15;

/// Checks that each request is answered once, and keeps the answers.
#[derive(Default)]
pub(super) struct AnswerChecker {
    pub(super) requests: Vec<Request>,
    /// The indexes of requests by the numbers that the session gets.
    places: HashMap<usize, usize>,
    /// The number of requests without a last answer.
    pub(super) n_open: usize,
    /// The requests in the order of their last answers.
    pub(super) ended: Vec<usize>,
    /// The first fault of an answer.
    pub(super) fault: Option<String>,
}

/// A request, and its answers.
#[derive(Default)]
pub(super) struct Request {
    pub(super) answers: Vec<OwnedAnswer>,
    has_ended: bool,
}

impl AnswerChecker {
    /// The number that the session gets for the next request.
    pub(super) fn next_id(&self) -> usize {
        self.requests.len().wrapping_mul(SPREAD)
    }

    /// Adds a request that was sent, and returns its index.
    pub(super) fn add(&mut self) -> usize {
        let place = self.requests.len();
        self.places.insert(self.next_id(), place);
        self.requests.push(Request::default());
        self.n_open += 1;
        place
    }

    /// Checks an answer against its request.
    pub(super) fn take(&mut self, id: usize, answer: Answer<'_>) {
        let is_last = answer.is_last();
        let Some(given) = OwnedAnswer::of(answer) else {
            self.fault.get_or_insert("an answer of an unknown kind".into());
            return;
        };
        let Some(place) = self.places.get(&id).copied() else {
            let fault = format!("an answer under {id:#x}, the number of no request: {given:?}");
            self.fault.get_or_insert(fault);
            return;
        };
        let request = &mut self.requests[place];
        if request.has_ended {
            let fault = format!("request {place} is answered after its last answer: {given:?}");
            self.fault.get_or_insert(fault);
            return;
        }
        request.answers.push(given);
        if is_last {
            request.has_ended = true;
            self.n_open -= 1;
            self.ended.push(place);
        }
    }
}
