//! The parts of answers: heads of lines, values that are skipped, and containers.

use super::super::StopReason;
use super::super::line::{Lines, Next};
use super::exchange::Exchange;
use crate::recorder::Recorder;

/// The longest line that is held. Of a longer one, the beginning is read.
const MAX_LINE_BYTES: usize = 128;

/// The deepest nesting that is followed.
const MAX_LEVELS: usize = 128;

/// The beginning of a value that is read where it may be the name of a message.
const NAME_LEN: usize = 16;

/// A part of an answer that contains no others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// A text, without its end.
    Simple(&'a [u8]),
    Error,
    /// An integer, and the number of its digits.
    Integer(i64, usize),
    /// A value of this length.
    Bulk(u64),
    Nil,
    /// Anything else: a floating-point number, or a container that has closed.
    Any,
}

/// A container of other parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Container {
    Array,
    Push,
    /// A set or a map.
    Other,
    /// Facts about the part behind it, which is the answer.
    Attribute,
}

/// The answers of a connection, as their parts arrive.
#[derive(Debug, Default)]
pub(super) struct Replies {
    lines: Lines,
    levels: Vec<Level>,
    /// Levels that are attributes.
    n_attributes: usize,
    /// The value that passes.
    bulk: Option<Bulk>,
}

#[derive(Debug)]
struct Level {
    container: Container,
    /// Parts that are still to come.
    left: u64,
}

#[derive(Debug)]
struct Bulk {
    len: u64,
    /// Bytes that are still to come, its end included.
    left: u64,
    is_error: bool,
    name: [u8; NAME_LEN],
}

impl Replies {
    #[inline]
    pub(super) fn take(
        &mut self,
        mut input: &[u8],
        at: u64,
        exchange: &mut Exchange,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        let mut lines = std::mem::take(&mut self.lines);
        while !input.is_empty() {
            if self.bulk.is_some() {
                self.pass(&mut input, exchange, recorder)?;
                continue;
            }
            if lines.pass_rest(&mut input) {
                continue;
            }
            if self.levels.is_empty() && !lines.is_within() {
                exchange.answers.begin(at);
            }
            match lines.next(&mut input, MAX_LINE_BYTES) {
                Next::Line(line) => self.head(line, exchange, recorder)?,
                Next::Wait => {}
                Next::TooLong => {
                    let beginning = lines.take_beginning();
                    if !matches!(beginning.first(), Some(b'+' | b'-' | b'(' | b',')) {
                        return Err(StopReason::Answer("a long line that is no text"));
                    }
                    self.head(&beginning, exchange, recorder)?;
                }
            }
        }
        self.lines = lines;
        Ok(())
    }

    /// Takes the first line of a part.
    #[inline]
    fn head(
        &mut self,
        line: &[u8],
        exchange: &mut Exchange,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        const WRONG: StopReason = StopReason::Answer("what is no answer of Redis");
        let (kind, rest) = line.split_first().ok_or(WRONG)?;
        let len = || integer(rest).ok_or(WRONG);
        match kind {
            b'+' => self.part(Part::Simple(rest), b"", exchange, recorder),
            b'-' => self.part(Part::Error, b"", exchange, recorder),
            b':' => self.part(Part::Integer(len()?, rest.len()), b"", exchange, recorder),
            b'_' => self.part(Part::Nil, b"", exchange, recorder),
            b',' | b'#' | b'(' => self.part(Part::Any, b"", exchange, recorder),
            b'$' | b'=' | b'!' => match u64::try_from(len()?) {
                Ok(len) => {
                    let left = len.checked_add(2).ok_or(WRONG)?;
                    let is_error = *kind == b'!';
                    self.bulk = Some(Bulk { len, left, is_error, name: [0; NAME_LEN] });
                    if self.levels.is_empty() { exchange.enter(None, recorder) } else { Ok(()) }
                }
                Err(_) => self.part(Part::Nil, b"", exchange, recorder),
            },
            b'*' | b'~' | b'>' | b'%' | b'|' => match u64::try_from(len()?) {
                Ok(len) => self.open(*kind, len, exchange, recorder),
                Err(_) => self.part(Part::Nil, b"", exchange, recorder),
            },
            _ => Err(WRONG),
        }
    }

    /// Opens a container of `len` parts, or of as many pairs.
    fn open(
        &mut self,
        kind: u8,
        len: u64,
        exchange: &mut Exchange,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        let container = match kind {
            b'*' => Container::Array,
            b'>' => Container::Push,
            b'|' => Container::Attribute,
            _ => Container::Other,
        };
        let is_of_pairs = matches!(kind, b'%' | b'|');
        let left = if is_of_pairs { len.saturating_mul(2) } else { len };
        if self.levels.len() == MAX_LEVELS {
            return Err(StopReason::Answer("an answer within answers, too deep"));
        }
        if container == Container::Attribute {
            self.n_attributes += 1;
        } else if self.n_attributes == 0 {
            exchange.open(self.levels.len(), container, left, recorder)?;
        }
        self.levels.push(Level { container, left });
        if left == 0 { self.close(exchange, recorder) } else { Ok(()) }
    }

    /// Skips the bytes of a value.
    #[inline]
    fn pass(
        &mut self,
        input: &mut &[u8],
        exchange: &mut Exchange,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        let Some(bulk) = &mut self.bulk else { return Ok(()) };
        let n = usize::try_from(bulk.left).map_or(input.len(), |left| left.min(input.len()));
        if bulk.len <= NAME_LEN as u64 {
            let whole = bulk.len + 2;
            let begin = usize::try_from(whole - bulk.left).unwrap_or(NAME_LEN);
            for (place, byte) in bulk.name.iter_mut().skip(begin).zip(&input[..n]) {
                *place = *byte;
            }
        }
        *input = &input[n..];
        bulk.left -= n as u64;
        if bulk.left > 0 {
            return Ok(());
        }
        let Some(Bulk { len, is_error, name, .. }) = self.bulk.take() else { return Ok(()) };
        let part = if is_error { Part::Error } else { Part::Bulk(len) };
        let name = usize::try_from(len).ok().and_then(|len| name.get(..len)).unwrap_or_default();
        self.part(part, name, exchange, recorder)
    }

    /// Takes a part that contains no others. `name` is its text, if it is a short value.
    #[inline]
    fn part(
        &mut self,
        part: Part<'_>,
        name: &[u8],
        exchange: &mut Exchange,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        if self.n_attributes == 0 {
            exchange.part(self.levels.len(), part, name, recorder)?;
        }
        self.count(exchange, recorder)
    }

    /// Counts a part of its container.
    #[inline]
    fn count(
        &mut self,
        exchange: &mut Exchange,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        let Some(level) = self.levels.last_mut() else { return Ok(()) };
        level.left -= 1;
        if level.left == 0 { self.close(exchange, recorder) } else { Ok(()) }
    }

    /// Closes a container that has its last part, and its own container if that is complete too.
    fn close(
        &mut self,
        exchange: &mut Exchange,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        while let Some(level) = self.levels.pop() {
            if level.container == Container::Attribute {
                // The part that it belongs to follows.
                self.n_attributes -= 1;
                return Ok(());
            }
            if self.n_attributes == 0 {
                exchange.close(self.levels.len(), recorder)?;
            }
            match self.levels.last_mut() {
                Some(outer) => {
                    outer.left -= 1;
                    if outer.left > 0 {
                        return Ok(());
                    }
                }
                None => return Ok(()),
            }
        }
        Ok(())
    }
}

/// An integer, whose sign may be a plus.
fn integer(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
