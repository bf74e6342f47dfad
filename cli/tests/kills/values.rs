//! The keys, and the form of their values.
//!
//! A value begins with the name of its key and a number. All its other bytes follow from these two, so a value that is
//! torn, or that belongs to another key, is found.

use larder_testkit::Random;

use crate::ledger::{List, State};

/// The number of writers. Each key has one writer, the only one that changes it.
pub(crate) const WRITERS: usize = 5;

/// The number of keys. Their values take a tenth of the region, so that no entry is evicted.
pub(crate) const KEYS: usize = WRITERS * 160;

/// The bytes of an entry of a list.
const ENTRY: usize = 40;

/// The entries after which a list begins anew.
pub(crate) const LIST: usize = 50;

/// The use of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Its values have up to 2 KB.
    Plain,
    /// Its values have 20 KB and more, so that the region keeps them in chunks.
    Long,
    /// Its writer appends entries to it.
    List,
    /// Its values are numbers, to which its writer adds.
    Counter,
}

/// Successive keys are of different writers and of one kind.
pub(crate) fn kind(key: usize) -> Kind {
    match key / WRITERS % 20 {
        0 => Kind::Long,
        1 | 2 => Kind::List,
        3 | 4 => Kind::Counter,
        _ => Kind::Plain,
    }
}

pub(crate) fn name(key: usize) -> String {
    format!("key-{key}")
}

/// The key of a name.
pub(crate) fn named(name: &str) -> Option<usize> {
    name.strip_prefix("key-")?.parse().ok().filter(|key| *key < KEYS)
}

/// The number from which a counter begins. A region keeps numbers above 2^40 as texts, and adds to others in place.
pub(crate) fn first_number(key: usize) -> u64 {
    if kind(key) == Kind::Counter && key % 2 == 1 { 1 << 41 } else { 0 }
}

/// The value of a key with this number, or the entry of a list.
pub(crate) fn fill(key: usize, number: u64) -> Vec<u8> {
    let mut random = Random::new((key as u64) << 40 ^ number);
    let mut value = format!("{}:{number}:", name(key)).into_bytes();
    let more = match kind(key) {
        Kind::List => ENTRY - value.len(),
        Kind::Long => 20_000 + random.below(80_000),
        Kind::Plain | Kind::Counter => random.below(2000),
    };
    value.extend(random.bytes(more));
    value
}

/// The state of a key that has this value; the error says what is wrong with the value.
pub(crate) fn state_of(key: usize, value: &[u8]) -> Result<State, String> {
    let wrong = |why: &str| {
        let begin = String::from_utf8_lossy(&value[..value.len().min(60)]);
        format!("{why}, of {} bytes that begin with {begin:?}", value.len())
    };
    match kind(key) {
        Kind::Plain | Kind::Long => {
            let number = number_of(key, value).ok_or_else(|| wrong("another key's value"))?;
            if value == fill(key, number) {
                Ok(State::Value(number))
            } else {
                Err(wrong("a torn value"))
            }
        }
        Kind::List => {
            let mut list = List::default();
            for entry in value.chunks(ENTRY) {
                let number = number_of(key, entry).ok_or_else(|| wrong("another key's list"))?;
                if number <= list.last || entry != fill(key, number) {
                    return Err(wrong("a torn list"));
                }
                list = list.with(number);
            }
            Ok(State::List(list))
        }
        Kind::Counter => {
            let number = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
            number.map(State::Number).ok_or_else(|| wrong("a counter that is no number"))
        }
    }
}

/// The number at the beginning of a value.
fn number_of(key: usize, value: &[u8]) -> Option<u64> {
    let rest = value.strip_prefix(name(key).as_bytes())?.strip_prefix(b":")?;
    let digits = rest.split(|byte| *byte == b':').next()?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}
