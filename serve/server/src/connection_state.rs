//! The protocol state of one connection, which turns its bytes into requests and writes their answers. It knows no sockets.

use std::time::Instant;

use larder_protocol::request::{self, Fault, MAX_SHORT_LINE};
use larder_protocol::{Parsed, binary, meta, text};

use crate::context::Context;
use crate::counts::Count;
use crate::latency::Kind;
use crate::limits::ANSWER_BYTES;
use crate::login::Login;
use crate::payload::{Done, Payload, VALUE_END};
use crate::request_class::RequestClass;
use crate::slow::log_if_slow;
use crate::text::Pipelined;

/// The state that a connection keeps between two turns.
#[derive(Debug, Default)]
pub(crate) struct ConnectionState {
    /// Bytes of a refused value that have not arrived yet, and are discarded.
    skip: usize,
    /// Bytes from the beginning that were searched for the end of the first line.
    searched: usize,
    /// Bytes at the end of the first line whose keys are not answered; 0 before the first answer.
    unanswered: usize,
    /// Reads that are answered one by one, because their values were too long for one answer.
    n_alone: usize,
    /// No memory is left for the rest of the first request.
    is_out_of_memory: bool,
    /// What is known of the client.
    login: Login,
    /// The client has sent its first byte, which shows the protocol of the connection.
    has_begun: bool,
    /// The client speaks the binary protocol.
    is_binary: bool,
}

/// The outcome of a turn.
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

/// What a connection needs next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// More input: this many bytes in all, or 0 where that is not known.
    Read(usize),
    /// To send its answers, and then another turn for the rest of its input.
    Send,
    /// Another turn for the rest of its input, after those of other connections.
    Yield,
    /// To send its answers, and then a turn at a storage thread for the rest of its input.
    Offload,
    /// To send its answers, and then to be closed.
    End,
}

impl ConnectionState {
    /// The state of a new connection.
    pub(crate) fn new(must_log_in: bool) -> Self {
        let login = Login { is_known: !must_log_in, has_begun: false };
        Self { login, ..Self::default() }
    }

    /// Answers the requests in `input`.
    pub(crate) fn advance(
        &mut self,
        input: &[u8],
        context: &mut Context,
        out: &mut Vec<u8>,
    ) -> Progress {
        context.begin_turn();
        let began = Instant::now();
        let (progress, n_requests) = self.turn(input, began, context, out);
        if context.served.may_stall() {
            context.mark_stall(began.elapsed(), n_requests);
        }
        progress
    }

    /// Answers requests until the turn is over. Also returns their number.
    #[inline]
    fn turn(
        &mut self,
        input: &[u8],
        began: Instant,
        context: &mut Context,
        out: &mut Vec<u8>,
    ) -> (Progress, usize) {
        let mut at = 0;
        let mut began = Some(began);
        let most = context.shared.settings.requests_a_turn.get();
        let mut n_requests = 0;
        if !self.has_begun && !input.is_empty() {
            self.has_begun = true;
            self.is_binary = input[0] == binary::REQUEST_MAGIC;
        }
        while n_requests < most {
            at += self.discard(&input[at..]);
            let rest = &input[at..];
            if rest.is_empty() {
                return (Progress { consumed: at, next: Next::Read(0) }, n_requests);
            }
            if out.len() >= ANSWER_BYTES {
                return (Progress { consumed: at, next: Next::Send }, n_requests);
            }
            if context.turn_is_over() {
                break;
            }
            let together = self.pipelined(rest, most - n_requests, context, out);
            let n = together.n;
            let answered = if n > 0 { Ok(together.len) } else { self.answer(rest, context, out) };
            if answered == Err(Next::Offload) {
                return (Progress { consumed: at, next: Next::Offload }, n_requests);
            }
            n_requests += n.max(1);
            if let Some(then) = began {
                let is_shown = self.login.is_known && answered.is_ok();
                began = timed(rest, then, n, is_shown, context);
            }
            match answered {
                Ok(len) => at += len,
                Err(Next::End) => {
                    return (Progress::end(input), n_requests);
                }
                Err(next) => return (Progress { consumed: at, next }, n_requests),
            }
        }
        context.counts.add_one(Count::Yields);
        (Progress { consumed: at, next: Next::Yield }, n_requests)
    }

    /// Answers plain reads, or plain writes, that have arrived together by one call of the store, if there are any.
    #[inline]
    fn pipelined(
        &mut self,
        input: &[u8],
        most: usize,
        context: &mut Context,
        out: &mut Vec<u8>,
    ) -> Pipelined {
        if !self.is_between_requests() {
            return Pipelined::default();
        }
        let most = if self.n_alone > 0 || context.shared.answers_alone() { 1 } else { most };
        let is_set = input.first() == Some(&b's');
        if context.served.excludes(if is_set { RequestClass::Writes } else { RequestClass::Reads })
        {
            return Pipelined::default();
        }
        if is_set {
            return crate::text::answer_pipelined_sets(input, most, context, out);
        }
        let gets = crate::text::answer_pipelined_gets(input, most, context, out);
        self.n_alone = self.n_alone.saturating_sub(1) + gets.n_alone;
        gets
    }

    /// Discards the bytes of a refused value at the beginning of the input, and returns their number.
    #[inline]
    pub(crate) fn discard(&mut self, input: &[u8]) -> usize {
        let len = self.skip.min(input.len());
        self.skip -= len;
        len
    }

    /// Whether the next byte begins a request of the text or meta protocol that needs no earlier state.
    #[inline]
    pub(crate) fn is_between_requests(&self) -> bool {
        let is_other = !self.login.is_known || self.is_binary || self.skip > 0 || !self.has_begun;
        !is_other && self.unanswered == 0 && self.searched == 0
    }

    /// Makes the next turn refuse the first request, because no memory is left for the rest of it.
    pub(crate) fn mark_out_of_memory(&mut self) {
        self.is_out_of_memory = true;
    }

    /// Answers the first request, and returns its length.
    ///
    /// # Errors
    ///
    /// The next step, if this request has not arrived in full or is not answered in full.
    #[inline]
    fn answer(
        &mut self,
        input: &[u8],
        context: &mut Context,
        out: &mut Vec<u8>,
    ) -> Result<usize, Next> {
        let is_out_of_memory = std::mem::take(&mut self.is_out_of_memory);
        if self.is_binary {
            return self.answer_binary(input, is_out_of_memory, context, out);
        }
        let (line, line_len) = match request::line(input, self.searched) {
            Ok(Parsed::Complete(line, len)) => (line, len),
            Ok(Parsed::Incomplete) if is_out_of_memory => {
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
        let payload = Payload { input, line_len, end: VALUE_END, is_out_of_memory };
        if !self.login.is_known {
            return self.log_in(line, &payload, context, out);
        }
        let is_meta = line.first() == Some(&b'm');
        let done = if is_meta && let Some(done) = meta_request(line, &payload, context, out) {
            done
        } else {
            match text::parse_request(line) {
                Ok(request) if context.served.excludes(RequestClass::of_text(&request)) => {
                    Done::Offload
                }
                Ok(request) => crate::text::run(request, self.unanswered, &payload, context, out),
                // A command that does not exist has no `noreply`.
                Err(fault) if fault != Fault::Unknown && text::is_quiet(line) => Done::Answered(0),
                Err(Fault::Http) => Done::End,
                Err(fault) => Done::Refused(fault),
            }
        };
        self.after(done, &payload, out)
    }

    /// Answers a request of a client that has not logged in.
    #[cold]
    fn log_in(
        &mut self,
        line: &[u8],
        payload: &Payload<'_>,
        context: &mut Context,
        out: &mut Vec<u8>,
    ) -> Result<usize, Next> {
        let (done, is_known) = crate::text::log_in(line, payload, context, out);
        self.login.is_known = is_known;
        self.after(done, payload, out)
    }

    /// Answers the first request of a client that speaks the binary protocol, as [`ConnectionState::answer`] does.
    fn answer_binary(
        &mut self,
        input: &[u8],
        is_out_of_memory: bool,
        context: &mut Context,
        out: &mut Vec<u8>,
    ) -> Result<usize, Next> {
        let (request, len) = match binary::parse_request(input) {
            Ok(binary::Arrived::Whole(request, len)) => (request, len),
            Ok(binary::Arrived::Needs(_)) if is_out_of_memory => return Err(Next::End),
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
        let payload = Payload { input, line_len: len, end: b"", is_out_of_memory };
        // A client that has not logged in does not get at the store.
        let is_left = self.login.is_known
            && context.served.excludes(RequestClass::of_binary(&request.command));
        let done = if is_left {
            Done::Offload
        } else {
            crate::binary::run(&request, &payload, &mut self.login, context, out)
        };
        self.after(done, &payload, out)
    }

    /// The length of a request that is done, or the next step.
    #[inline]
    fn after(
        &mut self,
        done: Done,
        payload: &Payload<'_>,
        out: &mut Vec<u8>,
    ) -> Result<usize, Next> {
        let line_len = payload.line_len;
        match done {
            Done::Answered(len) => {
                self.unanswered = 0;
                Ok(line_len + len)
            }
            Done::Partial(unanswered) => {
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
            Done::Offload => {
                self.is_out_of_memory = payload.is_out_of_memory;
                Err(Next::Offload)
            }
            Done::End => Err(Next::End),
        }
    }
}

/// Records the latency of one request (or of `n` pipelined ones); returns the start of the next if every request is timed.
fn timed(
    request: &[u8],
    began: Instant,
    n: usize,
    is_answered: bool,
    context: &Context,
) -> Option<Instant> {
    let now = Instant::now();
    if is_answered {
        // All of them have waited for the answer to the last.
        context.counts.latencies.add(Kind::of(request), now - began, n.max(1) as u64);
        log_if_slow(request, now - began, context);
    }
    context.times_all.then_some(now)
}

/// Runs a meta command; `None` if the line is not one.
fn meta_request(
    line: &[u8],
    payload: &Payload<'_>,
    context: &mut Context,
    out: &mut Vec<u8>,
) -> Option<Done> {
    let command = match meta::parse_request(line) {
        Ok(command) => command?,
        Err(fault) => return Some(Done::Refused(fault)),
    };
    let needed = RequestClass::of_meta(&command, context.shared.abilities.leases);
    Some(if context.served.excludes(needed) {
        Done::Offload
    } else {
        crate::meta::run(command, payload, context, out)
    })
}
