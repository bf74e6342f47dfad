//! The bytes of one connection, turned into requests, and their answers.

use larder_protocol::request::{self, Fault};
use larder_protocol::{Parsed, meta, text};

use crate::context::Desk;
use crate::counts::Count;

/// Bytes of answers that a conversation makes before it lets them be sent.
pub(crate) const ANSWER_BYTES: usize = 256 << 10;

/// What is known of a conversation between two looks at its bytes.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    /// Bytes of a refused value that are still to come, and are thrown away.
    skip: usize,
    /// Bytes of the first line that have no end of the line.
    searched: usize,
    /// Keys of the first request that have been answered.
    answered: usize,
}

/// The outcome of a look at the bytes of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Bytes from the beginning that are not needed any more.
    pub(crate) consumed: usize,
    pub(crate) next: Next,
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
    /// Nothing: the connection ends once its answers have been sent.
    End,
}

/// What is done with the value behind the line of a request.
pub(crate) enum Value<'a> {
    /// All of the value has arrived, without its end.
    Whole(&'a [u8]),
    /// So many bytes of the request are needed.
    Needs(usize),
    /// It does not end as its length says.
    Damaged,
}

impl Conversation {
    /// Answers the requests in `input`. `room` is the longest request that the connection can keep.
    pub(crate) fn advance(
        &mut self,
        input: &[u8],
        room: usize,
        desk: &mut Desk,
        out: &mut Vec<u8>,
    ) -> Progress {
        let mut at = 0;
        let most = desk.shared.settings.requests_a_turn.get();
        for _ in 0..most {
            let skipped = self.skip.min(input.len() - at);
            self.skip -= skipped;
            at += skipped;
            let rest = &input[at..];
            if rest.is_empty() {
                return Progress { consumed: at, next: Next::Read(0) };
            }
            if out.len() >= ANSWER_BYTES {
                return Progress { consumed: at, next: Next::Send };
            }
            match self.answer(rest, room, desk, out) {
                Answered::Request(len) => at += len,
                Answered::Part => return Progress { consumed: at, next: Next::Send },
                Answered::Needs(len) => {
                    return Progress { consumed: at, next: Next::Read(len) };
                }
                Answered::End => return Progress { consumed: input.len(), next: Next::End },
            }
        }
        desk.counts.add_one(Count::Yields);
        Progress { consumed: at, next: Next::Yield }
    }

    /// Answers the first request.
    #[inline]
    fn answer(
        &mut self,
        input: &[u8],
        room: usize,
        desk: &mut Desk,
        out: &mut Vec<u8>,
    ) -> Answered {
        let (line, line_len) = match request::line(input, self.searched) {
            Ok(Parsed::Complete(line, len)) => (line, len),
            Ok(Parsed::Incomplete) if input.len() < room => {
                self.searched = input.len();
                return Answered::Needs(0);
            }
            Ok(Parsed::Incomplete) | Err(request::EndlessLine) => {
                out.extend_from_slice(b"CLIENT_ERROR line too long\r\n");
                return Answered::End;
            }
        };
        self.searched = 0;
        let behind = Behind { input, line_len, room };
        let is_meta = line.first() == Some(&b'm');
        let done = if is_meta && let Some(done) = meta_request(line, &behind, desk, out) {
            done
        } else {
            match text::parse_request(line) {
                Ok(request) => crate::text::run(request, self.answered, &behind, desk, out),
                Err(fault) => Done::Refused(fault),
            }
        };
        match done {
            Done::Whole(len) => {
                self.answered = 0;
                Answered::Request(line_len + len)
            }
            Done::Part(answered) => {
                self.answered = answered;
                Answered::Part
            }
            Done::Needs(len) => Answered::Needs(len),
            Done::Skip(len) => {
                self.skip = len;
                Answered::Request(line_len)
            }
            Done::Refused(fault) => {
                if !line.ends_with(b" noreply") || fault == Fault::Unknown {
                    out.extend_from_slice(fault.line());
                }
                Answered::Request(line_len)
            }
            Done::End => Answered::End,
        }
    }
}

/// Does what a line of the meta protocol asks for; `None` where it is none.
fn meta_request(
    line: &[u8],
    behind: &Behind<'_>,
    desk: &mut Desk,
    out: &mut Vec<u8>,
) -> Option<Done> {
    Some(match meta::parse_request(line) {
        Ok(command) => crate::meta::run(command?, behind, desk, out),
        Err(fault) => Done::Refused(fault),
    })
}

/// What became of the first request.
enum Answered {
    /// It is answered, and takes so many bytes.
    Request(usize),
    /// A part of it is answered; that must be sent first.
    Part,
    /// So many bytes of it are needed; 0 where that is not known.
    Needs(usize),
    /// The connection is to end.
    End,
}

/// What a command did.
pub(crate) enum Done {
    /// It is answered; so many bytes behind its line belong to it.
    Whole(usize),
    /// So many of its keys are answered.
    Part(usize),
    /// So many bytes from the beginning of the request are needed.
    Needs(usize),
    /// It is answered; so many bytes behind its line are thrown away.
    Skip(usize),
    /// Its line is wrong.
    Refused(Fault),
    /// The connection is to end.
    End,
}

/// The bytes from the line of a request on.
pub(crate) struct Behind<'a> {
    input: &'a [u8],
    line_len: usize,
    /// The longest request that the connection can keep.
    room: usize,
}

/// The end of a value.
const VALUE_END: &[u8] = b"\r\n";

impl<'a> Behind<'a> {
    /// The value of this length behind the line.
    #[inline]
    pub(crate) fn value(&self, len: usize) -> Value<'a> {
        let behind = &self.input[self.line_len..];
        let whole = len + VALUE_END.len();
        if behind.len() < whole {
            return Value::Needs(self.line_len + whole);
        }
        let (value, end) = behind.split_at(len);
        if end.starts_with(VALUE_END) { Value::Whole(value) } else { Value::Damaged }
    }

    /// Whether a request with a value of this length can be kept until all of it has arrived.
    pub(crate) fn has_room(&self, len: usize) -> bool {
        self.line_len + len + VALUE_END.len() <= self.room
    }
}

/// The bytes of a value with its end.
pub(crate) fn with_end(len: usize) -> usize {
    len + VALUE_END.len()
}
