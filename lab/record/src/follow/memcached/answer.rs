//! The text and meta protocols: the answers of a server.

use larder_workload::trace::Outcome;

use super::super::StopReason;
use super::super::line::{Lines, Next};
use super::super::queue::Queue;
use super::ambiguous::{AmbiguousAnswers, Step, first_fit, other_fit};
use super::answer_line::{Fit, Line, NO_LENGTH, VALUE, key_and_len};
use super::exchange::Exchange;
use super::request::{Expected, Kind, Silence};
use crate::batch::NONE;
use crate::keys::Keys;
use crate::recorder::Recorder;

/// The longest line of an answer that means something: a header with a key of 250 bytes, or its base 64, and an opaque word.
const MAX_LINE_BYTES: usize = 2048;

const NO_ANSWER: StopReason = StopReason::Answer("no answer to what was asked");

/// A line whose request is not known yet.
#[derive(Debug)]
struct HeldLine {
    bytes: Box<[u8]>,
    /// The time at which its first byte went to the application.
    at: u64,
}

/// The answers of a connection.
#[derive(Debug, Default)]
pub(super) struct Answers {
    lines: Lines,
    /// The time at which the first byte of the present line went to the application.
    line_began: u64,
    /// The same for the answer that the line belongs to, from its second line on.
    began: Option<u64>,
    /// Bytes of a value, and of the end behind it, that are still to come.
    value_left: u64,
    /// The place of the next key of a get.
    next_key: usize,
    /// Values of a get that come in another order than its keys: hashes of their keys, and their lengths.
    strays: Vec<(u64, u32)>,
    ambiguous: AmbiguousAnswers<HeldLine>,
}

impl Answers {
    #[inline]
    pub(super) fn take(
        &mut self,
        mut input: &[u8],
        at: u64,
        exchange: &mut Exchange,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        let mut lines = std::mem::take(&mut self.lines);
        while !input.is_empty() {
            if self.value_left > 0 {
                let left = usize::try_from(self.value_left).unwrap_or(usize::MAX);
                let n = left.min(input.len());
                input = &input[n..];
                self.value_left -= n as u64;
                continue;
            }
            if lines.pass_rest(&mut input) {
                continue;
            }
            if !lines.is_within() {
                self.line_began = at;
            }
            match lines.next(&mut input, MAX_LINE_BYTES) {
                Next::Line(line) => self.line(line, exchange, recorder)?,
                Next::Wait => {}
                Next::TooLong => {
                    let beginning = lines.take_beginning();
                    self.line(&beginning, exchange, recorder)?;
                }
            }
        }
        self.lines = lines;
        Ok(())
    }

    /// Finds the request that a line answers.
    #[inline]
    fn line(
        &mut self,
        bytes: &[u8],
        exchange: &mut Exchange,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        // Nearly all lines of most servers answer a get that must have an answer: they need no other look.
        let first = exchange.queue.first().map(|first| first.expected);
        if let Some(Expected { kind: Kind::Get, silence: Silence::Never, .. }) = first
            && self.ambiguous.is_empty()
        {
            if let Some(header) = bytes.strip_prefix(VALUE) {
                self.began.get_or_insert(self.line_began);
                return self.value(header, exchange, recorder);
            }
            if bytes == b"END" {
                return self.end_of_get(self.began.unwrap_or(self.line_began), exchange, recorder);
            }
        }
        let line = Line::of(bytes, &recorder.keys)?;
        let Some(first) = exchange.queue.first() else {
            // A full server reports it unasked, and so does one that refuses a request without an answer.
            return if line.is_error {
                Ok(())
            } else {
                Err(StopReason::Answer("what nobody asked for"))
            };
        };
        if first.expected.silence != Silence::Never || !self.ambiguous.is_empty() {
            self.value_left = line.n_following()?;
            return self.line_after_quiet(&line, exchange, recorder);
        }
        match line.fit(first) {
            Fit::No => Err(NO_ANSWER),
            fit => self.apply(&line, fit, self.line_began, exchange, recorder),
        }
    }

    /// The same, if the first request may have left out its answer.
    fn line_after_quiet(
        &mut self,
        line: &Line<'_>,
        exchange: &mut Exchange,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        let (queue, keys) = (&exchange.queue, &recorder.keys);
        let fit = |place| fit_at(queue, place, line, keys);
        if self.ambiguous.is_empty() {
            let Some((place, found)) = first_fit(queue, 0, fit) else {
                return self.without_request(line, exchange, recorder);
            };
            if other_fit(queue, place, fit).is_none() {
                exchange.leave_out(place, recorder)?;
                return self.apply(line, found, self.line_began, exchange, recorder);
            }
        }
        let places = self.ambiguous.positions_after(queue, fit);
        if places.is_empty() {
            return self.without_request(line, exchange, recorder);
        }
        let held = HeldLine { bytes: line.bytes.into(), at: self.line_began };
        match self.ambiguous.take(held, line.bytes.len(), places, recorder)? {
            Step::Undecided => Ok(()),
            Step::DecidedExceptLast => {
                let given = self.ambiguous.decide_before_last(recorder);
                let n_done = self.give(given, exchange, recorder)?;
                self.ambiguous.shift(n_done);
                Ok(())
            }
            Step::Decided => self.decide(exchange, recorder),
        }
    }

    /// Handles a line that fits no request.
    fn without_request(
        &mut self,
        line: &Line<'_>,
        exchange: &mut Exchange,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        if !line.is_error {
            let is_done = exchange.queue.next_must_answer(0) == exchange.queue.len();
            return Err(if is_done {
                StopReason::Answer("what nobody asked for")
            } else {
                NO_ANSWER
            });
        }
        // It answers a request that wanted no answer.
        if self.ambiguous.is_empty() {
            self.finish(exchange, Some(Outcome::Error), self.line_began, recorder);
        }
        Ok(())
    }

    /// Gives the held lines to their requests.
    pub(super) fn decide(
        &mut self,
        exchange: &mut Exchange,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        let given = self.ambiguous.decide(recorder);
        self.give(given, exchange, recorder).map(|_| ())
    }

    /// Gives lines to the requests at these places. Returns the number of requests that left the queue.
    fn give(
        &mut self,
        given: Vec<(HeldLine, usize)>,
        exchange: &mut Exchange,
        recorder: &mut Recorder,
    ) -> Result<usize, StopReason> {
        let value_left = self.value_left;
        let n_waiting = exchange.queue.len();
        for (held, place) in given {
            let n_done = n_waiting - exchange.queue.len();
            exchange.leave_out(place.saturating_sub(n_done), recorder)?;
            let line = Line::of(&held.bytes, &recorder.keys)?;
            let fit = exchange.queue.first().map_or(Fit::No, |first| line.fit(first));
            self.apply(&line, fit, held.at, exchange, recorder)?;
        }
        self.value_left = value_left;
        Ok(n_waiting - exchange.queue.len())
    }

    /// Forgets lines that are held.
    pub(super) fn forget(&mut self, recorder: &mut Recorder) {
        self.ambiguous.decide(recorder);
    }

    /// Whether lines are held because their requests are not known yet.
    pub(super) fn is_ambiguous(&self) -> bool {
        !self.ambiguous.is_empty()
    }

    /// Whether each request may have its answer.
    pub(super) fn may_be_done(&self, exchange: &Exchange) -> bool {
        exchange.queue.is_empty() || self.ambiguous.may_have_reached(exchange.queue.len())
    }

    /// Applies a line to the first request.
    #[inline]
    fn apply(
        &mut self,
        line: &Line<'_>,
        fit: Fit,
        at: u64,
        exchange: &mut Exchange,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        let began = self.began.unwrap_or(at);
        let kind = exchange.queue.first().map(|first| first.expected.kind);
        match fit {
            Fit::No => return Err(NO_ANSWER),
            Fit::More => {
                self.began = Some(began);
                if kind == Some(Kind::Get) {
                    self.value(
                        line.bytes.strip_prefix(VALUE).ok_or(NO_LENGTH)?,
                        exchange,
                        recorder,
                    )?;
                }
            }
            Fit::Done(result) => {
                self.value_left = line.value_len().map_or(0, |len| len + 2);
                let size = match (kind, result) {
                    (Some(Kind::Count), Some(Outcome::Stored)) => Some(line.bytes.len()),
                    (_, Some(Outcome::Miss)) => None,
                    (Some(Kind::MetaGet | Kind::MetaCount), _) => {
                        line.size().map(|size| usize::try_from(size).unwrap_or(usize::MAX))
                    }
                    _ => None,
                };
                if let (Some(size), Some(key)) = (size, exchange.queue.key(0)) {
                    key.value_size = u32::try_from(size).unwrap_or(NONE);
                }
                self.finish(exchange, result, began, recorder);
            }
            Fit::End => self.end_of_get(began, exchange, recorder)?,
        }
        Ok(())
    }

    /// Ends the first request, a get whose values have all come.
    #[inline]
    fn end_of_get(
        &mut self,
        began: u64,
        exchange: &mut Exchange,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        self.settle_strays(exchange)?;
        exchange.queue.finish_noted(Some(began), recorder);
        self.reset();
        exchange.settle(recorder);
        Ok(())
    }

    fn finish(
        &mut self,
        exchange: &mut Exchange,
        result: Option<Outcome>,
        began: u64,
        recorder: &mut Recorder,
    ) {
        exchange.finish(result, Some(began), recorder);
        self.reset();
        exchange.settle(recorder);
    }

    fn reset(&mut self) {
        self.began = None;
        self.next_key = 0;
        self.strays = Vec::new();
    }

    /// Notes the value of a get. Values come in the order of the keys, except from a proxy before many servers.
    #[inline]
    fn value(
        &mut self,
        header: &[u8],
        exchange: &mut Exchange,
        recorder: &Recorder,
    ) -> Result<(), StopReason> {
        let (key, len) = key_and_len(header).ok_or(NO_LENGTH)?;
        self.value_left = len + 2;
        let (hash, size) = (recorder.keys.hash(key), u32::try_from(len).unwrap_or(NONE));
        if self.strays.is_empty() {
            let mut place = self.next_key;
            while let Some(key) = exchange.queue.key(place) {
                place += 1;
                if key.hash == hash {
                    (key.result, key.value_size) = (Some(Outcome::Hit), size);
                    self.next_key = place;
                    return Ok(());
                }
            }
        }
        let n_keys = exchange.queue.first().map_or(0, |first| first.n_keys);
        if self.strays.len() >= n_keys {
            return Err(StopReason::Answer("a value that nobody asked for"));
        }
        self.strays.push((hash, size));
        Ok(())
    }

    /// Finds the keys of values that came in another order, and gives all other keys a miss.
    #[inline]
    fn settle_strays(&mut self, exchange: &mut Exchange) -> Result<(), StopReason> {
        if !self.strays.is_empty() {
            self.find_strays(exchange)?;
        }
        let mut place = 0;
        while let Some(key) = exchange.queue.key(place) {
            key.result.get_or_insert(Outcome::Miss);
            place += 1;
        }
        Ok(())
    }

    #[cold]
    fn find_strays(&mut self, exchange: &mut Exchange) -> Result<(), StopReason> {
        let mut left = Vec::new();
        let mut place = 0;
        while let Some(key) = exchange.queue.key(place) {
            if key.result.is_none() {
                left.push((key.hash, place));
            }
            place += 1;
        }
        left.sort_unstable();
        self.strays.sort_unstable();
        let mut left = left.into_iter();
        for (hash, size) in &self.strays {
            let found = left.find(|(key, _)| key == hash);
            let key = found.and_then(|(_, place)| exchange.queue.key(place));
            let key = key.ok_or(StopReason::Answer("a value that nobody asked for"))?;
            (key.result, key.value_size) = (Some(Outcome::Hit), *size);
        }
        Ok(())
    }
}

/// The meaning of a line for the request at a place.
fn fit_at(queue: &Queue<Expected>, place: usize, line: &Line<'_>, keys: &Keys) -> Fit {
    let Some(request) = queue.at(place) else { return Fit::No };
    let fit = line.fit(request);
    let is_foreign = |hash| fit == Fit::More && !queue.asks_for(place, hash);
    if line.is_foreign_error(request.expected.kind) || line.value_key(keys).is_some_and(is_foreign)
    {
        return Fit::No;
    }
    fit
}
