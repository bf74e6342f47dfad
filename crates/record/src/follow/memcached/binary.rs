//! The binary protocol. An answer repeats the command and the mark of its request, and only its header is read.

use larder_protocol::binary::{
    Arrived, Command, Fault, HEADER_LEN, REPLY_MAGIC, opcode, parse_request,
};
use larder_workload::trace::{Outcome, Verb};

use super::super::Lost;
use super::super::queue::{Asked, Queue};
use super::text::{MOST_QUIET, Noted};
use super::ttl_s;
use crate::batch::NONE;
use crate::desk::Desk;

/// The statuses of an answer that mean something for an operation.
const SUCCESS: u16 = 0;
const NOT_FOUND: u16 = 1;
const EXISTS: u16 = 2;
const NOT_STORED: u16 = 5;

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
}

/// A request, as far as its answer needs it.
#[derive(Debug, Clone, Copy)]
struct What {
    /// The opcode without its quiet variant.
    opcode: u8,
    opaque: u32,
    is_quiet: bool,
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
        }
    }

    pub(super) fn requests(
        &mut self,
        mut input: &[u8],
        at: u64,
        desk: &mut Desk,
    ) -> Result<(), Lost> {
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
        self.queue.push(Asked { what, verb: noted.verb, of_request, n_keys: 0 }, desk)
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

    /// Takes the header of an answer.
    fn answer(&mut self, desk: &mut Desk) -> Result<(), Lost> {
        let [magic, code, k0, k1, extras_len, _, s0, s1, b0, b1, b2, b3, rest @ ..] = self.header;
        let [o0, o1, o2, o3, ..] = rest;
        if magic != REPLY_MAGIC {
            return Err(Lost::Answer("a header that is none of the binary protocol"));
        }
        let (code, opaque) = (loud(code), u32::from_be_bytes([o0, o1, o2, o3]));
        let (key_len, status) = (u16::from_be_bytes([k0, k1]), u16::from_be_bytes([s0, s1]));
        let body_len = u32::from_be_bytes([b0, b1, b2, b3]);
        self.answer_left = body_len.into();
        loop {
            let Some(first) = self.queue.first() else {
                return Err(Lost::Answer("what nobody asked for"));
            };
            let What { opcode, opaque: asked, is_quiet } = first.what;
            let verb = first.verb;
            if opcode == code && asked == opaque {
                if code == opcode::STAT && status == SUCCESS && key_len > 0 {
                    // More statistics follow, up to one without a name.
                    return Ok(());
                }
                let result = outcome(verb, status);
                if result == Outcome::Hit
                    && let Some(key) = self.queue.key(0)
                {
                    let parts = u32::from(key_len) + u32::from(extras_len);
                    key.value_size = body_len.saturating_sub(parts);
                }
                self.finish(Some(result), Some(self.began), desk);
                return Ok(());
            }
            if !is_quiet {
                return Err(Lost::Answer("no answer to what was asked"));
            }
            self.finish(Some(silence(verb)), None, desk);
        }
    }

    fn finish(&mut self, result: Option<Outcome>, at: Option<u64>, desk: &mut Desk) {
        if self.queue.len() == 1 {
            self.is_arriving = false;
        }
        self.queue.finish_alike(result, at, desk);
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.held.is_empty()
            && self.body_left == 0
            && self.queue.iter().all(|asked| asked.what.is_quiet)
    }

    pub(super) fn end(mut self, is_lost: bool, desk: &mut Desk) {
        while !is_lost && !self.queue.is_empty() {
            self.queue.finish_alike(Some(Outcome::Error), None, desk);
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

/// The command of an opcode without its quiet variant. memcached answers a quiet command with either opcode.
fn loud(code: u8) -> u8 {
    match code {
        opcode::GETQ => opcode::GET,
        opcode::GETKQ => opcode::GETK,
        opcode::SETQ..=opcode::FLUSHQ => code - opcode::SETQ + opcode::SET,
        opcode::APPENDQ => opcode::APPEND,
        opcode::PREPENDQ => opcode::PREPEND,
        opcode::GATQ => opcode::GAT,
        opcode::GATKQ => opcode::GATK,
        _ => code,
    }
}

/// The result that a status tells.
fn outcome(verb: Verb, status: u16) -> Outcome {
    match (verb, status) {
        (Verb::Get | Verb::Gat, SUCCESS) => Outcome::Hit,
        (Verb::Get | Verb::Gat, NOT_FOUND) => Outcome::Miss,
        (Verb::Delete, SUCCESS) => Outcome::Deleted,
        (Verb::Touch, SUCCESS) => Outcome::Touched,
        (_, SUCCESS) => Outcome::Stored,
        (_, NOT_FOUND) => Outcome::NotFound,
        // An `add` of a key that exists has this status too.
        (Verb::Add, EXISTS) => Outcome::NotStored,
        // As has a `replace` of an absent key.
        (_, EXISTS) => Outcome::Exists,
        (_, NOT_STORED) => Outcome::NotStored,
        _ => Outcome::Error,
    }
}

/// The meaning of a quiet request's missing answer.
fn silence(verb: Verb) -> Outcome {
    match verb {
        Verb::Get | Verb::Gat => Outcome::Miss,
        Verb::Delete => Outcome::Deleted,
        Verb::Touch => Outcome::Touched,
        _ => Outcome::Stored,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_quiet_opcode_has_its_loud_one() {
        for (quiet, of) in [
            (opcode::GETQ, opcode::GET),
            (opcode::GETKQ, opcode::GETK),
            (opcode::SETQ, opcode::SET),
            (opcode::ADDQ, opcode::ADD),
            (opcode::REPLACEQ, opcode::REPLACE),
            (opcode::DELETEQ, opcode::DELETE),
            (opcode::INCREMENTQ, opcode::INCREMENT),
            (opcode::DECREMENTQ, opcode::DECREMENT),
            (opcode::QUITQ, opcode::QUIT),
            (opcode::FLUSHQ, opcode::FLUSH),
            (opcode::APPENDQ, opcode::APPEND),
            (opcode::PREPENDQ, opcode::PREPEND),
            (opcode::GATQ, opcode::GAT),
            (opcode::GATKQ, opcode::GATK),
        ] {
            assert_eq!((loud(quiet), loud(of)), (of, of), "{quiet:#x}");
        }
    }
}
