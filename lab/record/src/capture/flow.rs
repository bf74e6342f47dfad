//! One connection of a capture: both directions in order, and the follower of them.
//!
//! The bytes of a server wait until the requests that it had got are followed: a capture may have both in another order.
//! A hole that is not filled in time is a gap. Earlier requests are forgotten, and the following begins again with
//! the first request that comes after all others were answered.

use super::captured::{CaptureSettings, Captured};
use super::packet::Segment;
use super::stream::{Stream, distance};
use crate::follow::{Follower, Kind, StopReason};
use crate::recorder::Recorder;

/// The most bytes that wait for one hole, and for the holes of all connections.
const MOST_HELD: usize = 4 << 20;
pub(super) const MOST_HELD_BY_ALL: usize = 256 << 20;

/// A hole is a gap once this many segments of the connection came after it, and this time has passed.
const PATIENCE: u32 = 64;
const PATIENCE_NS: u64 = 1_000_000_000;

/// The beginning of an encrypted connection: a record of TLS' handshake.
const TLS: &[u8] = &[0x16, 0x03];

/// The state of the following.
#[derive(Debug)]
enum State {
    Followed(Box<Follower>),
    /// The next request is looked for.
    Seeks,
    /// Nothing more is followed.
    Ignored,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) number: u32,
    state: State,
    requests: Stream,
    answers: Stream,
    /// The first number of the application, of a connection that is known from its beginning.
    first: Option<u32>,
    /// The end of the server's last bytes, and the bytes that it had got, while a request is looked for.
    said: Option<(u32, u32)>,
    /// Something passed that was not followed.
    has_skipped: bool,
    was_followed: bool,
    has_data: bool,
    /// Segments since a hole came, and its time.
    hole: Option<(u32, u64)>,
    pub(super) last_ns: u64,
}

/// What a segment comes with.
pub(super) struct FlowContext<'a> {
    pub(super) setting: &'a CaptureSettings,
    pub(super) recorder: &'a mut Recorder,
    pub(super) totals: &'a mut Captured,
    /// Bytes that wait, of all connections.
    pub(super) held: &'a mut usize,
}

impl Flow {
    pub(super) fn new(number: u32) -> Self {
        Self {
            number,
            state: State::Seeks,
            requests: Stream::default(),
            answers: Stream::default(),
            first: None,
            said: None,
            has_skipped: false,
            was_followed: false,
            has_data: false,
            hole: None,
            last_ns: 0,
        }
    }

    /// Whether a first segment of the application begins another connection between the same ends.
    pub(super) fn is_another(&self, segment: &Segment<'_>) -> bool {
        match self.first {
            Some(first) => first != segment.number,
            None => self.has_data,
        }
    }

    /// Takes a segment; `true` when the connection has ended.
    pub(super) fn take(
        &mut self,
        segment: &Segment<'_>,
        is_request: bool,
        at_ns: u64,
        context: &mut FlowContext<'_>,
    ) -> bool {
        let before = self.held();
        self.last_ns = self.last_ns.max(at_ns);
        self.begin(segment, is_request, context.setting.kind);
        if !segment.bytes.is_empty() || segment.n_cut > 0 {
            self.has_data = true;
            self.data(segment, is_request, context);
        }
        if segment.is_last {
            let len = u32::try_from(segment.bytes.len()).unwrap_or(0);
            let stream = if is_request { &mut self.requests } else { &mut self.answers };
            stream.last = Some(segment.number.wrapping_add(len));
        }
        self.resume(context);
        self.judge_hole(before, context);
        *context.held = (*context.held + self.held()).saturating_sub(before);
        let is_followed = matches!(self.state, State::Followed(_));
        let is_over = |stream: &Stream| stream.is_over() || (!is_followed && stream.last.is_some());
        segment.is_reset || (is_over(&self.requests) && is_over(&self.answers))
    }

    /// Notes the numbers that a connection begins with.
    fn begin(&mut self, segment: &Segment<'_>, is_request: bool, kind: Kind) {
        if segment.is_first {
            let next = segment.number.wrapping_add(1);
            if is_request && self.first.is_none() && !self.has_data {
                self.first = Some(segment.number);
                self.requests.next = Some(next);
                self.follow(kind);
            } else if !is_request && !self.has_data {
                self.answers.next = Some(next);
                if matches!(self.state, State::Seeks) {
                    self.requests.next = segment.expects;
                    self.follow(kind);
                }
            }
        } else if is_request
            && self.answers.next.is_none()
            && matches!(self.state, State::Followed(_))
        {
            self.answers.next = segment.expects;
        }
    }

    fn follow(&mut self, kind: Kind) {
        self.state = State::Followed(Box::new(Follower::new(kind, self.number)));
        self.was_followed = true;
    }

    fn held(&self) -> usize {
        self.requests.held_bytes + self.answers.held_bytes
    }

    fn data(&mut self, segment: &Segment<'_>, is_request: bool, context: &mut FlowContext<'_>) {
        if matches!(self.state, State::Seeks) {
            self.seek(segment, is_request, context);
        }
        if !matches!(self.state, State::Followed(_)) {
            return;
        }
        let expects = segment.expects.unwrap_or(0);
        let got = self.requests.next;
        let is_early = !is_request && got.is_some_and(|got| distance(expects, got) < 0);
        let stream = if is_request { &mut self.requests } else { &mut self.answers };
        let direct = if is_early { None } else { stream.direct(segment.number, segment.bytes) };
        match direct {
            Some(bytes) => self.pass(is_request, bytes, context),
            None => stream.hold(segment.number, segment.bytes, self.last_ns, expects),
        }
        if segment.n_cut > 0 {
            context.totals.n_cut += 1;
            self.resume(context);
            self.gap(context);
        }
    }

    /// Looks for a request with which the following can begin: the server has answered, the application has got all of
    /// it, and the server had got all that was asked.
    fn seek(&mut self, segment: &Segment<'_>, is_request: bool, context: &FlowContext<'_>) {
        self.has_skipped = true;
        let len = u32::try_from(segment.bytes.len()).unwrap_or(0) + segment.n_cut;
        let Some(expects) = segment.expects else { return };
        if !is_request {
            self.said = Some((segment.number.wrapping_add(len), expects));
            return;
        }
        let is_quiet = self.said == Some((expects, segment.number));
        if is_quiet && begins_request(context.setting.kind, segment.bytes) {
            self.requests.next = Some(segment.number);
            self.answers.next = Some(expects);
            self.follow(context.setting.kind);
        }
    }

    /// Has bytes followed.
    fn pass(&mut self, is_request: bool, bytes: &[u8], context: &mut FlowContext<'_>) {
        let State::Followed(follower) = &mut self.state else { return };
        if is_request && bytes.starts_with(TLS) && follower.is_quiet() {
            context.totals.n_encrypted += 1;
            self.state = State::Ignored;
            return;
        }
        let done = if is_request {
            follower.requests(bytes, self.last_ns, context.recorder)
        } else {
            follower.answers(bytes, self.last_ns, context.recorder)
        };
        if done.is_err_and(StopReason::is_trouble) && self.has_skipped {
            // The request that it was joined at was not the first one without an answer.
            self.gap(context);
        } else if let Err(lost) = done {
            self.stop(true, context.recorder);
            self.state = State::Ignored;
            if lost.is_trouble() {
                context.totals.lost(lost, context.setting);
            } else {
                context.totals.n_other_use += 1;
            }
        }
    }

    /// Passes the waiting segments that are next in order.
    fn resume(&mut self, context: &mut FlowContext<'_>) {
        while matches!(self.state, State::Followed(_)) {
            if let Some(turn) = self.requests.turn(None) {
                self.last_ns = self.last_ns.max(turn.at_ns);
                self.pass(true, &turn.bytes, context);
            } else if let Some(turn) = self.answers.turn(self.requests.next) {
                self.last_ns = self.last_ns.max(turn.at_ns);
                self.pass(false, &turn.bytes, context);
            } else {
                return;
            }
        }
        self.requests.forget();
        self.answers.forget();
    }

    /// Gives a hole up that stays.
    fn judge_hole(&mut self, before: usize, context: &mut FlowContext<'_>) {
        if !(self.requests.waits() || self.answers.waits()) {
            self.hole = None;
            return;
        }
        let (n, since) = self.hole.get_or_insert((0, self.last_ns));
        *n += 1;
        let is_old = *n > PATIENCE && self.last_ns.saturating_sub(*since) > PATIENCE_NS;
        let held = self.held();
        if is_old || held > MOST_HELD || *context.held + held > MOST_HELD_BY_ALL + before {
            self.gap(context);
        }
    }

    /// Bytes are missing.
    fn gap(&mut self, context: &mut FlowContext<'_>) {
        context.totals.n_gaps += 1;
        self.stop(true, context.recorder);
        self.requests.forget();
        self.answers.forget();
        (self.state, self.said, self.hole) = (State::Seeks, None, None);
    }

    fn stop(&mut self, is_lost: bool, recorder: &mut Recorder) {
        if let State::Followed(follower) = std::mem::replace(&mut self.state, State::Ignored) {
            follower.end(is_lost, recorder);
        }
    }

    /// Ends the following: the connection is over, or the capture is.
    pub(super) fn end(mut self, is_over: bool, context: &mut FlowContext<'_>) {
        if self.requests.waits() || self.answers.waits() {
            self.gap(context);
        }
        *context.held = context.held.saturating_sub(self.held());
        context.totals.n_repeated += self.requests.n_repeated + self.answers.n_repeated;
        // A connection that was open at the beginning, and on which no request came to begin with.
        if self.has_data && !self.was_followed {
            context.totals.n_skipped += 1;
        } else if self.was_followed && self.has_skipped {
            context.totals.n_joined += 1;
        }
        // The last requests of a capture are answered after its end.
        self.stop(!is_over, context.recorder);
    }
}

/// Whether these may be the first bytes of a request.
fn begins_request(kind: Kind, bytes: &[u8]) -> bool {
    const WORDS: &[&[u8]] = &[
        b"get",
        b"gets",
        b"gat",
        b"gats",
        b"set",
        b"add",
        b"replace",
        b"append",
        b"prepend",
        b"cas",
        b"delete",
        b"incr",
        b"decr",
        b"touch",
        b"mg",
        b"ms",
        b"md",
        b"ma",
        b"mn",
        b"me",
        b"stats",
        b"version",
        b"flush_all",
        b"verbosity",
    ];
    match kind {
        // A request of the binary protocol: its magic byte, and a known command.
        Kind::Memcached if bytes.first() == Some(&0x80) => {
            bytes.get(1).is_some_and(|it| *it < 0x40)
        }
        Kind::Memcached => {
            let word = bytes.split(|byte| matches!(byte, b' ' | b'\r' | b'\n')).next();
            word.is_some_and(|word| word.len() < bytes.len() && WORDS.contains(&word))
        }
        Kind::Redis => {
            matches!(bytes, [b'*', digit, ..] if digit.is_ascii_digit())
                && memchr::memmem::find(bytes, b"\r\n$").is_some_and(|place| place < 12)
        }
    }
}
