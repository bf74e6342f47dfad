//! The binary protocol. An answer repeats the command and the mark of its request, and only its header is read.

use larder_protocol::binary::{Arrived, Command, Fault, HEADER_LEN, parse_request};
use larder_workload::trace::{Outcome, Verb};

use super::super::StopReason;
use super::super::queue::{PendingRequest, Queue};
use super::ambiguous::{AmbiguousAnswers, Step, first_fit, other_fit};
use super::answer_line::Fit;
use super::header::{Answer, Expected, silence, without_quiet};
use super::request::{MAX_QUIET, RowFields};
use super::ttl::ttl_s;
use crate::batch::NONE;
use crate::recorder::Recorder;

/// A connection with the binary protocol.
#[derive(Debug)]
pub(super) struct Binary {
    queue: Queue<Expected>,
    connection: u32,
    /// The beginning of a request whose header, extras or key has not arrived as a whole.
    held: Vec<u8>,
    /// Bytes of the request's body that are still to come.
    body_left: u64,
    /// The last request is not whole yet.
    is_arriving: bool,
    /// The beginning of an answer's header.
    header: [u8; HEADER_LEN],
    header_len: usize,
    /// The time at which the first byte of the present answer went to the application.
    began: u64,
    /// Bytes of the answer's body that are still to come.
    answer_left: u64,
    ambiguous: AmbiguousAnswers<Answer>,
}

impl Binary {
    pub(super) fn new(connection: u32) -> Self {
        Self {
            queue: Queue::default(),
            connection,
            held: Vec::new(),
            body_left: 0,
            is_arriving: false,
            header: [0; HEADER_LEN],
            header_len: 0,
            began: 0,
            answer_left: 0,
            ambiguous: AmbiguousAnswers::default(),
        }
    }

    pub(super) fn requests(
        &mut self,
        mut input: &[u8],
        at: u64,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        // With this many requests, the next one ends the first: the ambiguous answers must be assigned before that.
        if !self.ambiguous.is_empty() && self.queue.len() >= MAX_QUIET / 2 {
            self.decide(recorder);
        }
        while !input.is_empty() {
            if self.body_left > 0 {
                pass(&mut input, &mut self.body_left);
                if self.body_left == 0 {
                    self.complete(at);
                }
            } else if self.held.is_empty() {
                match self.request(input, at, recorder)? {
                    Taken::Bytes(n) => input = &input[n..],
                    Taken::Needs(_) => {
                        self.held.extend_from_slice(input);
                        input = &[];
                    }
                }
            } else {
                self.resume(&mut input, at, recorder)?;
            }
        }
        Ok(())
    }

    /// Goes on with a request whose beginning is held.
    fn resume(
        &mut self,
        input: &mut &[u8],
        at: u64,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        let mut held = std::mem::take(&mut self.held);
        loop {
            match self.request(&held, at, recorder)? {
                // The body behind the key is not held.
                Taken::Bytes(_) => return Ok(()),
                Taken::Needs(len) => {
                    let n = len.saturating_sub(held.len()).min(input.len());
                    held.extend_from_slice(&input[..n]);
                    *input = &input[n..];
                    if held.len() < len {
                        self.held = held;
                        return Ok(());
                    }
                }
            }
        }
    }

    fn request(
        &mut self,
        input: &[u8],
        at: u64,
        recorder: &mut Recorder,
    ) -> Result<Taken, StopReason> {
        match parse_request(input) {
            Ok(Arrived::Needs(len)) => Ok(Taken::Needs(len)),
            Ok(Arrived::Whole(request, len)) => {
                let (opcode, opaque) = (request.echo.opcode, request.echo.opaque);
                let expected = Expected {
                    opcode: without_quiet(opcode),
                    opaque,
                    is_quiet: request.echo.is_quiet(),
                };
                self.command(expected, &request.command, at, recorder)?;
                self.expect_body(request.command.value_len());
                Ok(Taken::Bytes(len))
            }
            Err(Fault::Unknown { echo, body_len } | Fault::Arguments { echo, body_len }) => {
                let expected = Expected {
                    opcode: without_quiet(echo.opcode),
                    opaque: echo.opaque,
                    is_quiet: false,
                };
                self.other(expected, at, recorder)?;
                self.expect_body(body_len);
                Ok(Taken::Bytes(HEADER_LEN))
            }
            Err(Fault::Magic | Fault::Lengths(_) | Fault::Body(_)) => {
                Err(StopReason::Request("a header that is none of the binary protocol"))
            }
        }
    }

    fn expect_body(&mut self, len: usize) {
        self.body_left = len as u64;
        self.is_arriving = len > 0;
    }

    fn complete(&mut self, at: u64) {
        if std::mem::take(&mut self.is_arriving)
            && let Some(last) = self.queue.last()
        {
            last.facts.came_ns = at;
        }
    }

    fn command(
        &mut self,
        expected: Expected,
        command: &Command<'_>,
        at: u64,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        let with_ttl = |verb, end| RowFields { ttl_s: ttl_s(end, at), ..RowFields::of(verb) };
        match command {
            Command::Get(get) => {
                let fields = match get.exptime {
                    None => RowFields::of(Verb::Get),
                    Some(end) => with_ttl(Verb::Gat, end),
                };
                self.request_of_key(expected, get.key, fields, at, recorder)
            }
            Command::Touch(touch) => self.request_of_key(
                expected,
                touch.key,
                with_ttl(Verb::Touch, touch.exptime),
                at,
                recorder,
            ),
            Command::Set(set) => {
                let fields = RowFields::storing(set.header.mode, set.header.exptime, at);
                self.request_of_key(expected, set.header.key, fields, at, recorder)?;
                if let Some(key) = self.queue.last_key() {
                    key.value_size = u32::try_from(set.header.len).unwrap_or(NONE);
                }
                Ok(())
            }
            Command::Delete(delete) => {
                self.request_of_key(expected, delete.key, RowFields::of(Verb::Delete), at, recorder)
            }
            Command::Arithmetic(arithmetic) => {
                let change = arithmetic.change;
                let fields = RowFields {
                    verb: if change.is_down { Verb::Decr } else { Verb::Incr },
                    amount: change.delta,
                    ttl_s: change.absent.map_or(NONE, |(_, end)| ttl_s(end, at)),
                };
                self.request_of_key(expected, arithmetic.key, fields, at, recorder)
            }
            _ => self.other(expected, at, recorder),
        }
    }

    fn request_of_key(
        &mut self,
        expected: Expected,
        key: &[u8],
        fields: RowFields,
        at: u64,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        self.ask(expected, fields, at, recorder)?;
        self.queue.push_key(key, recorder)
    }

    /// A request that is no operation on a key.
    fn other(
        &mut self,
        expected: Expected,
        at: u64,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        recorder.counts.others += 1;
        self.ask(expected, RowFields::of(Verb::Get), at, recorder)
    }

    fn ask(
        &mut self,
        expected: Expected,
        fields: RowFields,
        at: u64,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        if self.queue.len() >= MAX_QUIET
            && let Some(first) = self.queue.first().filter(|first| first.expected.is_quiet)
        {
            let result = Some(silence(first.verb));
            self.finish(result, None, recorder);
        }
        let facts = fields.facts(self.connection, at, recorder);
        self.queue
            .push(PendingRequest { expected, verb: fields.verb, facts, n_keys: 0 }, recorder)?;
        if !expected.is_quiet {
            self.queue.must_answer_last(recorder)?;
        }
        Ok(())
    }

    pub(super) fn answers(
        &mut self,
        mut input: &[u8],
        at: u64,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        while !input.is_empty() {
            if self.answer_left > 0 {
                pass(&mut input, &mut self.answer_left);
                continue;
            }
            if self.header_len == 0 {
                self.began = at;
            }
            let n = (HEADER_LEN - self.header_len).min(input.len());
            self.header[self.header_len..self.header_len + n].copy_from_slice(&input[..n]);
            self.header_len += n;
            input = &input[n..];
            if self.header_len == HEADER_LEN {
                self.header_len = 0;
                self.answer(recorder)?;
            }
        }
        Ok(())
    }

    /// Takes the header of an answer, and finds the request that it belongs to.
    fn answer(&mut self, recorder: &mut Recorder) -> Result<(), StopReason> {
        let answer = Answer::of(&self.header, self.began)
            .ok_or(StopReason::Answer("a header that is none of the binary protocol"))?;
        self.answer_left = answer.body_len.into();
        let queue = &self.queue;
        let fit = |place| {
            queue.at(place).map_or(Fit::No, |request| answer.fit(request.expected, request.verb))
        };
        if self.ambiguous.is_empty() {
            let Some((place, found)) = first_fit(queue, 0, fit) else {
                return Err(self.without_request());
            };
            if other_fit(queue, place, fit).is_none() {
                self.leave_out(place, recorder);
                self.apply(&answer, found, recorder);
                return Ok(());
            }
        }
        let places = self.ambiguous.positions_after(queue, fit);
        if places.is_empty() {
            return Err(self.without_request());
        }
        match self.ambiguous.take(answer, 0, places, recorder)? {
            Step::Undecided => {}
            Step::DecidedExceptLast => {
                let given = self.ambiguous.decide_before_last(recorder);
                let n_done = self.give(given, recorder);
                self.ambiguous.shift(n_done);
            }
            Step::Decided => self.decide(recorder),
        }
        Ok(())
    }

    fn without_request(&self) -> StopReason {
        let is_done = self.queue.next_must_answer(0) == self.queue.len();
        StopReason::Answer(if is_done {
            "what nobody asked for"
        } else {
            "no answer to what was asked"
        })
    }

    /// Gives the answers that are held to their requests.
    fn decide(&mut self, recorder: &mut Recorder) {
        let given = self.ambiguous.decide(recorder);
        self.give(given, recorder);
    }

    /// Gives answers to the requests at these places. Returns the number of requests that left the queue.
    fn give(&mut self, given: Vec<(Answer, usize)>, recorder: &mut Recorder) -> usize {
        let n_waiting = self.queue.len();
        for (answer, place) in given {
            self.leave_out(place.saturating_sub(n_waiting - self.queue.len()), recorder);
            let request = self.queue.first();
            let fit = request.map_or(Fit::No, |request| answer.fit(request.expected, request.verb));
            self.apply(&answer, fit, recorder);
        }
        n_waiting - self.queue.len()
    }

    /// Ends the first `n` requests, which are quiet and have left out their answers.
    fn leave_out(&mut self, n: usize, recorder: &mut Recorder) {
        for _ in 0..n {
            let Some(verb) = self.queue.first().map(|first| first.verb) else { return };
            self.finish(Some(silence(verb)), None, recorder);
        }
    }

    /// Applies an answer to the first request.
    fn apply(&mut self, answer: &Answer, fit: Fit, recorder: &mut Recorder) {
        let Fit::Done(result) = fit else { return };
        if result == Some(Outcome::Hit)
            && let Some(key) = self.queue.key(0)
        {
            key.value_size = answer.value_len();
        }
        self.finish(result, Some(answer.at), recorder);
    }

    fn finish(&mut self, result: Option<Outcome>, at: Option<u64>, recorder: &mut Recorder) {
        if self.queue.len() == 1 {
            self.is_arriving = false;
        }
        self.queue.finish_alike(result, at, recorder);
    }

    pub(super) fn is_quiet(&self) -> bool {
        let behind_last = self.queue.after_last_must_answer();
        let is_answered = behind_last == 0 || self.ambiguous.may_have_reached(behind_last);
        self.held.is_empty() && self.body_left == 0 && is_answered
    }

    pub(super) fn end(mut self, is_lost: bool, recorder: &mut Recorder) {
        if is_lost {
            self.ambiguous.decide(recorder);
        } else {
            self.decide(recorder);
        }
        // If no other request waits for an answer, the server has read all requests, and silence is an answer.
        let is_cut = self.is_arriving || self.queue.after_last_must_answer() > 0;
        while !is_lost && let Some(first) = self.queue.first() {
            let (verb, is_quiet) = (first.verb, first.expected.is_quiet);
            if is_quiet && !is_cut {
                self.queue.finish_alike(Some(silence(verb)), None, recorder);
            } else {
                self.queue.finish_unanswered(recorder);
            }
        }
        self.queue.forget(recorder);
    }
}

/// What was done with the bytes of a request.
enum Taken {
    /// This many bytes are taken.
    Bytes(usize),
    /// The request is known once it has this many bytes.
    Needs(usize),
}

/// Lets bytes pass that have no meaning here.
fn pass(input: &mut &[u8], left: &mut u64) {
    let n = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
    *input = &input[n..];
    *left -= n as u64;
}
