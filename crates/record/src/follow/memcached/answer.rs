//! The text and meta protocols: the answers of a server.

use larder_workload::trace::{Outcome, Verb};

use super::super::Lost;
use super::super::line::{Lines, Next};
use super::text::{Kind, Silence, Tag, Talk, What};
use crate::batch::NONE;
use crate::desk::Desk;

/// The longest line of an answer that means something: a header with a key of 250 bytes, or its base 64, and an opaque word.
const MOST_LINE: usize = 2048;

/// The answers of a connection.
#[derive(Debug, Default)]
pub(super) struct Answers {
    lines: Lines,
    /// The time at which the first byte of the present line went to the application.
    line_began: u64,
    /// The same of the answer that the line belongs to, once its first line is over.
    began: Option<u64>,
    /// Bytes of a value, and of the end behind it, that are still to come.
    value_left: u64,
    /// The place of the next key of a get.
    next_key: usize,
    /// Values of a get that come in another order than its keys: hashes of their keys, and their lengths.
    strays: Vec<(u64, u32)>,
}

/// The meaning of a line for the first request.
enum Fit {
    /// The line answers another request.
    No,
    /// The answer goes on.
    More,
    /// The answer ends, with this result.
    Done(Option<Outcome>),
    /// A value of this length follows, which ends the answer with this result.
    Value(u64, Option<Outcome>),
    /// The answer to a get ends.
    End,
}

impl Answers {
    #[inline]
    pub(super) fn take(
        &mut self,
        mut input: &[u8],
        at: u64,
        talk: &mut Talk,
        desk: &mut Desk,
    ) -> Result<(), Lost> {
        let mut lines = std::mem::take(&mut self.lines);
        while !input.is_empty() {
            if self.value_left > 0 {
                let left = usize::try_from(self.value_left).unwrap_or(usize::MAX);
                let n = left.min(input.len());
                input = &input[n..];
                self.value_left -= n as u64;
                continue;
            }
            if lines.pass_rest(&mut input) {
                continue;
            }
            if !lines.is_within() {
                self.line_began = at;
            }
            match lines.next(&mut input, MOST_LINE) {
                Next::Line(line) => self.line(line, talk, desk)?,
                Next::Wait => {}
                Next::TooLong => {
                    let beginning = lines.take_beginning();
                    self.line(&beginning, talk, desk)?;
                }
            }
        }
        self.lines = lines;
        Ok(())
    }

    /// Finds the request that a line answers.
    #[inline]
    fn line(&mut self, line: &[u8], talk: &mut Talk, desk: &mut Desk) -> Result<(), Lost> {
        let is_error = is_error(line);
        loop {
            let Some(first) = talk.queue.first() else {
                // A server that is full says so to nobody, and so does one that refuses a request without an answer.
                return if is_error { Ok(()) } else { Err(Lost::Answer("what nobody asked for")) };
            };
            let what = first.what;
            let fit = if is_error && what.silence == Silence::Wanted && is_followed(talk) {
                Fit::No
            } else if is_error {
                Fit::Done(Some(Outcome::Error))
            } else {
                self.fit(what, line, talk, desk)?
            };
            let began = self.began.unwrap_or(self.line_began);
            match fit {
                Fit::More => {
                    self.began = Some(began);
                    return Ok(());
                }
                Fit::Done(result) => {
                    self.finish(talk, result, began, desk);
                    return Ok(());
                }
                Fit::Value(len, result) => {
                    self.value_left = len + 2;
                    self.finish(talk, result, began, desk);
                    return Ok(());
                }
                Fit::End => {
                    self.settle_strays(talk)?;
                    talk.queue.finish_noted(Some(began), desk);
                    self.reset();
                    talk.settle(desk);
                    return Ok(());
                }
                Fit::No => match what.silence {
                    Silence::Never => return Err(Lost::Answer("no answer to what was asked")),
                    Silence::Wanted => talk.finish(None, None, desk),
                    Silence::Means(result) => talk.finish(result, None, desk),
                },
            }
        }
    }

    fn finish(&mut self, talk: &mut Talk, result: Option<Outcome>, began: u64, desk: &mut Desk) {
        talk.finish(result, Some(began), desk);
        self.reset();
        talk.settle(desk);
    }

    fn reset(&mut self) {
        self.began = None;
        self.next_key = 0;
        self.strays = Vec::new();
    }

    /// What a line that tells no error means for a request, which is the first one.
    #[inline]
    fn fit(&mut self, what: What, line: &[u8], talk: &mut Talk, desk: &Desk) -> Result<Fit, Lost> {
        let done = |result| Ok(Fit::Done(Some(result)));
        match what.kind {
            Kind::Get => match line {
                b"END" => Ok(Fit::End),
                _ => match line.strip_prefix(b"VALUE ") {
                    Some(header) => self.value(header, talk, desk).map(|()| Fit::More),
                    None => Ok(Fit::No),
                },
            },
            Kind::Store => match line {
                b"STORED" => done(Outcome::Stored),
                b"NOT_STORED" => done(Outcome::NotStored),
                b"EXISTS" => done(Outcome::Exists),
                b"NOT_FOUND" => done(Outcome::NotFound),
                _ => Ok(Fit::No),
            },
            Kind::Delete => match line {
                b"DELETED" => done(Outcome::Deleted),
                b"NOT_FOUND" => done(Outcome::NotFound),
                _ => Ok(Fit::No),
            },
            Kind::Touch => match line {
                b"TOUCHED" => done(Outcome::Touched),
                b"NOT_FOUND" => done(Outcome::NotFound),
                _ => Ok(Fit::No),
            },
            Kind::Count if line == b"NOT_FOUND" => done(Outcome::NotFound),
            Kind::Count => {
                if line.is_empty() || !line.iter().all(u8::is_ascii_digit) {
                    return Ok(Fit::No);
                }
                note_size(talk, line.len());
                done(Outcome::Stored)
            }
            Kind::Line => Ok(Fit::Done(None)),
            Kind::Lines if ends_lines(line) => Ok(Fit::Done(None)),
            Kind::Lines => Ok(Fit::More),
            Kind::Fault => Ok(Fit::No),
            Kind::MetaNoop if line == b"MN" => Ok(Fit::Done(None)),
            Kind::MetaDebug if line.starts_with(b"ME ") || line == b"EN" => Ok(Fit::Done(None)),
            Kind::MetaNoop | Kind::MetaDebug => Ok(Fit::No),
            Kind::MetaGet | Kind::MetaStore | Kind::MetaDelete | Kind::MetaCount => {
                meta(what, line, talk, desk)
            }
        }
    }

    /// Notes the value of a get. Values come in the order of the keys, but those of a proxy before many servers may not.
    #[inline]
    fn value(&mut self, header: &[u8], talk: &mut Talk, desk: &Desk) -> Result<(), Lost> {
        const WRONG: Lost = Lost::Answer("a value without its length");
        let mut words = header.split(|byte| *byte == b' ');
        let key = words.next().ok_or(WRONG)?;
        let len = words.nth(1).and_then(number).ok_or(WRONG)?;
        self.value_left = len + 2;
        let (hash, size) = (desk.keys.hash(key), u32::try_from(len).unwrap_or(NONE));
        if self.strays.is_empty() {
            let mut place = self.next_key;
            while let Some(key) = talk.queue.key(place) {
                place += 1;
                if key.hash == hash {
                    (key.result, key.value_size) = (Some(Outcome::Hit), size);
                    self.next_key = place;
                    return Ok(());
                }
            }
        }
        let n_keys = talk.queue.first().map_or(0, |first| first.n_keys);
        if self.strays.len() >= n_keys {
            return Err(Lost::Answer("a value that nobody asked for"));
        }
        self.strays.push((hash, size));
        Ok(())
    }

    /// Finds the keys of values that came in another order, and gives all other keys a miss.
    #[inline]
    fn settle_strays(&mut self, talk: &mut Talk) -> Result<(), Lost> {
        if !self.strays.is_empty() {
            self.find_strays(talk)?;
        }
        let mut place = 0;
        while let Some(key) = talk.queue.key(place) {
            key.result.get_or_insert(Outcome::Miss);
            place += 1;
        }
        Ok(())
    }

    #[cold]
    fn find_strays(&mut self, talk: &mut Talk) -> Result<(), Lost> {
        let mut left = Vec::new();
        let mut place = 0;
        while let Some(key) = talk.queue.key(place) {
            if key.result.is_none() {
                left.push((key.hash, place));
            }
            place += 1;
        }
        left.sort_unstable();
        self.strays.sort_unstable();
        let mut left = left.into_iter();
        for (hash, size) in &self.strays {
            let found = left.find(|(key, _)| key == hash);
            let key = found.and_then(|(_, place)| talk.queue.key(place));
            let key = key.ok_or(Lost::Answer("a value that nobody asked for"))?;
            (key.result, key.value_size) = (Some(Outcome::Hit), *size);
        }
        Ok(())
    }
}

/// Whether a request that has an answer stands behind the first one.
#[cold]
fn is_followed(talk: &Talk) -> bool {
    talk.queue.iter().any(|asked| asked.what.silence != Silence::Wanted)
}

/// Whether a request behind the first one may be answered that its key does not exist.
#[cold]
fn another_takes_not_found(talk: &Talk) -> bool {
    let mut others = talk.queue.iter().skip(1).filter(|it| it.what.silence == Silence::Never);
    others.any(|it| matches!(it.what.kind, Kind::MetaStore | Kind::MetaDelete | Kind::MetaCount))
}

/// What a line of the meta protocol means for a request.
fn meta(what: What, line: &[u8], talk: &mut Talk, desk: &Desk) -> Result<Fit, Lost> {
    const WRONG: Lost = Lost::Answer("a value without its length");
    let mut words = line.split(|byte| *byte == b' ');
    let code = words.next().unwrap_or_default();
    let len = if code == b"VA" { Some(words.next().and_then(number).ok_or(WRONG)?) } else { None };
    let facts = Facts::of(words);
    let is_set = talk.queue.first().is_some_and(|first| first.verb == Verb::Set);
    let is_its_own = match what.tag {
        Tag::None => true,
        Tag::Opaque(hash) => facts.opaque.is_some_and(|word| desk.keys.hash(word) == hash),
        Tag::Key(hash) => facts.key.is_some_and(|word| desk.keys.hash(word) == hash),
    };
    let result = match (what.kind, code) {
        (Kind::MetaGet, b"VA" | b"HD") if facts.is_lease(len.unwrap_or(1)) => Outcome::Miss,
        (Kind::MetaGet, b"VA" | b"HD") => Outcome::Hit,
        (Kind::MetaGet, b"EN") => Outcome::Miss,
        (Kind::MetaStore | Kind::MetaCount, b"HD") => Outcome::Stored,
        (Kind::MetaCount, b"VA") => Outcome::Stored,
        (Kind::MetaDelete, b"HD") => Outcome::Deleted,
        // A plain set has no condition that could fail.
        (Kind::MetaStore, b"NS") if is_set => return Ok(Fit::No),
        (Kind::MetaStore | Kind::MetaCount, b"NS") => Outcome::NotStored,
        (Kind::MetaStore | Kind::MetaCount | Kind::MetaDelete, b"EX") => Outcome::Exists,
        (Kind::MetaStore | Kind::MetaCount | Kind::MetaDelete, b"NF") => Outcome::NotFound,
        _ => return Ok(Fit::No),
    };
    // The answer that a quiet request leaves out belongs to another one.
    let is_left_out = what.silence != Silence::Never
        && match what.kind {
            Kind::MetaGet => code == b"EN",
            Kind::MetaStore => code == b"HD",
            // memcached leaves out NF from some version on. Before, it is the quiet request's where no other takes it.
            _ => matches!(code, b"HD" | b"VA") || code == b"NF" && another_takes_not_found(talk),
        };
    if !is_its_own || is_left_out {
        return Ok(Fit::No);
    }
    if matches!(what.kind, Kind::MetaGet | Kind::MetaCount)
        && let Some(size) = len.or(facts.size)
        && result != Outcome::Miss
    {
        note_size(talk, usize::try_from(size).unwrap_or(usize::MAX));
    }
    Ok(match len {
        Some(len) => Fit::Value(len, Some(result)),
        None => Fit::Done(Some(result)),
    })
}

/// The flags of an answer that are followed.
#[derive(Default)]
struct Facts<'a> {
    opaque: Option<&'a [u8]>,
    key: Option<&'a [u8]>,
    size: Option<u64>,
    /// The client is told to load the value, or another client was.
    is_claimed: bool,
    is_stale: bool,
}

impl<'a> Facts<'a> {
    fn of(words: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut facts = Self::default();
        for word in words {
            match word.split_first() {
                Some((b'O', rest)) => facts.opaque = Some(rest),
                Some((b'k', rest)) => facts.key = Some(rest),
                Some((b's', rest)) => facts.size = number(rest),
                Some((b'W' | b'Z', _)) => facts.is_claimed = true,
                Some((b'X', _)) => facts.is_stale = true,
                _ => {}
            }
        }
        facts
    }

    /// Whether the entry has no value yet, because somebody is about to load it.
    fn is_lease(&self, len: u64) -> bool {
        len == 0 && self.is_claimed && !self.is_stale
    }
}

fn note_size(talk: &mut Talk, size: usize) {
    if let Some(key) = talk.queue.key(0) {
        key.value_size = u32::try_from(size).unwrap_or(NONE);
    }
}

fn is_error(line: &[u8]) -> bool {
    line.starts_with(b"ERROR")
        || line.starts_with(b"SERVER_ERROR")
        || line.starts_with(b"CLIENT_ERROR")
}

/// Whether this is the last line of statistics, or of a list of entries.
fn ends_lines(line: &[u8]) -> bool {
    matches!(line, b"END" | b"EN" | b"OK" | b"RESET") || line.starts_with(b"BUSY")
}

/// A decimal number of at most ten digits.
#[inline]
fn number(word: &[u8]) -> Option<u64> {
    if word.is_empty() || word.len() > 10 {
        return None;
    }
    word.iter().try_fold(0_u64, |number, byte| {
        byte.is_ascii_digit().then(|| number * 10 + u64::from(byte - b'0'))
    })
}
