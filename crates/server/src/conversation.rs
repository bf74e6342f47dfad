//! The bytes of one connection, turned into requests, and their answers.

use std::time::Instant;

use larder_protocol::request::{self, Fault, MAX_SHORT_LINE};
use larder_protocol::{Parsed, binary, meta, text};

use crate::behind::{Behind, Done, VALUE_END};
use crate::context::Desk;
use crate::counts::Count;
use crate::latency::Kind;
use crate::own::Own;
use crate::slow::log_if_slow;
use crate::text::Pipelined;

/// Bytes of answers that a conversation makes before it lets them be sent.
pub(crate) const ANSWER_BYTES: usize = 256 << 10;

/// What is known of a conversation between two looks at its bytes.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    /// Bytes of a refused value that are still to come, and are thrown away.
    skip: usize,
    /// Bytes of the first line that have no end of the line.
    searched: usize,
    /// Bytes at the end of the first line whose keys are not answered; 0 before the first answer.
    unanswered: usize,
    /// Reads that are answered alone, because they were together too much.
    n_alone: usize,
    /// There is no room for the rest of the first request.
    is_cut_off: bool,
    /// What is known of the client.
    login: Login,
    /// The client has sent its first byte, which tells the protocol of the connection.
    has_begun: bool,
    /// The client speaks the binary protocol.
    is_binary: bool,
}

/// The outcome of a look at the bytes of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Bytes from the beginning that are not needed any more.
    pub(crate) consumed: usize,
    pub(crate) next: Next,
}

impl Progress {
    /// The end of a connection that has sent these bytes.
    pub(crate) fn end(input: &[u8]) -> Self {
        Self { consumed: input.len(), next: Next::End }
    }
}

/// What a conversation goes on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// More bytes: so many from the beginning of what is left, where that is known.
    Read(usize),
    /// The bytes that are left, once its answers have been sent.
    Send,
    /// The bytes that are left, after other connections had their turn.
    Yield,
    /// The bytes that are left, by an assistant, once the answers have been sent.
    Away,
    /// Nothing: the connection ends once its answers have been sent.
    End,
}

impl Conversation {
    /// A new conversation; the client may have to log in first.
    pub(crate) fn new(must_log_in: bool) -> Self {
        let login = Login { is_known: !must_log_in, has_begun: false };
        Self { login, ..Self::default() }
    }

    /// Answers the requests in `input`.
    pub(crate) fn advance(&mut self, input: &[u8], desk: &mut Desk, out: &mut Vec<u8>) -> Progress {
        desk.begin_turn();
        let began = Instant::now();
        let (progress, n_requests) = self.turn(input, began, desk, out);
        if desk.portion.may_stall() {
            desk.mark_stall(began.elapsed(), n_requests);
        }
        progress
    }

    /// Answers requests until the turn is over. Also returns their number.
    #[inline]
    fn turn(
        &mut self,
        input: &[u8],
        began: Instant,
        desk: &mut Desk,
        out: &mut Vec<u8>,
    ) -> (Progress, usize) {
        let mut at = 0;
        let mut began = Some(began);
        let most = desk.shared.settings.requests_a_turn.get();
        let mut n_requests = 0;
        if !self.has_begun && !input.is_empty() {
            self.has_begun = true;
            self.is_binary = input[0] == binary::REQUEST_MAGIC;
        }
        while n_requests < most {
            at += self.throw_away(&input[at..]);
            let rest = &input[at..];
            if rest.is_empty() {
                return (Progress { consumed: at, next: Next::Read(0) }, n_requests);
            }
            if out.len() >= ANSWER_BYTES {
                return (Progress { consumed: at, next: Next::Send }, n_requests);
            }
            if desk.turn_is_over() {
                break;
            }
            let together = self.pipelined(rest, most - n_requests, desk, out);
            let n = together.n;
            let answered = if n > 0 { Ok(together.len) } else { self.answer(rest, desk, out) };
            if answered == Err(Next::Away) {
                return (Progress { consumed: at, next: Next::Away }, n_requests);
            }
            n_requests += n.max(1);
            if let Some(then) = began {
                let is_shown = self.login.is_known && answered.is_ok();
                began = timed(rest, then, n, is_shown, desk);
            }
            match answered {
                Ok(len) => at += len,
                Err(Next::End) => {
                    return (Progress::end(input), n_requests);
                }
                Err(next) => return (Progress { consumed: at, next }, n_requests),
            }
        }
        desk.counts.add_one(Count::Yields);
        (Progress { consumed: at, next: Next::Yield }, n_requests)
    }

    /// Answers plain reads, or plain writes, that have arrived together by one call of the store, if there are any.
    #[inline]
    fn pipelined(
        &mut self,
        input: &[u8],
        most: usize,
        desk: &mut Desk,
        out: &mut Vec<u8>,
    ) -> Pipelined {
        if !self.takes_any_request() {
            return Pipelined::default();
        }
        let most = if self.n_alone > 0 || desk.shared.answers_alone() { 1 } else { most };
        let is_set = input.first() == Some(&b's');
        if desk.portion.leaves(if is_set { Own::Writes } else { Own::Reads }) {
            return Pipelined::default();
        }
        if is_set {
            return crate::text::pipelined_sets(input, most, desk, out);
        }
        let gets = crate::text::pipelined(input, most, desk, out);
        self.n_alone = self.n_alone.saturating_sub(1) + gets.n_alone;
        gets
    }

    /// Throws away what of a refused value is at the beginning of these bytes, and returns its length.
    #[inline]
    pub(crate) fn throw_away(&mut self, input: &[u8]) -> usize {
        let len = self.skip.min(input.len());
        self.skip -= len;
        len
    }

    /// Whether the next bytes are a request of the text or meta protocol, and nothing is in its way.
    #[inline]
    pub(crate) fn takes_any_request(&self) -> bool {
        let is_other = !self.login.is_known || self.is_binary || self.skip > 0 || !self.has_begun;
        !is_other && self.unanswered == 0 && self.searched == 0
    }

    /// Says that there is no room for the rest of the first request, which is refused then.
    pub(crate) fn cut_off(&mut self) {
        self.is_cut_off = true;
    }

    /// Answers the first request, and returns its length.
    ///
    /// # Errors
    ///
    /// What comes before the next request, where this one is not whole or not answered to its end.
    #[inline]
    fn answer(&mut self, input: &[u8], desk: &mut Desk, out: &mut Vec<u8>) -> Result<usize, Next> {
        let is_cut_off = std::mem::take(&mut self.is_cut_off);
        if self.is_binary {
            return self.answer_binary(input, is_cut_off, desk, out);
        }
        let (line, line_len) = match request::line(input, self.searched) {
            Ok(Parsed::Complete(line, len)) => (line, len),
            Ok(Parsed::Incomplete) if is_cut_off => {
                out.extend_from_slice(b"SERVER_ERROR out of memory reading request\r\n");
                return Err(Next::End);
            }
            // A client that has not logged in reads no keys, so its lines are short.
            Ok(Parsed::Incomplete) if !self.login.is_known && input.len() > MAX_SHORT_LINE => {
                out.extend_from_slice(b"CLIENT_ERROR line too long\r\n");
                return Err(Next::End);
            }
            Ok(Parsed::Incomplete) => {
                self.searched = input.len();
                return Err(Next::Read(0));
            }
            Err(request::EndlessLine) => {
                out.extend_from_slice(b"CLIENT_ERROR line too long\r\n");
                return Err(Next::End);
            }
        };
        self.searched = 0;
        let behind = Behind { input, line_len, end: VALUE_END, is_cut_off };
        if !self.login.is_known {
            return self.log_in(line, &behind, desk, out);
        }
        let is_meta = line.first() == Some(&b'm');
        let done = if is_meta && let Some(done) = meta_request(line, &behind, desk, out) {
            done
        } else {
            match text::parse_request(line) {
                Ok(request) if desk.portion.leaves(Own::of_text(&request)) => Done::Away,
                Ok(request) => crate::text::run(request, self.unanswered, &behind, desk, out),
                // A command that does not exist has no `noreply`.
                Err(fault) if fault != Fault::Unknown && text::is_quiet(line) => Done::Whole(0),
                Err(Fault::Http) => Done::End,
                Err(fault) => Done::Refused(fault),
            }
        };
        self.after(done, &behind, out)
    }

    /// Answers a request of a client that has not logged in.
    #[cold]
    fn log_in(
        &mut self,
        line: &[u8],
        behind: &Behind<'_>,
        desk: &mut Desk,
        out: &mut Vec<u8>,
    ) -> Result<usize, Next> {
        let (done, is_known) = crate::text::log_in(line, behind, desk, out);
        self.login.is_known = is_known;
        self.after(done, behind, out)
    }

    /// Answers the first request of a client that speaks the binary protocol, as [`Conversation::answer`] does.
    fn answer_binary(
        &mut self,
        input: &[u8],
        is_cut_off: bool,
        desk: &mut Desk,
        out: &mut Vec<u8>,
    ) -> Result<usize, Next> {
        let (request, len) = match binary::parse_request(input) {
            Ok(binary::Arrived::Whole(request, len)) => (request, len),
            Ok(binary::Arrived::Needs(_)) if is_cut_off => return Err(Next::End),
            Ok(binary::Arrived::Needs(len)) => return Err(Next::Read(len)),
            Err(fault) => {
                binary::reply::encode_fault(out, fault);
                if fault.ends_connection() {
                    return Err(Next::End);
                }
                self.skip = fault.request_len().unwrap_or(0);
                return Ok(0);
            }
        };
        let behind = Behind { input, line_len: len, end: b"", is_cut_off };
        // A client that has not logged in does not get at the store.
        let is_left = self.login.is_known && desk.portion.leaves(Own::of_binary(&request.command));
        let done = if is_left {
            Done::Away
        } else {
            crate::binary::run(&request, &behind, &mut self.login, desk, out)
        };
        self.after(done, &behind, out)
    }

    /// Makes the next step out of what a command did.
    #[inline]
    fn after(&mut self, done: Done, behind: &Behind<'_>, out: &mut Vec<u8>) -> Result<usize, Next> {
        let line_len = behind.line_len;
        match done {
            Done::Whole(len) => {
                self.unanswered = 0;
                Ok(line_len + len)
            }
            Done::Part(unanswered) => {
                self.unanswered = unanswered;
                Err(Next::Send)
            }
            Done::Needs(len) => Err(Next::Read(len)),
            Done::Skip(len) => {
                self.skip = len;
                Ok(line_len)
            }
            Done::Refused(fault) => {
                out.extend_from_slice(fault.line());
                Ok(line_len)
            }
            Done::Away => {
                self.is_cut_off = behind.is_cut_off;
                Err(Next::Away)
            }
            Done::End => Err(Next::End),
        }
    }
}

/// Adds the time that a request took, or each of so many that were answered together. The time at which the next one begins, if it is timed too.
fn timed(
    request: &[u8],
    began: Instant,
    n: usize,
    is_answered: bool,
    desk: &Desk,
) -> Option<Instant> {
    let now = Instant::now();
    if is_answered {
        // All of them have waited for the answer to the last.
        desk.counts.latencies.add(Kind::of(request), now - began, n.max(1) as u64);
        log_if_slow(request, now - began, desk);
    }
    desk.times_all.then_some(now)
}

/// Does what a line of the meta protocol asks for; `None` where it is none.
fn meta_request(
    line: &[u8],
    behind: &Behind<'_>,
    desk: &mut Desk,
    out: &mut Vec<u8>,
) -> Option<Done> {
    let command = match meta::parse_request(line) {
        Ok(command) => command?,
        Err(fault) => return Some(Done::Refused(fault)),
    };
    let needed = Own::of_meta(&command, desk.shared.abilities.leases);
    Some(if desk.portion.leaves(needed) {
        Done::Away
    } else {
        crate::meta::run(command, behind, desk, out)
    })
}

/// The login of a client.
#[derive(Debug, Default)]
pub(crate) struct Login {
    /// The client has logged in, or does not have to. Until then no other request is carried out.
    pub(crate) is_known: bool,
    /// The client has begun to log in by SASL, and its message comes with a step.
    pub(crate) has_begun: bool,
}
