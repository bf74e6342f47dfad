//! The keys, and the form of their values.
//!
//! A value is a list of parts. Each part begins with its key, its number and its length, and all its other bytes follow
//! from these. So a value that is torn, or that belongs to another key, is found.

/// The number of keys.
pub(crate) const KEYS: u64 = 120;

/// Bytes of the head of a part.
const HEAD: usize = 24;

/// The state of a key: the numbers of its value's parts; empty where it is absent.
pub(crate) type State = Vec<u64>;

pub(crate) fn name(key: u64) -> Vec<u8> {
    format!("key {key}").into_bytes()
}

/// The part that the change of this number writes. One of eight has several pages.
pub(crate) fn part(key: u64, number: u64) -> Vec<u8> {
    let most = if number % 8 == 3 { 12_000 } else { 700 };
    let len = HEAD + usize::try_from((key * 7919 + number * 104_729) % most).unwrap();
    let mut part = vec![(key * 31 + number).to_le_bytes()[0]; len];
    for (at, number) in [key, number, len as u64].into_iter().enumerate() {
        part[8 * at..8 * at + 8].copy_from_slice(&number.to_le_bytes());
    }
    part
}

/// The value of a key in this state.
pub(crate) fn value(key: u64, state: &[u64]) -> Vec<u8> {
    state.iter().flat_map(|number| part(key, *number)).collect()
}

/// The state of a value; `None` where it is not whole or belongs to another key.
pub(crate) fn state(key: u64, mut value: &[u8]) -> Option<State> {
    let mut state = State::new();
    while !value.is_empty() {
        let number = u64::from_le_bytes(value.get(8..16)?.try_into().ok()?);
        // A number from a torn value may be too large to make a part of.
        let whole = part(key, number.min(u64::from(u32::MAX)));
        value = value.strip_prefix(whole.as_slice())?;
        state.push(number);
    }
    Some(state)
}
