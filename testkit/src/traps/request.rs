//! A request line, in its parts.

use std::str::FromStr;

/// A request, without the value that may follow it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Request {
    /// `get`, `gets`, `gat` and `gats`.
    Get { keys: Vec<Vec<u8>>, with_version: bool, touch: Option<i64> },
    /// `set` and all like it; a value of `len` bytes follows.
    Store { verb: Verb, key: Vec<u8>, flags: u32, exptime: i64, len: usize, is_quiet: bool },
    /// `delete`.
    Delete { key: Vec<u8>, is_quiet: bool },
    /// `touch`.
    Touch { key: Vec<u8>, exptime: i64, is_quiet: bool },
    /// `incr`, and `decr` as a negative number.
    Add { key: Vec<u8>, delta: i128, is_quiet: bool },
    /// `flush_all`.
    Flush { is_quiet: bool },
    /// `stats`, with the name of a group or none.
    Stats { group: String },
    /// `version`.
    Version,
    /// `verbosity`, which has no meaning here.
    Verbosity,
    /// `quit`.
    Quit,
}

/// The verb that stores a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Set,
    Add,
    Replace,
    Append,
    Prepend,
    Cas(u64),
}

/// The longest key, as in memcached.
const MAX_KEY_LEN: usize = 250;

impl Request {
    /// Reads a line without its end; `None` for a line that the server does not know.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let mut words: Vec<&[u8]> =
            line.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).collect();
        let is_quiet = words.len() > 1 && words.last() == Some(&&b"noreply"[..]);
        if is_quiet {
            words.pop();
        }
        let (command, rest) = words.split_first()?;
        let request = match *command {
            b"get" | b"gets" => {
                Self::Get { keys: keys(rest)?, with_version: *command == b"gets", touch: None }
            }
            b"gat" | b"gats" => {
                let (exptime, rest) = rest.split_first()?;
                let touch = Some(number(exptime)?);
                Self::Get { keys: keys(rest)?, with_version: *command == b"gats", touch }
            }
            b"set" | b"add" | b"replace" | b"append" | b"prepend" | b"cas" => {
                store(command, rest, is_quiet)?
            }
            b"delete" => Self::Delete { key: key(rest.first()?)?, is_quiet },
            b"touch" => {
                let [touched, exptime] = rest else { return None };
                Self::Touch { key: key(touched)?, exptime: number(exptime)?, is_quiet }
            }
            b"incr" | b"decr" => {
                let [counter, delta] = rest else { return None };
                let delta = i128::from(number::<u64>(delta)?);
                let delta = if *command == b"decr" { -delta } else { delta };
                Self::Add { key: key(counter)?, delta, is_quiet }
            }
            b"flush_all" => Self::Flush { is_quiet },
            b"stats" => {
                let group = rest.first().map(|group| String::from_utf8_lossy(group).into_owned());
                Self::Stats { group: group.unwrap_or_default() }
            }
            b"version" => Self::Version,
            b"verbosity" => Self::Verbosity,
            b"quit" => Self::Quit,
            _ => return None,
        };
        Some(request)
    }

    /// The length of the value that follows.
    pub(super) fn value_len(&self) -> Option<usize> {
        match self {
            Self::Store { len, .. } => Some(*len),
            _ => None,
        }
    }

    /// Whether the request asks for no answer.
    pub(super) fn is_quiet(&self) -> bool {
        matches!(
            self,
            Self::Store { is_quiet: true, .. }
                | Self::Delete { is_quiet: true, .. }
                | Self::Touch { is_quiet: true, .. }
                | Self::Add { is_quiet: true, .. }
                | Self::Flush { is_quiet: true }
        )
    }

    /// Whether the request concerns entries, and not the server.
    pub(super) fn is_of_entries(&self) -> bool {
        matches!(
            self,
            Self::Get { .. }
                | Self::Store { .. }
                | Self::Delete { .. }
                | Self::Touch { .. }
                | Self::Add { .. }
        )
    }
}

fn store(command: &[u8], rest: &[&[u8]], is_quiet: bool) -> Option<Request> {
    let ([stored, flags, exptime, len], behind) = rest.split_first_chunk()?;
    let verb = match (command, behind) {
        (b"set", []) => Verb::Set,
        (b"add", []) => Verb::Add,
        (b"replace", []) => Verb::Replace,
        (b"append", []) => Verb::Append,
        (b"prepend", []) => Verb::Prepend,
        (b"cas", [version]) => Verb::Cas(number(version)?),
        _ => return None,
    };
    let (flags, exptime, len) = (number(flags)?, number(exptime)?, number(len)?);
    Some(Request::Store { verb, key: key(stored)?, flags, exptime, len, is_quiet })
}

fn keys(words: &[&[u8]]) -> Option<Vec<Vec<u8>>> {
    if words.is_empty() { None } else { words.iter().map(|word| key(word)).collect() }
}

fn key(word: &[u8]) -> Option<Vec<u8>> {
    (word.len() <= MAX_KEY_LEN).then(|| word.to_vec())
}

fn number<T: FromStr>(word: &[u8]) -> Option<T> {
    std::str::from_utf8(word).ok()?.parse().ok()
}
