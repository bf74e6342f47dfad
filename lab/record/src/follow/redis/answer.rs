//! The answers of a server, and the requests that they belong to.

use larder_workload::trace::{Outcome, Verb};

use super::super::StopReason;
use super::super::queue::Queue;
use super::command::Expected;
use super::exchange::{Class, Exchange};
use super::pubsub::{Message, Subscriptions};
use super::reply::{Container, Part};
use crate::batch::NONE;
use crate::recorder::Recorder;

const NO_ANSWER: StopReason = StopReason::Answer("no answer to what was asked");

impl Exchange {
    /// Takes a complete message. A confirmation belongs to the request in front that asked for it.
    pub(super) fn finish_message(&mut self, recorder: &mut Recorder) {
        let subscriptions = &mut self.answers.subscriptions;
        let message = std::mem::take(&mut subscriptions.message);
        let (Message::Begun(kind) | Message::Ended(kind)) = message else { return };
        let before = subscriptions.of(kind);
        subscriptions.count(kind);
        let Some(first) = self.queue.first_mut() else { return };
        let left = match (&mut first.expected, message) {
            (Expected::Subscribe(left), Message::Begun(_)) => left,
            (Expected::Unsubscribe(of, left), Message::Ended(ended)) if *of == ended => {
                if *left == 0 {
                    *left = u32::try_from(before).unwrap_or_default().max(1);
                }
                left
            }
            _ => return,
        };
        *left = left.saturating_sub(1);
        if *left == 0 {
            self.finish(recorder);
        }
    }

    /// Ends the requests in front that get no answer.
    #[inline]
    pub(super) fn settle(&mut self, recorder: &mut Recorder) {
        while let Some(first) = self.queue.first() {
            if self.is_arriving && self.queue.len() == 1 {
                return;
            }
            let answers = &mut self.answers;
            match first.expected {
                Expected::ReplyOff if !answers.is_transaction => answers.is_off = true,
                Expected::ReplySkip if !answers.is_transaction => {
                    answers.skips_next = !answers.is_off;
                }
                Expected::ReplyOn | Expected::Reset => return,
                _ if answers.is_off => {}
                _ if answers.skips_next => answers.skips_next = false,
                _ => return,
            }
            self.queue.finish_alike(None, None, recorder);
        }
    }

    /// An answer begins that contains others, or a value.
    pub(super) fn enter(
        &mut self,
        container: Option<Container>,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        let answers = &mut self.answers;
        if answers.class != Class::None {
            return Ok(());
        }
        let is_confirmed = self.queue.first().is_some_and(|first| {
            matches!(first.expected, Expected::Subscribe(_) | Expected::Unsubscribe(..))
        });
        answers.class = match container {
            Some(Container::Push) => {
                answers.subscriptions.are_marked = true;
                Class::Message
            }
            Some(Container::Array)
                if !answers.subscriptions.are_marked
                    && (is_confirmed || answers.subscriptions.are_any()) =>
            {
                Class::Undecided
            }
            _ => Class::Answer,
        };
        answers.place = 0;
        if answers.class == Class::Answer {
            self.settle(recorder);
            if self.queue.is_empty() {
                return Err(StopReason::Answer("what nobody asked for"));
            }
        }
        Ok(())
    }

    /// What contains other parts opens at this depth.
    pub(super) fn open(
        &mut self,
        depth: usize,
        container: Container,
        len: u64,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        if depth > 0 {
            return self.decide(depth, b"", recorder);
        }
        self.enter(Some(container), recorder)?;
        if self.answers.class == Class::Answer
            && self.queue.first().is_some_and(|first| first.expected == Expected::Exec)
        {
            if len != self.answers.transaction.len() as u64 {
                return Err(NO_ANSWER);
            }
            self.answers.is_executing = true;
        }
        Ok(())
    }

    /// Decides by its first part whether an array is a message. A message is a name, a channel and more.
    fn decide(
        &mut self,
        depth: usize,
        name: &[u8],
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        if self.answers.class == Class::Undecided && depth == 1 {
            if self.answers.subscriptions.name(name) {
                self.answers.class = Class::Message;
            } else {
                self.answers.class = Class::None;
                self.answers.subscriptions.are_marked = true;
                self.enter(Some(Container::Array), recorder)?;
                self.answers.subscriptions.are_marked = false;
            }
        } else if self.answers.class == Class::Message && depth == 1 && self.answers.place == 0 {
            self.answers.subscriptions.name(name);
        }
        Ok(())
    }

    /// A part that contains no others comes at this depth.
    #[inline]
    pub(super) fn part(
        &mut self,
        depth: usize,
        part: Part<'_>,
        name: &[u8],
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        if depth == 0 {
            self.settle(recorder);
            if self.queue.is_empty() {
                // A full server reports it unasked.
                let is_farewell = part == Part::Error;
                return if is_farewell {
                    Ok(())
                } else {
                    Err(StopReason::Answer("what nobody asked for"))
                };
            }
            self.answers.class = Class::None;
            return self.answered(part, recorder);
        }
        self.decide(depth, name, recorder)?;
        match self.answers.class {
            Class::Message if depth == 1 => {
                if let Part::Integer(number, _) = part {
                    self.answers.subscriptions.number = number;
                }
                self.answers.place += 1;
            }
            Class::Answer => {
                let base = usize::from(self.answers.is_executing);
                if depth == base {
                    return self.answered(part, recorder);
                }
                if depth == base + 1 {
                    self.element(part)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// A part of an answer with many parts.
    #[inline]
    fn element(&mut self, part: Part<'_>) -> Result<(), StopReason> {
        let answers = &mut self.answers;
        let place = answers.place;
        answers.place += 1;
        let queue = if answers.is_executing { &mut answers.transaction } else { &mut self.queue };
        if queue.first().is_none_or(|first| first.expected != Expected::ReadMany) {
            return Ok(());
        }
        let key = queue.key(place).ok_or(NO_ANSWER)?;
        match part {
            Part::Bulk(len) => {
                key.result = Some(Outcome::Hit);
                key.value_size = u32::try_from(len).unwrap_or(NONE);
            }
            Part::Nil => key.result = Some(Outcome::Miss),
            _ => return Err(NO_ANSWER),
        }
        Ok(())
    }

    /// What contained other parts closes at this depth.
    pub(super) fn close(
        &mut self,
        depth: usize,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        let base = usize::from(self.answers.is_executing);
        match self.answers.class {
            Class::Answer if depth == 0 && base == 1 => {
                self.answers.is_executing = false;
                self.answers.is_transaction = false;
                self.answers.class = Class::None;
                if !self.answers.transaction.is_empty() {
                    return Err(NO_ANSWER);
                }
                self.finish(recorder);
            }
            Class::Answer if depth == base => {
                if depth == 0 {
                    self.answers.class = Class::None;
                }
                self.answered(Part::Any, recorder)?;
            }
            Class::Message | Class::Undecided if depth == 0 => {
                self.answers.class = Class::None;
                self.finish_message(recorder);
            }
            _ => {}
        }
        Ok(())
    }

    /// Ends the first request, which has no keys.
    pub(super) fn finish(&mut self, recorder: &mut Recorder) {
        self.queue.finish_alike(None, None, recorder);
        self.settle(recorder);
    }

    /// The answer of the first request is there, or that of the first request of a transaction.
    #[inline]
    fn answered(&mut self, part: Part<'_>, recorder: &mut Recorder) -> Result<(), StopReason> {
        self.answers.place = 0;
        let Self { queue, answers, database, .. } = self;
        let began = answers.began;
        if answers.is_executing {
            let queue = &mut answers.transaction;
            let expected = queue.first().ok_or(NO_ANSWER)?.expected;
            return answer(queue, expected, part, began, recorder);
        }
        let expected = queue.first().ok_or(NO_ANSWER)?.expected;
        if part == Part::Simple(b"QUEUED") && answers.is_transaction {
            if changes_course(expected) {
                return Err(StopReason::OtherUse("a transaction that changes the connection"));
            }
            return queue.move_first(&mut answers.transaction, recorder);
        }
        match (expected, part) {
            (Expected::Select(before), Part::Error) => *database = before,
            (Expected::Multi, Part::Simple(_)) => answers.is_transaction = true,
            // The server has aborted it, or another client has changed a watched key.
            (Expected::Exec | Expected::Discard, _) => answers.forget_transaction(recorder),
            (Expected::ReplyOn, Part::Simple(_)) => {
                (answers.is_off, answers.skips_next) = (false, false);
            }
            (Expected::Reset, _) => {
                answers.forget_transaction(recorder);
                (answers.is_off, answers.skips_next) = (false, false);
                answers.subscriptions = Subscriptions::default();
            }
            (Expected::Monitor, Part::Simple(_)) => {
                return Err(StopReason::OtherUse("a monitor of the server"));
            }
            _ => {}
        }
        answer(queue, expected, part, began, recorder)?;
        self.settle(recorder);
        Ok(())
    }
}

/// Whether a request means something for the answers behind it.
fn changes_course(expected: Expected) -> bool {
    matches!(
        expected,
        Expected::ReplyOn
            | Expected::ReplyOff
            | Expected::ReplySkip
            | Expected::Subscribe(_)
            | Expected::Unsubscribe(..)
            | Expected::Monitor
    )
}

/// Ends the first request of a queue with its answer.
#[inline]
fn answer(
    queue: &mut Queue<Expected>,
    expected: Expected,
    part: Part<'_>,
    began: u64,
    recorder: &mut Recorder,
) -> Result<(), StopReason> {
    let at = Some(began);
    if part == Part::Error {
        queue.finish_alike(Some(Outcome::Error), at, recorder);
        return Ok(());
    }
    match expected {
        Expected::Read => {
            let (result, size) = read(part)?;
            if let Some(key) = queue.key(0) {
                key.value_size = size;
            }
            queue.finish_alike(Some(result), at, recorder);
        }
        Expected::ReadMany => queue.finish_noted(at, recorder),
        Expected::ReadDelete => {
            let (result, size) = read(part)?;
            let is_there = result == Outcome::Hit;
            let deleted = if is_there { Outcome::Deleted } else { Outcome::NotFound };
            queue.finish(&[Verb::Get, Verb::Delete], at, recorder, |verb, _| match verb {
                Verb::Get => (Some(result), size),
                _ => (Some(deleted), NONE),
            });
        }
        Expected::ReadWrite => {
            // `SET` without a condition says OK in place of an old value in no case.
            let (result, size) = read(part)?;
            let verb = queue.first().map_or(Verb::Set, |first| first.verb);
            let written = written(verb, result == Outcome::Hit);
            queue.finish(&[Verb::Get, verb], at, recorder, |verb, key| match verb {
                Verb::Get => (Some(result), size),
                _ => (written, key.value_size),
            });
        }
        Expected::Write => {
            let result = match part {
                Part::Simple(_) | Part::Integer(1, _) => Outcome::Stored,
                Part::Nil | Part::Integer(0, _) => Outcome::NotStored,
                _ => return Err(NO_ANSWER),
            };
            queue.finish_alike(Some(result), at, recorder);
        }
        Expected::Number => {
            let Part::Integer(_, n_digits) = part else { return Err(NO_ANSWER) };
            let is_counted =
                queue.first().is_some_and(|first| matches!(first.verb, Verb::Incr | Verb::Decr));
            if let Some(key) = queue.key(0).filter(|_| is_counted) {
                key.value_size = u32::try_from(n_digits).unwrap_or(NONE);
            }
            queue.finish_alike(Some(Outcome::Stored), at, recorder);
        }
        Expected::Tally(yes, no) => {
            let Part::Integer(number, _) = part else { return Err(NO_ANSWER) };
            let n_keys = queue.first().map_or(0, |first| first.n_keys);
            let result = match usize::try_from(number) {
                Ok(0) => Some(no),
                Ok(number) if number == n_keys => Some(yes),
                // The answer does not name the keys.
                _ => None,
            };
            queue.finish_alike(result, at, recorder);
        }
        _ => queue.finish_alike(None, None, recorder),
    }
    Ok(())
}

/// The result of a read, and the size of its value.
fn read(part: Part<'_>) -> Result<(Outcome, u32), StopReason> {
    match part {
        Part::Bulk(len) => Ok((Outcome::Hit, u32::try_from(len).unwrap_or(NONE))),
        Part::Nil => Ok((Outcome::Miss, NONE)),
        _ => Err(NO_ANSWER),
    }
}

/// The result of a write, where an entry was there or was not.
fn written(verb: Verb, was_there: bool) -> Option<Outcome> {
    match verb {
        Verb::Add if was_there => Some(Outcome::NotStored),
        Verb::Replace if !was_there => Some(Outcome::NotStored),
        // The answer does not say whether the values were equal.
        Verb::Cas => None,
        _ => Some(Outcome::Stored),
    }
}
