//! The lines of a server, and the requests that each may answer. The functions here are pure.

use larder_workload::trace::{Outcome, Verb};
use memchr::memchr;

use super::super::StopReason;
use super::super::queue::PendingRequest;
use super::request::{Expected, Kind, Silence, Tag};
use crate::keys::Keys;

/// The beginning of a line that announces the value of a get.
pub(super) const VALUE: &[u8] = b"VALUE ";

/// The error of a line that announces a value and has no length for it.
pub(super) const NO_LENGTH: StopReason = StopReason::Answer("a value without its length");

/// A line of an answer, read once for all requests that it may belong to.
#[derive(Debug)]
pub(super) struct Line<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) is_error: bool,
    meta: Option<Meta>,
}

/// A line of the meta protocol.
#[derive(Debug)]
struct Meta {
    code: [u8; 2],
    /// The length of the value that follows.
    len: Option<u64>,
    facts: Facts,
}

/// The meaning of a line for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// The line answers another request.
    No,
    /// The answer goes on.
    More,
    /// The answer ends, with this result.
    Done(Option<Outcome>),
    /// The answer to a get ends.
    End,
}

impl<'a> Line<'a> {
    /// Reads a line.
    ///
    /// # Errors
    ///
    /// The line announces a value without its length.
    #[inline]
    pub(super) fn of(bytes: &'a [u8], keys: &Keys) -> Result<Self, StopReason> {
        Ok(Self { bytes, is_error: is_error(bytes), meta: Meta::of(bytes, keys)? })
    }

    /// Bytes that follow the line: a value and the end behind it.
    pub(super) fn n_following(&self) -> Result<u64, StopReason> {
        let len = match (&self.meta, self.bytes.strip_prefix(VALUE)) {
            (Some(meta), _) => meta.len,
            (None, Some(header)) => Some(key_and_len(header).ok_or(NO_LENGTH)?.1),
            (None, None) => None,
        };
        Ok(len.map_or(0, |len| len + 2))
    }

    /// The length of the value that follows a line of the meta protocol.
    #[inline]
    pub(super) fn value_len(&self) -> Option<u64> {
        self.meta.as_ref().and_then(|meta| meta.len)
    }

    /// The length of the value that a line of the meta protocol brings or reports.
    pub(super) fn size(&self) -> Option<u64> {
        self.meta.as_ref().and_then(|meta| meta.len.or(meta.facts.size))
    }

    /// The meaning of the line for a request that is the next one to be answered.
    #[inline]
    pub(super) fn fit(&self, request: &PendingRequest<Expected>) -> Fit {
        let Expected { kind, silence, tag } = request.expected;
        // A request that wants no answer gets an error at most, and that only where no other request may.
        if silence == Silence::Wanted {
            return Fit::No;
        }
        if self.is_error {
            let may_fail = self.may_be_error_of(kind, silence == Silence::Never);
            return if may_fail { Fit::Done(Some(Outcome::Error)) } else { Fit::No };
        }
        let result = match (kind, self.bytes) {
            (Kind::Get, b"END") => return Fit::End,
            (Kind::Get, line) if line.starts_with(VALUE) => return Fit::More,
            (Kind::Store, b"STORED") => Outcome::Stored,
            (Kind::Store, b"NOT_STORED") => Outcome::NotStored,
            (Kind::Store, b"EXISTS") => Outcome::Exists,
            (Kind::Delete, b"DELETED") => Outcome::Deleted,
            (Kind::Touch, b"TOUCHED") => Outcome::Touched,
            (Kind::Store | Kind::Delete | Kind::Touch | Kind::Count, b"NOT_FOUND") => {
                Outcome::NotFound
            }
            (Kind::Count, line) if is_number(line) => Outcome::Stored,
            (Kind::Lines, line) if !ends_lines(line) => return Fit::More,
            (Kind::Lines, _) => return Fit::Done(None),
            // An unknown command may be answered by any line that is not of the meta protocol.
            (Kind::Line, _) if self.meta.is_none() => return Fit::Done(None),
            (Kind::MetaNoop, b"MN") => return Fit::Done(None),
            (Kind::MetaDebug, line) if line.starts_with(b"ME ") || line == b"EN" => {
                return Fit::Done(None);
            }
            (Kind::MetaGet | Kind::MetaStore | Kind::MetaDelete | Kind::MetaCount, _) => {
                let meta = self.meta.as_ref().filter(|meta| meta.facts.has(tag));
                let result = meta.and_then(|meta| meta.result(kind, request.verb));
                return match result {
                    Some(result) if !self.is_left_out(kind, silence) => Fit::Done(Some(result)),
                    _ => Fit::No,
                };
            }
            _ => return Fit::No,
        };
        Fit::Done(Some(result))
    }

    /// Whether such a request may have caused this error.
    fn may_be_error_of(&self, kind: Kind, is_answered: bool) -> bool {
        match self.bytes.strip_prefix(b"CLIENT_ERROR ") {
            Some(b"bad data chunk") => {
                matches!(kind, Kind::Store | Kind::MetaStore | Kind::Fault | Kind::Line)
            }
            Some(error) if error.starts_with(b"cannot increment") => {
                matches!(kind, Kind::Count | Kind::MetaCount)
            }
            // Other client errors answer a request that was understood only if it expects an answer.
            Some(_) => is_answered || !matches!(kind, Kind::MetaGet | Kind::MetaDelete),
            None => true,
        }
    }

    /// Whether the line says that a command is unknown or wrong, though the request is one that every server with the meta
    /// protocol takes.
    pub(super) fn is_foreign_error(&self, kind: Kind) -> bool {
        let is_of_its_value =
            matches!(kind, Kind::Store | Kind::MetaStore | Kind::Count | Kind::MetaCount)
                && [&b"CLIENT_ERROR bad data"[..], b"CLIENT_ERROR cannot"]
                    .iter()
                    .any(|beginning| self.bytes.starts_with(beginning));
        self.is_error
            && !self.bytes.starts_with(b"SERVER")
            && !matches!(kind, Kind::Line | Kind::Lines | Kind::Fault)
            && !is_of_its_value
    }

    /// The hash of the key of a value that a get is answered by.
    pub(super) fn value_key(&self, keys: &Keys) -> Option<u64> {
        let key = self.bytes.strip_prefix(VALUE)?.split(|byte| *byte == b' ').next()?;
        Some(keys.hash(key))
    }

    /// Whether a quiet request leaves out this line. Newer servers leave out the `NF` of a delete and of a counter too.
    fn is_left_out(&self, kind: Kind, silence: Silence) -> bool {
        let code = self.meta.as_ref().map(|meta| &meta.code);
        silence != Silence::Never
            && match kind {
                Kind::MetaGet => code == Some(b"EN"),
                Kind::MetaStore => code == Some(b"HD"),
                _ => matches!(code, Some(b"HD" | b"VA")),
            }
    }
}

impl Meta {
    #[inline]
    fn of(line: &[u8], keys: &Keys) -> Result<Option<Self>, StopReason> {
        let (code, rest) = match line {
            [one, other] => ([*one, *other], &[][..]),
            [one, other, b' ', rest @ ..] => ([*one, *other], rest),
            _ => return Ok(None),
        };
        if !matches!(&code, b"HD" | b"VA" | b"EN" | b"NF" | b"NS" | b"EX" | b"MN" | b"ME") {
            return Ok(None);
        }
        let mut words = rest.split(|byte| *byte == b' ');
        let is_value = code == *b"VA";
        let len =
            if is_value { Some(words.next().and_then(number).ok_or(NO_LENGTH)?) } else { None };
        Ok(Some(Self { code, len, facts: Facts::of(words, keys) }))
    }

    /// The result that the line means for a request of this kind.
    fn result(&self, kind: Kind, verb: Verb) -> Option<Outcome> {
        Some(match (kind, &self.code) {
            (Kind::MetaGet, b"VA" | b"HD") if self.facts.is_lease(self.len.unwrap_or(1)) => {
                Outcome::Miss
            }
            (Kind::MetaGet, b"VA" | b"HD") => Outcome::Hit,
            (Kind::MetaGet, b"EN") => Outcome::Miss,
            (Kind::MetaStore | Kind::MetaCount, b"HD") => Outcome::Stored,
            (Kind::MetaCount, b"VA") => Outcome::Stored,
            (Kind::MetaDelete, b"HD") => Outcome::Deleted,
            // A plain set has no condition that could fail.
            (Kind::MetaStore, b"NS") if verb == Verb::Set => return None,
            (Kind::MetaStore | Kind::MetaCount, b"NS") => Outcome::NotStored,
            (Kind::MetaStore | Kind::MetaCount | Kind::MetaDelete, b"EX") => Outcome::Exists,
            (Kind::MetaStore | Kind::MetaCount | Kind::MetaDelete, b"NF") => Outcome::NotFound,
            _ => return None,
        })
    }
}

/// The flags of an answer that are followed.
#[derive(Debug, Default)]
struct Facts {
    /// The hash of the opaque word.
    opaque: Option<u64>,
    /// The hash of the key, as the answer has it.
    key: Option<u64>,
    size: Option<u64>,
    /// This client or another one loads the value.
    is_claimed: bool,
    is_stale: bool,
}

impl Facts {
    fn of<'a>(words: impl Iterator<Item = &'a [u8]>, keys: &Keys) -> Self {
        let mut facts = Self::default();
        for word in words {
            match word.split_first() {
                Some((b'O', rest)) => facts.opaque = Some(keys.hash(rest)),
                Some((b'k', rest)) => facts.key = Some(keys.hash(rest)),
                Some((b's', rest)) => facts.size = number(rest),
                Some((b'W' | b'Z', _)) => facts.is_claimed = true,
                Some((b'X', _)) => facts.is_stale = true,
                _ => {}
            }
        }
        facts
    }

    /// Whether the answer has the mark of a request. If the request has no mark, the answer must have none either.
    fn has(&self, tag: Tag) -> bool {
        match tag {
            Tag::None => self.opaque.is_none() && self.key.is_none(),
            Tag::Opaque(hash) => self.opaque == Some(hash),
            Tag::Key(hash) => self.key == Some(hash),
        }
    }

    /// Whether the entry has no value yet, because a client is loading it.
    fn is_lease(&self, len: u64) -> bool {
        len == 0 && self.is_claimed && !self.is_stale
    }
}

/// The key of a value and the value's length, of a header behind [`VALUE`]: `KEY FLAGS LENGTH`, and a version at times.
#[inline]
pub(super) fn key_and_len(header: &[u8]) -> Option<(&[u8], u64)> {
    let (key, rest) = header.split_at(memchr(b' ', header)?);
    let rest = &rest[1..];
    // Flags are mostly one digit, and a length has few.
    let flags = rest.iter().position(|byte| *byte == b' ')?;
    let len = &rest[flags + 1..];
    let end = len.iter().position(|byte| *byte == b' ').unwrap_or(len.len());
    Some((key, number(&len[..end])?))
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

fn is_number(line: &[u8]) -> bool {
    !line.is_empty() && line.iter().all(u8::is_ascii_digit)
}

/// A decimal number of at most ten digits.
#[inline]
pub(super) fn number(word: &[u8]) -> Option<u64> {
    if word.is_empty() || word.len() > 10 {
        return None;
    }
    word.iter().try_fold(0_u64, |number, byte| {
        byte.is_ascii_digit().then(|| number * 10 + u64::from(byte - b'0'))
    })
}
