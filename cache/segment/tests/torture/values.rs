//! Names of keys, their kinds, and the form of their values.

use crate::{KEYS, WORKERS, mode};

/// The use of a key. Each worker has keys of all kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Its values are of all lengths, so that some take several records.
    Varied,
    /// Set and deleted by its worker.
    Plain,
    /// Its worker appends to it.
    List,
    /// Its worker deletes it when it has changed elsewhere, and any worker fills it.
    Filled,
}

/// Successive keys are of one kind and of different workers.
const ROWS: usize = KEYS / WORKERS;

pub(crate) fn kind(key: usize) -> Kind {
    match key / WORKERS % 8 {
        0 => Kind::Varied,
        6 => Kind::List,
        7 => Kind::Filled,
        _ => Kind::Plain,
    }
}

/// A key of this kind near this one, of the same worker.
pub(crate) fn of_kind(key: usize, wanted: Kind) -> usize {
    let (row, worker) = (key / WORKERS, key % WORKERS);
    let near = (row..row + 8).map(|row| row % ROWS * WORKERS + worker);
    near.into_iter().find(|key| kind(*key) == wanted).unwrap_or(key)
}

/// Whether its value may take several records, which may lie in any partition.
pub(crate) fn is_long(key: usize) -> bool {
    kind(key) == Kind::Varied
        || matches!(kind(key), Kind::List | Kind::Filled) && key / WORKERS % 64 > 61
}

pub(crate) fn name(key: usize) -> Vec<u8> {
    if key < KEYS {
        format!("key-{key}").into_bytes()
    } else {
        format!("counter-{}", key - KEYS).into_bytes()
    }
}

/// A value's bytes.
fn length(key: usize, version: u64) -> u64 {
    let mixed = (key as u64 ^ version << 20).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    match mixed % 8 {
        0 if is_long(key) => 20_000 + mixed % 60_000,
        1..4 if is_long(key) => 4000 + mixed % 6000,
        _ => 24 + mixed % mode().short,
    }
}

/// The value of a key in a version: no two are alike in any eight bytes.
pub(crate) fn fill(key: usize, version: u64, value: &mut Vec<u8>) {
    value.clear();
    for word in 0..length(key, version).div_ceil(8) {
        let mixed = (version << 13 ^ key as u64).wrapping_mul(0x2545_f491_4f6c_dd1d);
        let what = if word == 0 { version } else { mixed.wrapping_add(word) };
        value.extend_from_slice(&what.to_le_bytes());
    }
}

/// The bytes of an entry of a list.
pub(crate) fn entry_len(key: usize) -> usize {
    if is_long(key) { mode().entry } else { 16 }
}
