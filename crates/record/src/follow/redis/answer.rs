//! The answers of a server, and the requests that they belong to.

use larder_workload::trace::{Outcome, Verb};

use super::super::Lost;
use super::super::queue::Queue;
use super::Talk;
use super::command::What;
use super::pubsub::Subscriptions;
use super::reply::{Container, Part};
use crate::batch::NONE;
use crate::desk::Desk;

const NO_ANSWER: Lost = Lost::Answer("no answer to what was asked");

/// The state of the answers of a connection.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not one state")]
pub(super) struct Answers {
    /// The time at which the first byte of the present answer went to the application.
    began: u64,
    /// What the present answer is.
    class: Class,
    /// The requests of the transaction that is open, without their answers.
    transaction: Queue<What>,
    is_transaction: bool,
    /// The present answer has those of a transaction.
    is_executing: bool,
    /// The place of the next part of an answer with many.
    place: usize,
    /// Answers are left out until the application asks for them again.
    is_off: bool,
    /// The next answer is left out.
    skips_next: bool,
    pub(super) subscriptions: Subscriptions,
}

/// What the bytes of a server belong to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Class {
    #[default]
    None,
    /// To a request.
    Answer,
    /// To nobody's request: a push, or a message of a channel.
    Message,
    /// To either: the first part tells.
    Undecided,
}

impl Answers {
    /// The first byte of an answer has come.
    #[inline]
    pub(super) fn begin(&mut self, at: u64) {
        if self.class == Class::None {
            self.began = at;
        }
    }

    pub(super) fn forget_transaction(&mut self, desk: &mut Desk) {
        self.transaction.forget(desk);
        self.is_transaction = false;
    }
}

impl Talk {
    /// Ends the requests in front that get no answer.
    #[inline]
    pub(super) fn settle(&mut self, desk: &mut Desk) {
        while let Some(first) = self.queue.first() {
            if self.is_arriving && self.queue.len() == 1 {
                return;
            }
            let answers = &mut self.answers;
            match first.what {
                What::ReplyOff if !answers.is_transaction => answers.is_off = true,
                What::ReplySkip if !answers.is_transaction => answers.skips_next = !answers.is_off,
                What::ReplyOn | What::Reset => return,
                _ if answers.is_off => {}
                _ if answers.skips_next => answers.skips_next = false,
                _ => return,
            }
            self.queue.finish_alike(None, None, desk);
        }
    }

    /// An answer begins that contains others, or a value.
    pub(super) fn enter(
        &mut self,
        container: Option<Container>,
        desk: &mut Desk,
    ) -> Result<(), Lost> {
        let answers = &mut self.answers;
        if answers.class != Class::None {
            return Ok(());
        }
        let is_confirmed = self
            .queue
            .first()
            .is_some_and(|first| matches!(first.what, What::Subscribe(_) | What::Unsubscribe(..)));
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
            self.settle(desk);
            if self.queue.is_empty() {
                return Err(Lost::Answer("what nobody asked for"));
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
        desk: &mut Desk,
    ) -> Result<(), Lost> {
        if depth > 0 {
            return self.decide(depth, b"", desk);
        }
        self.enter(Some(container), desk)?;
        if self.answers.class == Class::Answer
            && self.queue.first().is_some_and(|first| first.what == What::Exec)
        {
            if len != self.answers.transaction.len() as u64 {
                return Err(NO_ANSWER);
            }
            self.answers.is_executing = true;
        }
        Ok(())
    }

    /// Decides by its first part whether an array is a message. A message is a name, a channel and more.
    fn decide(&mut self, depth: usize, name: &[u8], desk: &mut Desk) -> Result<(), Lost> {
        if self.answers.class == Class::Undecided && depth == 1 {
            if self.answers.subscriptions.name(name) {
                self.answers.class = Class::Message;
            } else {
                self.answers.class = Class::None;
                self.answers.subscriptions.are_marked = true;
                self.enter(Some(Container::Array), desk)?;
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
        desk: &mut Desk,
    ) -> Result<(), Lost> {
        if depth == 0 {
            self.settle(desk);
            if self.queue.is_empty() {
                // A server that is full says so to nobody.
                let is_farewell = part == Part::Error;
                return if is_farewell {
                    Ok(())
                } else {
                    Err(Lost::Answer("what nobody asked for"))
                };
            }
            self.answers.class = Class::None;
            return self.answered(part, desk);
        }
        self.decide(depth, name, desk)?;
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
                    return self.answered(part, desk);
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
    fn element(&mut self, part: Part<'_>) -> Result<(), Lost> {
        let answers = &mut self.answers;
        let place = answers.place;
        answers.place += 1;
        let queue = if answers.is_executing { &mut answers.transaction } else { &mut self.queue };
        if queue.first().is_none_or(|first| first.what != What::ReadMany) {
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
    pub(super) fn close(&mut self, depth: usize, desk: &mut Desk) -> Result<(), Lost> {
        let base = usize::from(self.answers.is_executing);
        match self.answers.class {
            Class::Answer if depth == 0 && base == 1 => {
                self.answers.is_executing = false;
                self.answers.is_transaction = false;
                self.answers.class = Class::None;
                if !self.answers.transaction.is_empty() {
                    return Err(NO_ANSWER);
                }
                self.finish(desk);
            }
            Class::Answer if depth == base => {
                if depth == 0 {
                    self.answers.class = Class::None;
                }
                self.answered(Part::Any, desk)?;
            }
            Class::Message | Class::Undecided if depth == 0 => {
                self.answers.class = Class::None;
                self.heard(desk);
            }
            _ => {}
        }
        Ok(())
    }

    /// Ends the first request, which is none of keys.
    pub(super) fn finish(&mut self, desk: &mut Desk) {
        self.queue.finish_alike(None, None, desk);
        self.settle(desk);
    }

    /// The answer of the first request is there, or that of the first request of a transaction.
    #[inline]
    fn answered(&mut self, part: Part<'_>, desk: &mut Desk) -> Result<(), Lost> {
        self.answers.place = 0;
        let Self { queue, answers, database, .. } = self;
        let began = answers.began;
        if answers.is_executing {
            let queue = &mut answers.transaction;
            let what = queue.first().ok_or(NO_ANSWER)?.what;
            return answer(queue, what, part, began, desk);
        }
        let what = queue.first().ok_or(NO_ANSWER)?.what;
        if part == Part::Simple(b"QUEUED") && answers.is_transaction {
            if changes_course(what) {
                return Err(Lost::OtherUse("a transaction that changes the connection"));
            }
            return queue.move_first(&mut answers.transaction, desk);
        }
        match (what, part) {
            (What::Select(before), Part::Error) => *database = before,
            (What::Multi, Part::Simple(_)) => answers.is_transaction = true,
            // The server has given it up, or another client has changed what it watched.
            (What::Exec | What::Discard, _) => answers.forget_transaction(desk),
            (What::ReplyOn, Part::Simple(_)) => {
                (answers.is_off, answers.skips_next) = (false, false);
            }
            (What::Reset, _) => {
                answers.forget_transaction(desk);
                (answers.is_off, answers.skips_next) = (false, false);
                answers.subscriptions = Subscriptions::default();
            }
            (What::Monitor, Part::Simple(_)) => {
                return Err(Lost::OtherUse("a monitor of the server"));
            }
            _ => {}
        }
        answer(queue, what, part, began, desk)?;
        self.settle(desk);
        Ok(())
    }
}

/// Whether a request means something for the answers behind it.
fn changes_course(what: What) -> bool {
    matches!(
        what,
        What::ReplyOn
            | What::ReplyOff
            | What::ReplySkip
            | What::Subscribe(_)
            | What::Unsubscribe(..)
            | What::Monitor
    )
}

/// Ends the first request of a queue with its answer.
#[inline]
fn answer(
    queue: &mut Queue<What>,
    what: What,
    part: Part<'_>,
    began: u64,
    desk: &mut Desk,
) -> Result<(), Lost> {
    let at = Some(began);
    if part == Part::Error {
        queue.finish_alike(Some(Outcome::Error), at, desk);
        return Ok(());
    }
    match what {
        What::Read => {
            let (result, size) = read(part)?;
            if let Some(key) = queue.key(0) {
                key.value_size = size;
            }
            queue.finish_alike(Some(result), at, desk);
        }
        What::ReadMany => queue.finish_noted(at, desk),
        What::ReadDelete => {
            let (result, size) = read(part)?;
            let is_there = result == Outcome::Hit;
            let deleted = if is_there { Outcome::Deleted } else { Outcome::NotFound };
            queue.finish(&[Verb::Get, Verb::Delete], at, desk, |verb, _| match verb {
                Verb::Get => (Some(result), size),
                _ => (Some(deleted), NONE),
            });
        }
        What::ReadWrite => {
            // `SET` without a condition says OK in place of an old value in no case.
            let (result, size) = read(part)?;
            let verb = queue.first().map_or(Verb::Set, |first| first.verb);
            let written = written(verb, result == Outcome::Hit);
            queue.finish(&[Verb::Get, verb], at, desk, |verb, key| match verb {
                Verb::Get => (Some(result), size),
                _ => (written, key.value_size),
            });
        }
        What::Write => {
            let result = match part {
                Part::Simple(_) | Part::Integer(1, _) => Outcome::Stored,
                Part::Nil | Part::Integer(0, _) => Outcome::NotStored,
                _ => return Err(NO_ANSWER),
            };
            queue.finish_alike(Some(result), at, desk);
        }
        What::Number => {
            let Part::Integer(_, n_digits) = part else { return Err(NO_ANSWER) };
            let is_counted =
                queue.first().is_some_and(|first| matches!(first.verb, Verb::Incr | Verb::Decr));
            if let Some(key) = queue.key(0).filter(|_| is_counted) {
                key.value_size = u32::try_from(n_digits).unwrap_or(NONE);
            }
            queue.finish_alike(Some(Outcome::Stored), at, desk);
        }
        What::Tally(yes, no) => {
            let Part::Integer(number, _) = part else { return Err(NO_ANSWER) };
            let n_keys = queue.first().map_or(0, |first| first.n_keys);
            let result = match usize::try_from(number) {
                Ok(0) => Some(no),
                Ok(number) if number == n_keys => Some(yes),
                // Which keys it was is not told.
                _ => None,
            };
            queue.finish_alike(result, at, desk);
        }
        _ => queue.finish_alike(None, None, desk),
    }
    Ok(())
}

/// The result of a read, and the size of its value.
fn read(part: Part<'_>) -> Result<(Outcome, u32), Lost> {
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
        // Whether the values were alike is not told.
        Verb::Cas => None,
        _ => Some(Outcome::Stored),
    }
}
