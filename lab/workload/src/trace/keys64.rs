//! Traces of nothing but keys, each a 64-bit number, as Scarab's and Corda's traces have them. Every access is a read.
//!
//! They have the ending of cache2k's traces, whose keys have 32 bits. Read as such, a key would be two keys, so the bytes decide
//! ([`width`]).

use std::collections::HashMap;
use std::io::BufRead;

use super::format::{Detection, Head, Reader, TraceFormat};
use super::records::Records;
use super::row::{Key, Row};
use super::sink::{Rows, Stop};

pub(super) const BIG: TraceFormat = TraceFormat {
    name: "keys64be",
    summary: "64-bit keys, the high byte first, every access a get; recognized by the ending .trace and upper halves of 0",
    has_sizes: false,
    detect: |head| detect(head, Width::Bits64BigEndian),
    read: Reader::Stream(|input, rows| read(input, rows, u64::from_be_bytes)),
    write: None,
    holds: &[],
};

pub(super) const LITTLE: TraceFormat = TraceFormat {
    name: "keys64le",
    summary: "64-bit keys, the low byte first, every access a get; recognized by the ending .trace and upper halves of 0",
    has_sizes: false,
    detect: |head| detect(head, Width::Bits64LittleEndian),
    read: Reader::Stream(|input, rows| read(input, rows, u64::from_le_bytes)),
    write: None,
    holds: &[],
};

/// The ending of files with nothing but keys.
pub(super) const ENDING: &str = "trace";

const KEY: usize = 8;

/// The keys that a file needs before its halves are judged.
const FEWEST: usize = 8;

/// The repetitions of a half that show whether it belongs to the other one.
const REPEATED: usize = 16;

/// Numbers below are those of keys that are counted from 0 on, which tell nothing of halves.
const COUNTED: u32 = 1 << 24;

fn detect(head: &Head<'_>, expected: Width) -> Detection {
    if head.has_ending(ENDING) && !head.is_text() && width(head.bytes) == expected {
        return Detection::ByContent(
            "by the ending .trace and the upper halves of its keys, which are all 0",
        );
    }
    Detection::No
}

fn read(
    input: &mut dyn BufRead,
    rows: &mut Rows<'_>,
    number: fn([u8; KEY]) -> u64,
) -> Result<(), Stop> {
    let mut keys = Records::<KEY>::new(input, "key");
    while let Some((_, key)) = keys.next()? {
        rows.push_request(&Row::get(Key::Hash(number(key))))?;
    }
    Ok(())
}

/// The width of the keys of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    Bits32,
    Bits64BigEndian,
    Bits64LittleEndian,
    /// Keys of 64 bits are likely, and keys of 32 bits not out of the question.
    Doubtful,
}

/// Judges the width of keys by the halves of 64 bits. Halves that are always 0 are those of small numbers. Where large numbers
/// come again, and always beside the same number, both are one key.
pub(super) fn width(bytes: &[u8]) -> Width {
    let (keys, _) = bytes.as_chunks::<KEY>();
    if keys.len() < FEWEST {
        return Width::Bits32;
    }
    let halves: Vec<(u32, u32)> = keys
        .iter()
        .map(|[a, b, c, d, rest @ ..]| {
            (u32::from_be_bytes([*a, *b, *c, *d]), u32::from_be_bytes(*rest))
        })
        .collect();
    match (halves.iter().all(|(first, _)| *first == 0), halves.iter().all(|(_, last)| *last == 0)) {
        (true, false) => Width::Bits64BigEndian,
        (false, true) => Width::Bits64LittleEndian,
        _ if are_of_one_key(&halves) => Width::Doubtful,
        _ => Width::Bits32,
    }
}

/// Whether halves that come again always stand beside the same other half, and no number is ever in both places.
fn are_of_one_key(halves: &[(u32, u32)]) -> bool {
    let belong = |beside: &mut dyn Iterator<Item = (u32, u32)>| {
        let mut others: HashMap<u32, u32> = HashMap::new();
        let mut n_repeated = 0;
        for (half, other) in beside {
            n_repeated += usize::from(others.contains_key(&half));
            if *others.entry(half).or_insert(other) != other {
                return false;
            }
        }
        n_repeated >= REPEATED
    };
    let (first, last) = (|| halves.iter().copied(), || halves.iter().map(|(a, b)| (*b, *a)));
    let largest = halves.iter().map(|(a, b)| *a.max(b)).max().unwrap_or(0);
    let firsts: std::collections::HashSet<u32> = halves.iter().map(|(first, _)| *first).collect();
    let is_shared = halves.iter().any(|(_, last)| firsts.contains(last));
    largest >= COUNTED && !is_shared && (belong(&mut first()) || belong(&mut last()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys of a skewed trace, scattered over all numbers where asked.
    fn keys(n: u64, scatter: bool) -> Vec<u64> {
        let skewed = (0..n).map(|at| (at * at * 7919 + at) % 101 % 37);
        skewed
            .map(|key| if scatter { (key + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) } else { key })
            .collect()
    }

    fn bytes<const N: usize>(keys: &[u64], bytes: fn(u64) -> [u8; N]) -> Vec<u8> {
        keys.iter().flat_map(|key| bytes(*key)).collect()
    }

    #[test]
    #[expect(clippy::cast_possible_truncation, reason = "a key of 32 bits is a part of the number")]
    fn halves_tell_the_width() {
        let (small, large) = (keys(400, false), keys(400, true));
        let narrow = |key: u64| (key as u32).to_be_bytes();
        let pointer = |key: u64| (0x7f12_0000_0000 | u64::from(key as u32)).to_be_bytes();
        for (what, file, expected) in [
            ("small keys of 32 bits", bytes(&small, narrow), Width::Bits32),
            ("large keys of 32 bits", bytes(&large, narrow), Width::Bits32),
            ("small keys of 64 bits", bytes(&small, u64::to_be_bytes), Width::Bits64BigEndian),
            ("the low byte first", bytes(&small, u64::to_le_bytes), Width::Bits64LittleEndian),
            ("hashes", bytes(&large, u64::to_be_bytes), Width::Doubtful),
            ("hashes, the low byte first", bytes(&large, u64::to_le_bytes), Width::Doubtful),
            ("addresses", bytes(&large, pointer), Width::Doubtful),
            ("few keys", bytes(&[0, 1], u64::to_be_bytes), Width::Bits32),
            ("one key", vec![0; 800], Width::Bits32),
            (
                "a loop over an even number of keys",
                bytes(&(0..400).map(|at| at % 20).collect::<Vec<u64>>(), narrow),
                Width::Bits32,
            ),
        ] {
            assert_eq!(width(&file), expected, "{what}");
        }
    }
}
