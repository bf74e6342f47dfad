//! The text and meta protocols: the answers of a server.

use larder_workload::trace::Outcome;

use super::super::Lost;
use super::super::line::{Lines, Next};
use super::super::queue::Queue;
use super::doubt::{Doubt, Step, first_fit, other_fit};
use super::text::{Kind, Silence, Talk, What};
use super::words::{Fit, Line, NO_LENGTH, VALUE, key_and_len};
use crate::batch::NONE;
use crate::desk::Desk;
use crate::keys::Keys;

/// The longest line of an answer that means something: a header with a key of 250 bytes, or its base 64, and an opaque word.
const MOST_LINE: usize = 2048;

const NO_ANSWER: Lost = Lost::Answer("no answer to what was asked");

/// A line that is held.
#[derive(Debug)]
struct Held {
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
    /// The same of the answer that the line belongs to, once its first line is over.
    began: Option<u64>,
    /// Bytes of a value, and of the end behind it, that are still to come.
    value_left: u64,
    /// The place of the next key of a get.
    next_key: usize,
    /// Values of a get that come in another order than its keys: hashes of their keys, and their lengths.
    strays: Vec<(u64, u32)>,
    doubt: Doubt<Held>,
}

impl Answers {
    #[inline]
    pub(super) fn take(
        &mut self,
        mut input: &[u8],
        at: u64,
        talk: &mut Talk,
        desk: &mut Desk,
    ) -> Result<(), Lost> {
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
            match lines.next(&mut input, MOST_LINE) {
                Next::Line(line) => self.line(line, talk, desk)?,
                Next::Wait => {}
                Next::TooLong => {
                    let beginning = lines.take_beginning();
                    self.line(&beginning, talk, desk)?;
                }
            }
        }
        self.lines = lines;
        Ok(())
    }

    /// Finds the request that a line answers.
    #[inline]
    fn line(&mut self, bytes: &[u8], talk: &mut Talk, desk: &mut Desk) -> Result<(), Lost> {
        // Nearly all lines of most servers answer a get that must have an answer: they need no other look.
        let first = talk.queue.first().map(|first| first.what);
        if let Some(What { kind: Kind::Get, silence: Silence::Never, .. }) = first
            && self.doubt.is_empty()
        {
            if let Some(header) = bytes.strip_prefix(VALUE) {
                self.began.get_or_insert(self.line_began);
                return self.value(header, talk, desk);
            }
            if bytes == b"END" {
                return self.end_of_get(self.began.unwrap_or(self.line_began), talk, desk);
            }
        }
        let line = Line::of(bytes, &desk.keys)?;
        let Some(first) = talk.queue.first() else {
            // A server that is full says so to nobody, and so does one that refuses a request without an answer.
            return if line.is_error { Ok(()) } else { Err(Lost::Answer("what nobody asked for")) };
        };
        if first.what.silence != Silence::Never || !self.doubt.is_empty() {
            self.value_left = line.n_following()?;
            return self.line_behind_quiet(&line, talk, desk);
        }
        match line.fit(first) {
            Fit::No => Err(NO_ANSWER),
            fit => self.apply(&line, fit, self.line_began, talk, desk),
        }
    }

    /// The same, where the first request may have left out its answer.
    fn line_behind_quiet(
        &mut self,
        line: &Line<'_>,
        talk: &mut Talk,
        desk: &mut Desk,
    ) -> Result<(), Lost> {
        let (queue, keys) = (&talk.queue, &desk.keys);
        let fit = |place| fit_at(queue, place, line, keys);
        if self.doubt.is_empty() {
            let Some((place, found)) = first_fit(queue, 0, fit) else {
                return self.unfit(line, talk, desk);
            };
            if other_fit(queue, place, fit).is_none() {
                talk.leave_out(place, desk)?;
                return self.apply(line, found, self.line_began, talk, desk);
            }
        }
        let places = self.doubt.places_behind(queue, fit);
        if places.is_empty() {
            return self.unfit(line, talk, desk);
        }
        let held = Held { bytes: line.bytes.into(), at: self.line_began };
        match self.doubt.take(held, line.bytes.len(), places, desk)? {
            Step::Held => Ok(()),
            Step::DecidedBefore => {
                let given = self.doubt.decide_before_last(desk);
                let n_done = self.give(given, talk, desk)?;
                self.doubt.shift(n_done);
                Ok(())
            }
            Step::Decided => self.decide(talk, desk),
        }
    }

    /// A line that fits no request.
    fn unfit(&mut self, line: &Line<'_>, talk: &mut Talk, desk: &mut Desk) -> Result<(), Lost> {
        if !line.is_error {
            let is_over = talk.queue.next_loud(0) == talk.queue.len();
            return Err(if is_over { Lost::Answer("what nobody asked for") } else { NO_ANSWER });
        }
        // It answers a request that wanted no answer.
        if self.doubt.is_empty() {
            self.finish(talk, Some(Outcome::Error), self.line_began, desk);
        }
        Ok(())
    }

    /// Gives the lines that are held to their requests.
    pub(super) fn decide(&mut self, talk: &mut Talk, desk: &mut Desk) -> Result<(), Lost> {
        let given = self.doubt.decide(desk);
        self.give(given, talk, desk).map(|_| ())
    }

    /// Gives lines to the requests at these places. Returns the number of requests that left the queue.
    fn give(
        &mut self,
        given: Vec<(Held, usize)>,
        talk: &mut Talk,
        desk: &mut Desk,
    ) -> Result<usize, Lost> {
        let value_left = self.value_left;
        let n_waiting = talk.queue.len();
        for (held, place) in given {
            let n_done = n_waiting - talk.queue.len();
            talk.leave_out(place.saturating_sub(n_done), desk)?;
            let line = Line::of(&held.bytes, &desk.keys)?;
            let fit = talk.queue.first().map_or(Fit::No, |first| line.fit(first));
            self.apply(&line, fit, held.at, talk, desk)?;
        }
        self.value_left = value_left;
        Ok(n_waiting - talk.queue.len())
    }

    /// Forgets lines that are held.
    pub(super) fn forget(&mut self, desk: &mut Desk) {
        self.doubt.decide(desk);
    }

    /// Whether the requests of held lines are not known yet.
    pub(super) fn is_in_doubt(&self) -> bool {
        !self.doubt.is_empty()
    }

    /// Whether each request may have its answer.
    pub(super) fn may_be_over(&self, talk: &Talk) -> bool {
        talk.queue.is_empty() || self.doubt.may_have_reached(talk.queue.len())
    }

    /// Notes what a line tells of the first request.
    #[inline]
    fn apply(
        &mut self,
        line: &Line<'_>,
        fit: Fit,
        at: u64,
        talk: &mut Talk,
        desk: &mut Desk,
    ) -> Result<(), Lost> {
        let began = self.began.unwrap_or(at);
        let kind = talk.queue.first().map(|first| first.what.kind);
        match fit {
            Fit::No => return Err(NO_ANSWER),
            Fit::More => {
                self.began = Some(began);
                if kind == Some(Kind::Get) {
                    self.value(line.bytes.strip_prefix(VALUE).ok_or(NO_LENGTH)?, talk, desk)?;
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
                if let (Some(size), Some(key)) = (size, talk.queue.key(0)) {
                    key.value_size = u32::try_from(size).unwrap_or(NONE);
                }
                self.finish(talk, result, began, desk);
            }
            Fit::End => self.end_of_get(began, talk, desk)?,
        }
        Ok(())
    }

    /// Ends the first request, a get whose values have all come.
    #[inline]
    fn end_of_get(&mut self, began: u64, talk: &mut Talk, desk: &mut Desk) -> Result<(), Lost> {
        self.settle_strays(talk)?;
        talk.queue.finish_noted(Some(began), desk);
        self.reset();
        talk.settle(desk);
        Ok(())
    }

    fn finish(&mut self, talk: &mut Talk, result: Option<Outcome>, began: u64, desk: &mut Desk) {
        talk.finish(result, Some(began), desk);
        self.reset();
        talk.settle(desk);
    }

    fn reset(&mut self) {
        self.began = None;
        self.next_key = 0;
        self.strays = Vec::new();
    }

    /// Notes the value of a get. Values come in the order of the keys, but those of a proxy before many servers may not.
    #[inline]
    fn value(&mut self, header: &[u8], talk: &mut Talk, desk: &Desk) -> Result<(), Lost> {
        let (key, len) = key_and_len(header).ok_or(NO_LENGTH)?;
        self.value_left = len + 2;
        let (hash, size) = (desk.keys.hash(key), u32::try_from(len).unwrap_or(NONE));
        if self.strays.is_empty() {
            let mut place = self.next_key;
            while let Some(key) = talk.queue.key(place) {
                place += 1;
                if key.hash == hash {
                    (key.result, key.value_size) = (Some(Outcome::Hit), size);
                    self.next_key = place;
                    return Ok(());
                }
            }
        }
        let n_keys = talk.queue.first().map_or(0, |first| first.n_keys);
        if self.strays.len() >= n_keys {
            return Err(Lost::Answer("a value that nobody asked for"));
        }
        self.strays.push((hash, size));
        Ok(())
    }

    /// Finds the keys of values that came in another order, and gives all other keys a miss.
    #[inline]
    fn settle_strays(&mut self, talk: &mut Talk) -> Result<(), Lost> {
        if !self.strays.is_empty() {
            self.find_strays(talk)?;
        }
        let mut place = 0;
        while let Some(key) = talk.queue.key(place) {
            key.result.get_or_insert(Outcome::Miss);
            place += 1;
        }
        Ok(())
    }

    #[cold]
    fn find_strays(&mut self, talk: &mut Talk) -> Result<(), Lost> {
        let mut left = Vec::new();
        let mut place = 0;
        while let Some(key) = talk.queue.key(place) {
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
            let key = found.and_then(|(_, place)| talk.queue.key(place));
            let key = key.ok_or(Lost::Answer("a value that nobody asked for"))?;
            (key.result, key.value_size) = (Some(Outcome::Hit), *size);
        }
        Ok(())
    }
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
