//! The requests of an application: arrays of words, and lines of words.
//!
//! A word is read as it arrives. Only names, options and numbers are held; a key is hashed, and a value passes.

use larder_workload::trace::{Outcome, Verb};

use super::super::StopReason;
use super::super::line::{Lines, Next};
use super::super::queue::PendingRequest;
use super::command::{Command, Expected, Family, Role, Unit};
use super::exchange::Exchange;
use crate::batch::NONE;
use crate::keys::KeyHasher;
use crate::recorder::{Recorder, RequestFacts};

/// The longest line of words, in bytes. Redis takes 64 KiB of a person's typing.
const MAX_LINE_BYTES: usize = 64 << 10;

/// The most words of a request that Redis takes.
const MAX_WORDS: u64 = i32::MAX as u64;

/// The longest word that Redis can be set to take, in bytes.
const MAX_WORD_BYTES: u64 = i64::MAX as u64;

/// The longest word that is read.
const WORD_LEN: usize = 24;

/// The requests of a connection.
#[derive(Debug)]
pub(super) struct Requests {
    connection: u32,
    lines: Lines,
    /// Words of the request that are still to come.
    words_left: u64,
    /// The place of the next word.
    place: u64,
    command: Command,
    word: Option<Word>,
    /// The unit of the number that comes next, behind the option that names it.
    unit: Option<Unit>,
}

/// A word that arrives.
#[derive(Debug)]
struct Word {
    role: Role,
    len: u64,
    /// Bytes that are still to come, and those of the end of its line.
    left: u64,
    end_left: u64,
    key: Option<KeyHasher>,
    held: [u8; WORD_LEN],
    n_held: usize,
}

impl Requests {
    pub(super) fn new(connection: u32) -> Self {
        Self {
            connection,
            lines: Lines::default(),
            words_left: 0,
            place: 0,
            command: Command::find(b""),
            word: None,
            unit: None,
        }
    }

    /// Whether no request has arrived in part.
    pub(super) fn is_between(&self) -> bool {
        self.words_left == 0 && !self.lines.is_within()
    }

    pub(super) fn take(
        &mut self,
        mut input: &[u8],
        at: u64,
        exchange: &mut Exchange,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        let mut lines = std::mem::take(&mut self.lines);
        while !input.is_empty() {
            if self.word.is_some() {
                self.resume(&mut input, at, exchange, recorder)?;
                continue;
            }
            match lines.next(&mut input, MAX_LINE_BYTES) {
                Next::Line(line) if self.words_left > 0 => {
                    self.begin_word(line, exchange, recorder)?;
                }
                Next::Line(line) => self.begin(line, at, exchange, recorder)?,
                Next::Wait => {}
                Next::TooLong => return Err(StopReason::Request("a line of more than 64 KiB")),
            }
        }
        self.lines = lines;
        Ok(())
    }

    /// Begins a request.
    fn begin(
        &mut self,
        line: &[u8],
        at: u64,
        exchange: &mut Exchange,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        let Some(n_words) = line.strip_prefix(b"*") else {
            return self.line_of_words(line, at, exchange, recorder);
        };
        let wrong = StopReason::Request("an array without its length");
        let n_words = signed(n_words).ok_or(wrong)?;
        // Redis ignores an empty request.
        if let Ok(n_words) = u64::try_from(n_words)
            && n_words > 0
        {
            if n_words > MAX_WORDS {
                return Err(wrong);
            }
            (self.words_left, self.place) = (n_words, 0);
        }
        Ok(())
    }

    /// Takes a request that a person has typed. One with quotes is not followed as a cache's.
    fn line_of_words(
        &mut self,
        line: &[u8],
        at: u64,
        exchange: &mut Exchange,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        let has_quotes = line.iter().any(|byte| matches!(byte, b'"' | b'\''));
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let words: &mut dyn Iterator<Item = &[u8]> =
            if has_quotes { &mut [&b"?"[..]].into_iter() } else { &mut words };
        let words: Vec<&[u8]> = words.collect();
        (self.words_left, self.place) = (words.len() as u64, 0);
        for word in words {
            self.new_word(word.len() as u64, 0, exchange, recorder)?;
            let mut word = word;
            self.resume(&mut word, at, exchange, recorder)?;
        }
        Ok(())
    }

    /// Begins a word whose length has come.
    fn begin_word(
        &mut self,
        line: &[u8],
        exchange: &mut Exchange,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        let len = line.strip_prefix(b"$").and_then(signed);
        let len = len.and_then(|len| u64::try_from(len).ok());
        let len = len.filter(|len| *len < MAX_WORD_BYTES - 2);
        self.new_word(
            len.ok_or(StopReason::Request("a word without its length"))?,
            2,
            exchange,
            recorder,
        )
    }

    fn new_word(
        &mut self,
        len: u64,
        end_left: u64,
        exchange: &mut Exchange,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        let role = if self.place == 0 { Role::Word } else { self.command.family.role(self.place) };
        let mut key = None;
        match role {
            Role::Key => {
                let mut hasher = recorder.keys.begin();
                if exchange.database > 0 {
                    // The same name in another database is another key.
                    let prefix = format!("db{}:", exchange.database);
                    hasher.write(prefix.as_bytes());
                    if recorder.keys.are_clear() {
                        exchange.queue.push_clear(prefix.as_bytes(), recorder)?;
                    }
                }
                key = Some(hasher);
            }
            Role::Value => {
                if let Some(key) = exchange.queue.last_key() {
                    key.value_size = u32::try_from(len).unwrap_or(NONE);
                }
            }
            Role::Word | Role::Ignored => {}
        }
        self.word =
            Some(Word { role, len, left: len, end_left, key, held: [0; WORD_LEN], n_held: 0 });
        Ok(())
    }

    /// Takes more bytes of a word.
    fn resume(
        &mut self,
        input: &mut &[u8],
        at: u64,
        exchange: &mut Exchange,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        let Some(word) = &mut self.word else { return Ok(()) };
        let own = split_off(input, &mut word.left);
        split_off(input, &mut word.end_left);
        match word.role {
            Role::Key => {
                if let Some(key) = &mut word.key {
                    key.write(own);
                }
                if recorder.keys.are_clear() {
                    exchange.queue.push_clear(own, recorder)?;
                }
            }
            Role::Word => {
                let room = &mut word.held[word.n_held..];
                let n = own.len().min(room.len());
                room[..n].copy_from_slice(&own[..n]);
                word.n_held += n;
            }
            Role::Value | Role::Ignored => {}
        }
        if word.left + word.end_left > 0 { Ok(()) } else { self.end_word(at, exchange, recorder) }
    }

    fn end_word(
        &mut self,
        at: u64,
        exchange: &mut Exchange,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        let Some(mut word) = self.word.take() else { return Ok(()) };
        match word.role {
            Role::Key => {
                if let Some(key) = &word.key {
                    let len = usize::try_from(word.len).unwrap_or(usize::MAX);
                    exchange.queue.push_pieces(key, len, recorder)?;
                }
            }
            Role::Word => {
                word.held.make_ascii_uppercase();
                let is_whole = word.len == word.n_held as u64;
                let text = if is_whole { &word.held[..word.n_held] } else { b"" };
                if self.place == 0 {
                    self.named(text, at, exchange, recorder)?;
                } else {
                    self.apply_option(text, at, exchange);
                }
            }
            Role::Value | Role::Ignored => {}
        }
        self.place += 1;
        self.words_left -= 1;
        if self.words_left == 0 {
            self.end(at, exchange, recorder);
        }
        Ok(())
    }

    /// Takes the name of the command.
    fn named(
        &mut self,
        name: &[u8],
        at: u64,
        exchange: &mut Exchange,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        if matches!(name, b"SYNC" | b"PSYNC") {
            return Err(StopReason::OtherUse("a replica of the server"));
        }
        self.command = Command::find(name);
        self.unit = None;
        let Command { expected, verb, ttl_s, .. } = self.command;
        let is_of_keys = self.command.is_of_keys();
        recorder.counts.others += u64::from(!is_of_keys);
        let expected = match expected {
            Expected::Subscribe(_) => Expected::Subscribe(self.n_channels()),
            Expected::Unsubscribe(of, _) => Expected::Unsubscribe(of, self.n_channels()),
            expected => expected,
        };
        let facts = RequestFacts {
            number: recorder.number(),
            connection: self.connection,
            came_ns: at,
            ttl_s,
            amount: 1,
        };
        exchange.is_arriving = true;
        exchange.queue.push(PendingRequest { expected, verb, facts, n_keys: 0 }, recorder)
    }

    /// The number of words behind the name.
    fn n_channels(&self) -> u32 {
        u32::try_from(self.words_left - 1).unwrap_or(u32::MAX)
    }

    /// Takes an option, a number or a subcommand, in capitals.
    fn apply_option(&mut self, word: &[u8], at: u64, exchange: &mut Exchange) {
        let Some(request) = exchange.queue.last() else { return };
        match self.command.family {
            Family::Set | Family::GetEx => {
                if let Some(unit) = self.unit.take() {
                    request.facts.ttl_s = signed(word).map_or(NONE, |time| unit.ttl_s(time, at));
                    return;
                }
                match word {
                    b"EX" => self.unit = Some(Unit::Seconds),
                    b"PX" => self.unit = Some(Unit::Millis),
                    b"EXAT" => self.unit = Some(Unit::Date),
                    b"PXAT" => self.unit = Some(Unit::DateMillis),
                    b"PERSIST" => request.facts.ttl_s = 0,
                    b"KEEPTTL" => request.facts.ttl_s = NONE,
                    b"NX" => request.verb = Verb::Add,
                    b"XX" => request.verb = Verb::Replace,
                    b"IFEQ" => request.verb = Verb::Cas,
                    b"GET" => request.expected = Expected::ReadWrite,
                    _ => {}
                }
                // Without an option it is a plain get.
                if self.command.family == Family::GetEx {
                    request.verb = Verb::Gat;
                }
            }
            // Redis removes a key whose end has passed.
            Family::KeyTime
                if signed(word).is_some_and(|end| self.command.unit.ttl_ms(end, at) <= 0) =>
            {
                request.verb = Verb::Delete;
                request.expected = Expected::Tally(Outcome::Deleted, Outcome::NotFound);
            }
            Family::KeyTimeValue | Family::KeyTime => {
                let unit = self.command.unit;
                request.facts.ttl_s = signed(word).map_or(NONE, |time| unit.ttl_s(time, at));
            }
            Family::KeyAmount => {
                let amount = signed(word).unwrap_or_default();
                request.facts.amount = amount.unsigned_abs();
                if amount < 0 {
                    let is_up = request.verb == Verb::Incr;
                    request.verb = if is_up { Verb::Decr } else { Verb::Incr };
                }
            }
            Family::Select => {
                let number = signed(word).and_then(|number| u32::try_from(number).ok());
                request.expected = Expected::Select(exchange.database);
                exchange.database = number.unwrap_or(exchange.database);
            }
            Family::Client => {
                request.expected = match (self.place, request.expected, word) {
                    // Until the next word decides.
                    (1, _, b"REPLY") => Expected::ReplyOn,
                    (2, Expected::ReplyOn, b"OFF") => Expected::ReplyOff,
                    (2, Expected::ReplyOn, b"SKIP") => Expected::ReplySkip,
                    (2, Expected::ReplyOn, b"ON") => Expected::ReplyOn,
                    _ => Expected::Other,
                };
            }
            _ => {}
        }
    }

    /// The last byte of a request has come.
    fn end(&mut self, at: u64, exchange: &mut Exchange, recorder: &mut Recorder) {
        if self.command.expected == Expected::Reset {
            exchange.database = 0;
        }
        if std::mem::take(&mut exchange.is_arriving)
            && let Some(last) = exchange.queue.last()
        {
            last.facts.came_ns = at;
        }
        exchange.settle(recorder);
    }
}

/// Takes as many bytes off the input as there are, and as are still to come.
fn split_off<'a>(input: &mut &'a [u8], left: &mut u64) -> &'a [u8] {
    let n = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
    let (taken, rest) = input.split_at(n);
    *input = rest;
    *left -= n as u64;
    taken
}

/// A number with an optional sign.
fn signed(word: &[u8]) -> Option<i64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}
