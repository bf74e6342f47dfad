//! The requests of a session that are not over, and the batches among them that take several links.

use larder_store::{Answer, Answered, Error};

use super::outstanding::End;

/// The requests that are not over.
#[derive(Debug, Default)]
pub(super) struct Batches {
    /// Their number.
    pub(super) n_outstanding: usize,
    /// Batches that take several links, by their number.
    split: Vec<Split>,
    /// The numbers that are free.
    free: Vec<u32>,
}

/// A batch that takes several links.
#[derive(Debug)]
struct Split {
    /// Its parts that are not over.
    n_parts: usize,
    /// The first error of a part.
    error: Option<Error>,
}

impl Batches {
    /// Begins a batch of this number of parts, and returns its number.
    pub(super) fn begin(&mut self, n_parts: usize) -> u32 {
        let split = Split { n_parts, error: None };
        if let Some(number) = self.free.pop() {
            self.split[number as usize] = split;
            return number;
        }
        self.split.push(split);
        u32::try_from(self.split.len() - 1).unwrap_or(u32::MAX)
    }

    /// Ends a part. The last part gives the answer that ends the batch.
    fn end_part(&mut self, number: u32, error: Option<Error>) -> Option<Answer<'static>> {
        let split = &mut self.split[number as usize];
        if split.error.is_none() {
            split.error = error;
        }
        split.n_parts -= 1;
        if split.n_parts > 0 {
            return None;
        }
        self.free.push(number);
        Some(ending(split.error.take()))
    }
}

/// Passes answers on to the caller.
pub(super) struct Reporter<'t, 'a> {
    pub(super) batches: &'t mut Batches,
    pub(super) answered: &'t mut Answered<'a>,
}

impl Reporter<'_, '_> {
    /// Passes on an answer.
    #[inline]
    pub(super) fn report(&mut self, id: usize, answer: Answer<'_>) {
        (self.answered)(id, answer);
    }

    /// Counts a request that has its last answer.
    #[inline]
    pub(super) fn end_request(&mut self) {
        self.batches.n_outstanding -= 1;
    }

    /// Ends what ends with a command of a batch, which may be the batch itself. `error` is the first of the batch on this
    /// link.
    pub(super) fn end(&mut self, id: usize, end: End, error: &mut Option<Error>) {
        let answer = match end {
            End::Nothing => None,
            End::Batch => Some(ending(error.take())),
            End::Part(number) => self.batches.end_part(number, error.take()),
        };
        if let Some(answer) = answer {
            self.end_request();
            self.report(id, answer);
        }
    }
}

/// The answer that ends a batch.
fn ending(error: Option<Error>) -> Answer<'static> {
    error.map_or(Answer::End, Answer::Failed)
}
