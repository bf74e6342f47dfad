//! The text and meta protocols: the requests of an application.

use larder_protocol::key::MAX_KEY_LEN;
use larder_protocol::request::{Fault, MAX_SHORT_LINE};
use larder_protocol::storage::StorageMode;
use larder_protocol::text::get::parse_single;
use larder_protocol::{meta, text};
use larder_workload::trace::{Outcome, Verb};

use super::super::Lost;
use super::super::line::{Lines, Next};
use super::super::queue::{Asked, Queue};
use super::answer::Answers;
use super::ttl_s;
use crate::batch::NONE;
use crate::desk::{Desk, OfRequest};

/// The most quiet requests that wait for the answer to another request. Of one before so many others, silence is the answer.
pub(super) const MOST_QUIET: usize = 1 << 16;

const TOO_LONG: Lost = Lost::Request("a line of more than 8192 bytes");

/// A connection with the text protocol.
#[derive(Debug)]
pub(super) struct Text {
    lines: Lines,
    pub(super) talk: Talk,
    answers: Answers,
}

/// What both directions of a connection change.
#[derive(Debug)]
pub(super) struct Talk {
    pub(super) queue: Queue<What>,
    connection: u32,
    /// Bytes of a value, and of the end behind it, that are still to come.
    value_left: u64,
    /// The last request is not whole yet.
    is_arriving: bool,
    /// The line of a get for many keys is taken word by word.
    is_within_keys: bool,
}

/// A request, as far as its answer needs it.
#[derive(Debug, Clone, Copy)]
pub(super) struct What {
    pub(super) kind: Kind,
    pub(super) silence: Silence,
    pub(super) tag: Tag,
}

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Get,
    Store,
    Delete,
    Touch,
    Count,
    MetaGet,
    MetaStore,
    MetaDelete,
    MetaCount,
    MetaNoop,
    MetaDebug,
    /// One line of any words.
    Line,
    /// Lines up to one that ends them.
    Lines,
    /// A line that tells an error.
    Fault,
}

/// The meaning of an answer that does not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Silence {
    /// There is an answer in any case.
    Never,
    /// The client wants no answer: what came of it is not known.
    Wanted,
    /// The most likely answer, which is left out.
    Means(Option<Outcome>),
}

/// The mark by which an answer names its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    None,
    /// The hash of an opaque word.
    Opaque(u64),
    /// The hash of the key as the request has it.
    Key(u64),
}

impl What {
    fn of(kind: Kind, is_quiet: bool) -> Self {
        let silence = if is_quiet { Silence::Wanted } else { Silence::Never };
        Self { kind, silence, tag: Tag::None }
    }
}

/// What is noted of a request beside its keys.
#[derive(Debug, Clone, Copy)]
pub(super) struct Noted {
    pub(super) verb: Verb,
    pub(super) ttl_s: u32,
    pub(super) amount: u64,
}

impl Noted {
    pub(super) fn of(verb: Verb) -> Self {
        Self { verb, ttl_s: NONE, amount: 0 }
    }

    /// A value that is stored at this time. What joins another one leaves the TTL of the entry.
    pub(super) fn storing(mode: StorageMode, end: i64, at: u64) -> Self {
        let ttl_s = if joins(mode) { NONE } else { ttl_s(end, at) };
        Self { ttl_s, ..Self::of(verb_of(mode)) }
    }

    /// The facts of a request of this connection, which came at this time.
    pub(super) fn of_request(&self, connection: u32, came_ns: u64, desk: &mut Desk) -> OfRequest {
        let Self { ttl_s, amount, .. } = *self;
        OfRequest { number: desk.number(), connection, came_ns, ttl_s, amount }
    }
}

impl Text {
    pub(super) fn new(connection: u32) -> Self {
        let talk = Talk {
            queue: Queue::default(),
            connection,
            value_left: 0,
            is_arriving: false,
            is_within_keys: false,
        };
        Self { lines: Lines::default(), talk, answers: Answers::default() }
    }

    #[inline]
    pub(super) fn requests(
        &mut self,
        mut input: &[u8],
        at: u64,
        desk: &mut Desk,
    ) -> Result<(), Lost> {
        // The first of so many requests ends when another one comes: it must be the right one.
        if self.answers.is_in_doubt() && self.talk.queue.len() >= MOST_QUIET / 2 {
            self.answers.decide(&mut self.talk, desk)?;
        }
        while !input.is_empty() {
            if self.talk.value_left > 0 {
                self.talk.skip(&mut input, at, desk);
            } else if self.talk.is_within_keys {
                self.more_keys(&mut input, at, desk)?;
            } else if !self.lines.is_within()
                && let Some((key, len)) = parse_single(input)
            {
                self.talk.ask(What::of(Kind::Get, false), Noted::of(Verb::Get), at, desk)?;
                self.talk.push_key(key, desk)?;
                input = &input[len..];
            } else {
                match self.lines.next(&mut input, MAX_SHORT_LINE) {
                    Next::Line(line) => self.talk.request(line, at, desk)?,
                    Next::Wait => {}
                    Next::TooLong => self.begin_keys(at, desk)?,
                }
            }
        }
        Ok(())
    }

    /// Begins a get whose line is longer than is held. Its words are taken one by one.
    fn begin_keys(&mut self, at: u64, desk: &mut Desk) -> Result<(), Lost> {
        let held = self.lines.held();
        if !reads(held) {
            return Err(TOO_LONG);
        }
        let end = held.iter().rposition(|byte| *byte == b' ').ok_or(TOO_LONG)?;
        self.talk.request(&held[..end], at, desk)?;
        held.drain(..=end);
        // A wrong line is answered by an error wherever it ends.
        self.talk.is_within_keys = true;
        self.talk.is_arriving = true;
        Ok(())
    }

    /// Takes the words of such a line, as far as they have arrived.
    fn more_keys(&mut self, input: &mut &[u8], at: u64, desk: &mut Desk) -> Result<(), Lost> {
        let held = self.lines.held();
        while let Some((byte, rest)) = input.split_first() {
            *input = rest;
            if !matches!(byte, b' ' | b'\n') {
                held.push(*byte);
                if held.len() > MAX_SHORT_LINE {
                    return Err(Lost::Request("a key of more than 8192 bytes"));
                }
                continue;
            }
            let word = held.strip_suffix(b"\r").unwrap_or(held);
            if !word.is_empty() {
                self.talk.push_key(word, desk)?;
            }
            held.clear();
            if *byte == b'\n' {
                self.talk.is_within_keys = false;
                self.talk.complete(at, desk);
                return Ok(());
            }
        }
        Ok(())
    }

    #[inline]
    pub(super) fn answers(&mut self, input: &[u8], at: u64, desk: &mut Desk) -> Result<(), Lost> {
        self.answers.take(input, at, &mut self.talk, desk)
    }

    pub(super) fn is_quiet(&self) -> bool {
        let is_whole = self.talk.value_left == 0 && !self.lines.is_within();
        is_whole && self.answers.may_be_over(&self.talk)
    }

    pub(super) fn end(mut self, is_lost: bool, desk: &mut Desk) {
        if is_lost {
            self.answers.forget(desk);
        } else {
            // Lines that are held fit their requests: there is no error to tell.
            let _ = self.answers.decide(&mut self.talk, desk);
        }
        // Silence means what it says where nothing else waits for its answer: the server has heard all.
        let queue = &mut self.talk.queue;
        let is_cut = self.talk.is_arriving || queue.next_loud(0) < queue.len();
        while !is_lost && let Some(first) = queue.first() {
            match first.what.silence {
                Silence::Wanted => queue.finish_alike(None, None, desk),
                Silence::Means(result) if !is_cut => queue.finish_alike(result, None, desk),
                Silence::Means(_) | Silence::Never => queue.finish_unanswered(desk),
            }
        }
        self.talk.queue.forget(desk);
    }
}

impl Talk {
    /// Notes a request without its keys.
    #[inline]
    pub(super) fn ask(
        &mut self,
        what: What,
        noted: Noted,
        at: u64,
        desk: &mut Desk,
    ) -> Result<(), Lost> {
        if self.queue.len() >= MOST_QUIET
            && let Some(Silence::Means(result)) = self.queue.first().map(|it| it.what.silence)
        {
            self.finish(result, None, desk);
        }
        let of_request = noted.of_request(self.connection, at, desk);
        self.queue.push(Asked { what, verb: noted.verb, of_request, n_keys: 0 }, desk)?;
        if what.silence == Silence::Never {
            self.queue.must_answer_last(desk)?;
        }
        Ok(())
    }

    /// Adds a key to the request. A key that is too long is answered by an error, and is none of a cache's.
    #[inline]
    pub(super) fn push_key(&mut self, key: &[u8], desk: &mut Desk) -> Result<(), Lost> {
        if key.len() > MAX_KEY_LEN { Ok(()) } else { self.queue.push_key(key, desk) }
    }

    /// Lets a value of this length, and the end of its line, pass.
    pub(super) fn expect_value(&mut self, len: usize) {
        self.value_left = len as u64 + 2;
        self.is_arriving = true;
        if let Some(key) = self.queue.last_key() {
            key.value_size = u32::try_from(len).unwrap_or(NONE);
        }
    }

    #[inline]
    fn skip(&mut self, input: &mut &[u8], at: u64, desk: &mut Desk) {
        let n = usize::try_from(self.value_left).map_or(input.len(), |left| left.min(input.len()));
        *input = &input[n..];
        self.value_left -= n as u64;
        if self.value_left == 0 {
            self.complete(at, desk);
        }
    }

    /// The last byte of a request with a value has come.
    #[inline]
    fn complete(&mut self, at: u64, desk: &mut Desk) {
        // An error may have been its answer before it was whole.
        if std::mem::take(&mut self.is_arriving)
            && let Some(last) = self.queue.last()
        {
            last.of_request.came_ns = at;
        }
        self.settle(desk);
    }

    /// Ends the requests in front that want no answer.
    #[inline]
    pub(super) fn settle(&mut self, desk: &mut Desk) {
        while let Some(first) = self.queue.first()
            && first.what.silence == Silence::Wanted
            && !(self.is_arriving && self.queue.len() == 1)
        {
            self.queue.finish_alike(None, None, desk);
        }
    }

    /// Ends the first request with this result.
    #[inline]
    pub(super) fn finish(&mut self, result: Option<Outcome>, at: Option<u64>, desk: &mut Desk) {
        if self.queue.len() == 1 {
            self.is_arriving = false;
        }
        self.queue.finish_alike(result, at, desk);
    }

    /// Ends so many requests in front, which have left out their answers.
    #[inline]
    pub(super) fn leave_out(&mut self, n: usize, desk: &mut Desk) -> Result<(), Lost> {
        let until = self.queue.len().saturating_sub(n);
        while self.queue.len() > until {
            match self.queue.first().map(|first| first.what.silence) {
                Some(Silence::Means(result)) => self.finish(result, None, desk),
                Some(Silence::Wanted) => self.finish(None, None, desk),
                Some(Silence::Never) | None => {
                    return Err(Lost::Answer("no answer to what was asked"));
                }
            }
        }
        Ok(())
    }

    /// Takes the line of a request.
    fn request(&mut self, line: &[u8], at: u64, desk: &mut Desk) -> Result<(), Lost> {
        if line.len() > MAX_SHORT_LINE && !reads(line) {
            return Err(TOO_LONG);
        }
        if line.first() == Some(&b'm') {
            match meta::parse_request(line) {
                Ok(Some(command)) => return self.meta(&command, at, desk),
                Ok(None) => {}
                Err(_) => return self.other(Kind::Fault, false, at, desk),
            }
        }
        match text::parse_request(line) {
            Ok(request) => self.text(line, request, at, desk)?,
            Err(Fault::Http) => return Err(Lost::Request("a request of HTTP")),
            Err(Fault::Unknown) => self.unknown(line, at, desk)?,
            Err(_) => self.other(Kind::Fault, text::is_quiet(line), at, desk)?,
        }
        self.settle(desk);
        Ok(())
    }

    /// A request that is no operation on a key.
    pub(super) fn other(
        &mut self,
        kind: Kind,
        is_quiet: bool,
        at: u64,
        desk: &mut Desk,
    ) -> Result<(), Lost> {
        desk.counts.others += 1;
        self.ask(What::of(kind, is_quiet), Noted::of(Verb::Get), at, desk)
    }

    fn text(
        &mut self,
        line: &[u8],
        request: text::Request<'_>,
        at: u64,
        desk: &mut Desk,
    ) -> Result<(), Lost> {
        match request {
            text::Request::Get(get) => {
                let noted = match get.exptime {
                    None => Noted::of(Verb::Get),
                    Some(end) => Noted { ttl_s: ttl_s(end, at), ..Noted::of(Verb::Gat) },
                };
                self.ask(What::of(Kind::Get, false), noted, at, desk)?;
                for key in get.keys {
                    self.push_key(key, desk)?;
                }
            }
            text::Request::Set(set) => {
                let noted = Noted::storing(set.header.mode, set.header.exptime, at);
                self.ask(What::of(Kind::Store, set.is_quiet), noted, at, desk)?;
                self.push_key(set.header.key, desk)?;
                self.expect_value(set.header.len);
            }
            text::Request::Delete(delete) => {
                let what = What::of(Kind::Delete, delete.is_quiet);
                self.ask(what, Noted::of(Verb::Delete), at, desk)?;
                self.push_key(delete.key, desk)?;
            }
            text::Request::Incr(incr) => {
                let verb = if incr.is_down { Verb::Decr } else { Verb::Incr };
                let noted = Noted { amount: incr.delta, ..Noted::of(verb) };
                self.ask(What::of(Kind::Count, incr.is_quiet), noted, at, desk)?;
                self.push_key(incr.key, desk)?;
            }
            text::Request::Touch(touch) => {
                let noted = Noted { ttl_s: ttl_s(touch.exptime, at), ..Noted::of(Verb::Touch) };
                self.ask(What::of(Kind::Touch, touch.is_quiet), noted, at, desk)?;
                self.push_key(touch.key, desk)?;
            }
            text::Request::Stats(_) => self.other(Kind::Lines, false, at, desk)?,
            // The server ends the connection.
            text::Request::Quit => desk.counts.others += 1,
            text::Request::FlushAll(_)
            | text::Request::Verbosity(_)
            | text::Request::Version
            | text::Request::Shutdown(_) => {
                self.other(Kind::Line, text::is_quiet(line), at, desk)?;
            }
        }
        Ok(())
    }

    /// Commands of memcached that `larder serve` does not have, and words that are no command.
    fn unknown(&mut self, line: &[u8], at: u64, desk: &mut Desk) -> Result<(), Lost> {
        let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
        let kind = match (words.next(), words.next()) {
            (Some(b"watch"), _) => return Err(Lost::OtherUse("a watcher of the server's log")),
            (Some(b"lru_crawler"), Some(b"metadump" | b"mgdump")) => Kind::Lines,
            (Some(b"config"), Some(b"get")) => Kind::Lines,
            _ => Kind::Line,
        };
        self.other(kind, text::is_quiet(line), at, desk)
    }
}

/// Whether a line may have thousands of keys.
fn reads(line: &[u8]) -> bool {
    line.starts_with(b"get") || line.starts_with(b"gat")
}

pub(super) fn joins(mode: StorageMode) -> bool {
    matches!(mode, StorageMode::Append | StorageMode::Prepend)
}

pub(super) fn verb_of(mode: StorageMode) -> Verb {
    match mode {
        StorageMode::Set => Verb::Set,
        StorageMode::Add => Verb::Add,
        StorageMode::Replace => Verb::Replace,
        StorageMode::Append => Verb::Append,
        StorageMode::Prepend => Verb::Prepend,
        StorageMode::Cas(_) => Verb::Cas,
    }
}
