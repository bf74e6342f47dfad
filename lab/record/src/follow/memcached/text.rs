//! The text and meta protocols: the requests of an application.

use larder_protocol::request::{Fault, MAX_SHORT_LINE};
use larder_protocol::text::get::parse_single;
use larder_protocol::{meta, text};
use larder_workload::trace::Verb;

use super::super::StopReason;
use super::super::line::{Lines, Next};
use super::answer::Answers;
use super::exchange::Exchange;
use super::request::{Expected, Kind, MAX_QUIET, RowFields, Silence};
use super::ttl::ttl_s;
use crate::recorder::Recorder;

const TOO_LONG: StopReason = StopReason::Request("a line of more than 8192 bytes");

/// A connection with the text protocol.
#[derive(Debug)]
pub(super) struct Text {
    lines: Lines,
    pub(super) exchange: Exchange,
    answers: Answers,
}

impl Text {
    pub(super) fn new(connection: u32) -> Self {
        let exchange = Exchange::new(connection);
        Self { lines: Lines::default(), exchange, answers: Answers::default() }
    }

    #[inline]
    pub(super) fn requests(
        &mut self,
        mut input: &[u8],
        at: u64,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        // With this many requests, the next one ends the first: the ambiguous answers must be assigned before that.
        if self.answers.is_ambiguous() && self.exchange.queue.len() >= MAX_QUIET / 2 {
            self.answers.decide(&mut self.exchange, recorder)?;
        }
        while !input.is_empty() {
            if self.exchange.value_left > 0 {
                self.exchange.skip(&mut input, at, recorder);
            } else if self.exchange.is_within_keys {
                self.more_keys(&mut input, at, recorder)?;
            } else if !self.lines.is_within()
                && let Some((key, len)) = parse_single(input)
            {
                self.exchange.ask(
                    Expected::of(Kind::Get, false),
                    RowFields::of(Verb::Get),
                    at,
                    recorder,
                )?;
                self.exchange.push_key(key, recorder)?;
                input = &input[len..];
            } else {
                match self.lines.next(&mut input, MAX_SHORT_LINE) {
                    Next::Line(line) => self.exchange.request(line, at, recorder)?,
                    Next::Wait => {}
                    Next::TooLong => self.begin_keys(at, recorder)?,
                }
            }
        }
        Ok(())
    }

    /// Begins a get whose line exceeds the buffer. Its words are taken one by one.
    fn begin_keys(&mut self, at: u64, recorder: &mut Recorder) -> Result<(), StopReason> {
        let held = self.lines.held();
        if !reads(held) {
            return Err(TOO_LONG);
        }
        let end = held.iter().rposition(|byte| *byte == b' ').ok_or(TOO_LONG)?;
        self.exchange.request(&held[..end], at, recorder)?;
        held.drain(..=end);
        // A wrong line is answered by an error wherever it ends.
        self.exchange.is_within_keys = true;
        self.exchange.is_arriving = true;
        Ok(())
    }

    /// Takes the words of such a line, as far as they have arrived.
    fn more_keys(
        &mut self,
        input: &mut &[u8],
        at: u64,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        let held = self.lines.held();
        while let Some((byte, rest)) = input.split_first() {
            *input = rest;
            if !matches!(byte, b' ' | b'\n') {
                held.push(*byte);
                if held.len() > MAX_SHORT_LINE {
                    return Err(StopReason::Request("a key of more than 8192 bytes"));
                }
                continue;
            }
            let word = held.strip_suffix(b"\r").unwrap_or(held);
            if !word.is_empty() {
                self.exchange.push_key(word, recorder)?;
            }
            held.clear();
            if *byte == b'\n' {
                self.exchange.is_within_keys = false;
                self.exchange.complete(at, recorder);
                return Ok(());
            }
        }
        Ok(())
    }

    #[inline]
    pub(super) fn answers(
        &mut self,
        input: &[u8],
        at: u64,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        self.answers.take(input, at, &mut self.exchange, recorder)
    }

    pub(super) fn is_quiet(&self) -> bool {
        let is_whole = self.exchange.value_left == 0 && !self.lines.is_within();
        is_whole && self.answers.may_be_done(&self.exchange)
    }

    pub(super) fn end(mut self, is_lost: bool, recorder: &mut Recorder) {
        if is_lost {
            self.answers.forget(recorder);
        } else {
            // Held lines fit their requests, so this cannot fail.
            let _ = self.answers.decide(&mut self.exchange, recorder);
        }
        // If no other request waits for an answer, the server has read all requests, and silence is an answer.
        let queue = &mut self.exchange.queue;
        let is_cut = self.exchange.is_arriving || queue.next_must_answer(0) < queue.len();
        while !is_lost && let Some(first) = queue.first() {
            match first.expected.silence {
                Silence::Wanted => queue.finish_alike(None, None, recorder),
                Silence::Means(result) if !is_cut => queue.finish_alike(result, None, recorder),
                Silence::Means(_) | Silence::Never => queue.finish_unanswered(recorder),
            }
        }
        self.exchange.queue.forget(recorder);
    }
}

impl Exchange {
    /// Takes the line of a request.
    fn request(&mut self, line: &[u8], at: u64, recorder: &mut Recorder) -> Result<(), StopReason> {
        if line.len() > MAX_SHORT_LINE && !reads(line) {
            return Err(TOO_LONG);
        }
        if line.first() == Some(&b'm') {
            match meta::parse_request(line) {
                Ok(Some(command)) => return self.meta(&command, at, recorder),
                Ok(None) => {}
                Err(_) => return self.other(Kind::Fault, false, at, recorder),
            }
        }
        match text::parse_request(line) {
            Ok(request) => self.text(line, request, at, recorder)?,
            Err(Fault::Http) => return Err(StopReason::Request("a request of HTTP")),
            Err(Fault::Unknown) => self.unknown(line, at, recorder)?,
            Err(_) => self.other(Kind::Fault, text::is_quiet(line), at, recorder)?,
        }
        self.settle(recorder);
        Ok(())
    }

    /// A request that is no operation on a key.
    pub(super) fn other(
        &mut self,
        kind: Kind,
        is_quiet: bool,
        at: u64,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        recorder.counts.others += 1;
        self.ask(Expected::of(kind, is_quiet), RowFields::of(Verb::Get), at, recorder)
    }

    fn text(
        &mut self,
        line: &[u8],
        request: text::Request<'_>,
        at: u64,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        match request {
            text::Request::Get(get) => {
                let fields = match get.exptime {
                    None => RowFields::of(Verb::Get),
                    Some(end) => RowFields { ttl_s: ttl_s(end, at), ..RowFields::of(Verb::Gat) },
                };
                self.ask(Expected::of(Kind::Get, false), fields, at, recorder)?;
                for key in get.keys {
                    self.push_key(key, recorder)?;
                }
            }
            text::Request::Set(set) => {
                let fields = RowFields::storing(set.header.mode, set.header.exptime, at);
                self.ask(Expected::of(Kind::Store, set.is_quiet), fields, at, recorder)?;
                self.push_key(set.header.key, recorder)?;
                self.expect_value(set.header.len);
            }
            text::Request::Delete(delete) => {
                let expected = Expected::of(Kind::Delete, delete.is_quiet);
                self.ask(expected, RowFields::of(Verb::Delete), at, recorder)?;
                self.push_key(delete.key, recorder)?;
            }
            text::Request::Incr(incr) => {
                let verb = if incr.is_down { Verb::Decr } else { Verb::Incr };
                let fields = RowFields { amount: incr.delta, ..RowFields::of(verb) };
                self.ask(Expected::of(Kind::Count, incr.is_quiet), fields, at, recorder)?;
                self.push_key(incr.key, recorder)?;
            }
            text::Request::Touch(touch) => {
                let fields =
                    RowFields { ttl_s: ttl_s(touch.exptime, at), ..RowFields::of(Verb::Touch) };
                self.ask(Expected::of(Kind::Touch, touch.is_quiet), fields, at, recorder)?;
                self.push_key(touch.key, recorder)?;
            }
            text::Request::Stats(_) => self.other(Kind::Lines, false, at, recorder)?,
            // The server ends the connection.
            text::Request::Quit => recorder.counts.others += 1,
            text::Request::FlushAll(_)
            | text::Request::Verbosity(_)
            | text::Request::Version
            | text::Request::Shutdown(_) => {
                self.other(Kind::Line, text::is_quiet(line), at, recorder)?;
            }
        }
        Ok(())
    }

    /// Commands of memcached that `larder serve` does not have, and words that are no command.
    fn unknown(&mut self, line: &[u8], at: u64, recorder: &mut Recorder) -> Result<(), StopReason> {
        let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
        let kind = match (words.next(), words.next()) {
            (Some(b"watch"), _) => {
                return Err(StopReason::OtherUse("a watcher of the server's log"));
            }
            (Some(b"lru_crawler"), Some(b"metadump" | b"mgdump")) => Kind::Lines,
            (Some(b"config"), Some(b"get")) => Kind::Lines,
            _ => Kind::Line,
        };
        self.other(kind, text::is_quiet(line), at, recorder)
    }
}

/// Whether a line may have thousands of keys.
fn reads(line: &[u8]) -> bool {
    line.starts_with(b"get") || line.starts_with(b"gat")
}
