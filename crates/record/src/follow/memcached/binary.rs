//! The binary protocol. An answer repeats the command and the mark of its request, and only its header is read.

use larder_protocol::binary::{Arrived, Command, Fault, HEADER_LEN, parse_request};
use larder_workload::trace::{Outcome, Verb};

use super::super::Lost;
use super::super::queue::{Asked, Queue};
use super::doubt::{Doubt, Step, first_fit, other_fit};
use super::header::{Answer, What, loud, silence};
use super::text::{MOST_QUIET, Noted};
use super::ttl_s;
use super::words::Fit;
use crate::batch::NONE;
use crate::desk::Desk;

/// A connection with the binary protocol.
#[derive(Debug)]
pub(super) struct Binary {
    queue: Queue<What>,
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
    doubt: Doubt<Answer>,
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
            doubt: Doubt::default(),
        }
    }

    pub(super) fn requests(
        &mut self,
        mut input: &[u8],
        at: u64,
        desk: &mut Desk,
    ) -> Result<(), Lost> {
        // The first of so many requests ends when another one comes: it must be the right one.
        if !self.doubt.is_empty() && self.queue.len() >= MOST_QUIET / 2 {
            self.decide(desk);
        }
        while !input.is_empty() {
            if self.body_left > 0 {
                pass(&mut input, &mut self.body_left);
                if self.body_left == 0 {
                    self.complete(at);
                }
            } else if self.held.is_empty() {
                match self.request(input, at, desk)? {
                    Taken::Bytes(n) => input = &input[n..],
                    Taken::Needs(_) => {
                        self.held.extend_from_slice(input);
                        input = &[];
                    }
                }
            } else {
                self.go_on(&mut input, at, desk)?;
            }
        }
        Ok(())
    }

    /// Goes on with a request whose beginning is held.
    fn go_on(&mut self, input: &mut &[u8], at: u64, desk: &mut Desk) -> Result<(), Lost> {
        let mut held = std::mem::take(&mut self.held);
        loop {
            match self.request(&held, at, desk)? {
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

    fn request(&mut self, input: &[u8], at: u64, desk: &mut Desk) -> Result<Taken, Lost> {
        match parse_request(input) {
            Ok(Arrived::Needs(len)) => Ok(Taken::Needs(len)),
            Ok(Arrived::Whole(request, len)) => {
                let (opcode, opaque) = (request.echo.opcode, request.echo.opaque);
                let what = What { opcode: loud(opcode), opaque, is_quiet: request.echo.is_quiet() };
                self.command(what, &request.command, at, desk)?;
                self.expect_body(request.command.value_len());
                Ok(Taken::Bytes(len))
            }
            Err(Fault::Unknown { echo, body_len } | Fault::Arguments { echo, body_len }) => {
                let what = What { opcode: loud(echo.opcode), opaque: echo.opaque, is_quiet: false };
                self.other(what, at, desk)?;
                self.expect_body(body_len);
                Ok(Taken::Bytes(HEADER_LEN))
            }
            Err(Fault::Magic | Fault::Lengths(_) | Fault::Body(_)) => {
                Err(Lost::Request("a header that is none of the binary protocol"))
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
            last.of_request.came_ns = at;
        }
    }

    fn command(
        &mut self,
        what: What,
        command: &Command<'_>,
        at: u64,
        desk: &mut Desk,
    ) -> Result<(), Lost> {
        let with_ttl = |verb, end| Noted { ttl_s: ttl_s(end, at), ..Noted::of(verb) };
        match command {
            Command::Get(get) => {
                let noted = match get.exptime {
                    None => Noted::of(Verb::Get),
                    Some(end) => with_ttl(Verb::Gat, end),
                };
                self.of_key(what, get.key, noted, at, desk)
            }
            Command::Touch(touch) => {
                self.of_key(what, touch.key, with_ttl(Verb::Touch, touch.exptime), at, desk)
            }
            Command::Set(set) => {
                let noted = Noted::storing(set.header.mode, set.header.exptime, at);
                self.of_key(what, set.header.key, noted, at, desk)?;
                if let Some(key) = self.queue.last_key() {
                    key.value_size = u32::try_from(set.header.len).unwrap_or(NONE);
                }
                Ok(())
            }
            Command::Delete(delete) => {
                self.of_key(what, delete.key, Noted::of(Verb::Delete), at, desk)
            }
            Command::Arithmetic(arithmetic) => {
                let change = arithmetic.change;
                let noted = Noted {
                    verb: if change.is_down { Verb::Decr } else { Verb::Incr },
                    amount: change.delta,
                    ttl_s: change.absent.map_or(NONE, |(_, end)| ttl_s(end, at)),
                };
                self.of_key(what, arithmetic.key, noted, at, desk)
            }
            _ => self.other(what, at, desk),
        }
    }

    fn of_key(
        &mut self,
        what: What,
        key: &[u8],
        noted: Noted,
        at: u64,
        desk: &mut Desk,
    ) -> Result<(), Lost> {
        self.ask(what, noted, at, desk)?;
        self.queue.push_key(key, desk)
    }

    /// A request that is no operation on a key.
    fn other(&mut self, what: What, at: u64, desk: &mut Desk) -> Result<(), Lost> {
        desk.counts.others += 1;
        self.ask(what, Noted::of(Verb::Get), at, desk)
    }

    fn ask(&mut self, what: What, noted: Noted, at: u64, desk: &mut Desk) -> Result<(), Lost> {
        if self.queue.len() >= MOST_QUIET
            && let Some(first) = self.queue.first().filter(|first| first.what.is_quiet)
        {
            let result = Some(silence(first.verb));
            self.finish(result, None, desk);
        }
        let of_request = noted.of_request(self.connection, at, desk);
        self.queue.push(Asked { what, verb: noted.verb, of_request, n_keys: 0 }, desk)?;
        if !what.is_quiet {
            self.queue.must_answer_last(desk)?;
        }
        Ok(())
    }

    pub(super) fn answers(
        &mut self,
        mut input: &[u8],
        at: u64,
        desk: &mut Desk,
    ) -> Result<(), Lost> {
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
                self.answer(desk)?;
            }
        }
        Ok(())
    }

    /// Takes the header of an answer, and finds the request that it belongs to.
    fn answer(&mut self, desk: &mut Desk) -> Result<(), Lost> {
        let answer = Answer::of(&self.header, self.began)
            .ok_or(Lost::Answer("a header that is none of the binary protocol"))?;
        self.answer_left = answer.body_len.into();
        let queue = &self.queue;
        let fit =
            |place| queue.at(place).map_or(Fit::No, |asked| answer.fit(asked.what, asked.verb));
        if self.doubt.is_empty() {
            let Some((place, found)) = first_fit(queue, 0, fit) else { return Err(self.unfit()) };
            if other_fit(queue, place, fit).is_none() {
                self.leave_out(place, desk);
                self.apply(&answer, found, desk);
                return Ok(());
            }
        }
        let places = self.doubt.places_behind(queue, fit);
        if places.is_empty() {
            return Err(self.unfit());
        }
        match self.doubt.take(answer, 0, places, desk)? {
            Step::Held => {}
            Step::DecidedBefore => {
                let given = self.doubt.decide_before_last(desk);
                let n_done = self.give(given, desk);
                self.doubt.shift(n_done);
            }
            Step::Decided => self.decide(desk),
        }
        Ok(())
    }

    fn unfit(&self) -> Lost {
        let is_over = self.queue.next_loud(0) == self.queue.len();
        Lost::Answer(if is_over { "what nobody asked for" } else { "no answer to what was asked" })
    }

    /// Gives the answers that are held to their requests.
    fn decide(&mut self, desk: &mut Desk) {
        let given = self.doubt.decide(desk);
        self.give(given, desk);
    }

    /// Gives answers to the requests at these places. Returns the number of requests that left the queue.
    fn give(&mut self, given: Vec<(Answer, usize)>, desk: &mut Desk) -> usize {
        let n_waiting = self.queue.len();
        for (answer, place) in given {
            self.leave_out(place.saturating_sub(n_waiting - self.queue.len()), desk);
            let asked = self.queue.first();
            let fit = asked.map_or(Fit::No, |asked| answer.fit(asked.what, asked.verb));
            self.apply(&answer, fit, desk);
        }
        n_waiting - self.queue.len()
    }

    /// Ends so many quiet requests in front, which have left out their answers.
    fn leave_out(&mut self, n: usize, desk: &mut Desk) {
        for _ in 0..n {
            let Some(verb) = self.queue.first().map(|first| first.verb) else { return };
            self.finish(Some(silence(verb)), None, desk);
        }
    }

    /// Notes what an answer tells of the first request.
    fn apply(&mut self, answer: &Answer, fit: Fit, desk: &mut Desk) {
        let Fit::Done(result) = fit else { return };
        if result == Some(Outcome::Hit)
            && let Some(key) = self.queue.key(0)
        {
            key.value_size = answer.value_len();
        }
        self.finish(result, Some(answer.at), desk);
    }

    fn finish(&mut self, result: Option<Outcome>, at: Option<u64>, desk: &mut Desk) {
        if self.queue.len() == 1 {
            self.is_arriving = false;
        }
        self.queue.finish_alike(result, at, desk);
    }

    pub(super) fn is_quiet(&self) -> bool {
        let behind_last = self.queue.behind_last_loud();
        let is_answered = behind_last == 0 || self.doubt.may_have_reached(behind_last);
        self.held.is_empty() && self.body_left == 0 && is_answered
    }

    pub(super) fn end(mut self, is_lost: bool, desk: &mut Desk) {
        if is_lost {
            self.doubt.decide(desk);
        } else {
            self.decide(desk);
        }
        // Silence means what it says where nothing else waits for its answer: the server has heard all.
        let is_cut = self.is_arriving || self.queue.behind_last_loud() > 0;
        while !is_lost && let Some(first) = self.queue.first() {
            let (verb, is_quiet) = (first.verb, first.what.is_quiet);
            if is_quiet && !is_cut {
                self.queue.finish_alike(Some(silence(verb)), None, desk);
            } else {
                self.queue.finish_unanswered(desk);
            }
        }
        self.queue.forget(desk);
    }
}

/// What was done with the bytes of a request.
enum Taken {
    /// So many bytes are taken.
    Bytes(usize),
    /// The request is known once it has so many bytes.
    Needs(usize),
}

/// Lets bytes pass that have no meaning here.
fn pass(input: &mut &[u8], left: &mut u64) {
    let n = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
    *input = &input[n..];
    *left -= n as u64;
}
