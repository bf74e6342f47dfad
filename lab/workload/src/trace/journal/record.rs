//! The bytes of a journal. All numbers are little-endian.
//!
//! Header, 64 bytes:
//!
//! | place | content |
//! |---|---|
//! | 0 | `larder journal\n`, and a zero |
//! | 16 | version, 32 bits |
//! | 20 | checksum of the bytes 24 to 63, 32 bits |
//! | 24 | share of the keys that are recorded, a 64-bit float |
//! | 32 | kind of server, text with zeros behind it |
//!
//! Record, 64 bytes:
//!
//! | place | content |
//! |---|---|
//! | 0 | checksum of all bytes behind it, the key in clear included, 32 bits |
//! | 4 | 1 for a row, 2 for dropped rows, 3 for the traffic on other keys than those of a sample |
//! | 5 | number of the operation |
//! | 6 | number of the result, 255 for none |
//! | 7 | a bit for each value that is there: time, key size, value size, TTL, amount, latency; then: key in clear |
//! | 8 | connection, 32 bits |
//! | 12 | key size, 32 bits |
//! | 16 | value size, 32 bits |
//! | 20 | TTL in seconds, 32 bits |
//! | 24 | request, 64 bits; of dropped rows their number; operations on other keys |
//! | 32 | time in microseconds, 64 bits; hits of other keys |
//! | 40 | hash of the key, 64 bits; the length of a key in clear; misses of other keys |
//! | 48 | amount, 64 bits |
//! | 56 | latency in nanoseconds, 64 bits |
//!
//! A key in clear stands behind its record.

use crate::trace::lines::MAX_KEY;
use crate::trace::row::{Key, Outcome, Row, Verb};
use crate::trace::sink::{About, OtherKeys};

pub(super) const MAGIC: &[u8; 16] = b"larder journal\n\0";

/// The length of the header, and of a record without its key in clear.
pub(super) const LEN: usize = 64;

const VERSION: u32 = 1;

const ROW: u8 = 1;
const DROPPED: u8 = 2;
const OTHERS: u8 = 3;

const NO_RESULT: u8 = u8::MAX;

/// The bit of a key in clear; the bits below it are those of the optional values.
const IN_CLEAR: u8 = 1 << 6;

/// The header of a journal.
pub(super) fn header(about: &About) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    bytes[..16].copy_from_slice(MAGIC);
    bytes[16..20].copy_from_slice(&VERSION.to_le_bytes());
    bytes[24..32].copy_from_slice(&about.sample.unwrap_or(1.0).to_le_bytes());
    let upstream = about.upstream.as_deref().unwrap_or_default();
    let place = &mut bytes[32..];
    // A longer name is cut between two letters.
    let end = upstream.floor_char_boundary(place.len());
    place[..end].copy_from_slice(&upstream.as_bytes()[..end]);
    let sum = checksum(&bytes[24..]);
    bytes[20..24].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// What a header tells. The error is a sentence.
pub(super) fn parse_header(bytes: &[u8; LEN]) -> Result<About, String> {
    if !bytes.starts_with(MAGIC) {
        return Err("no journal: its first bytes are others".into());
    }
    let version = u32_at(bytes, 16);
    if version != VERSION {
        return Err(format!("a journal of version {version}; this Larder reads version {VERSION}"));
    }
    if u32_at(bytes, 20) != checksum(&bytes[24..]) {
        return Err("the header has a wrong checksum".into());
    }
    let sample = f64::from_bits(u64_at(bytes, 24));
    let upstream = String::from_utf8_lossy(&bytes[32..]);
    let upstream = upstream.trim_end_matches('\0');
    Ok(About {
        sample: Some(sample).filter(|share| *share > 0.0 && *share < 1.0),
        upstream: Some(upstream.to_owned()).filter(|name| !name.is_empty()),
        ..About::default()
    })
}

/// A record.
#[derive(Debug, PartialEq)]
pub(super) enum Record<'a> {
    Row(Row<'a>),
    /// This many rows were not recorded here.
    Dropped(u64),
    /// So much was done with keys that are not in the sample.
    Others(OtherKeys),
}

/// Appends a record. A key in clear that is longer than any cache takes is written as its hash.
pub(super) fn encode(record: &Record<'_>, out: &mut Vec<u8>) {
    let begin = out.len();
    match record {
        Record::Row(row) => encode_row(row, out),
        Record::Dropped(n_rows) => {
            let mut bytes = [0; LEN];
            bytes[4] = DROPPED;
            bytes[24..32].copy_from_slice(&n_rows.to_le_bytes());
            out.extend_from_slice(&bytes);
        }
        Record::Others(OtherKeys { operations, hits, misses }) => {
            let mut bytes = [0; LEN];
            bytes[4] = OTHERS;
            for (place, number) in [(24, operations), (32, hits), (40, misses)] {
                bytes[place..place + 8].copy_from_slice(&number.to_le_bytes());
            }
            out.extend_from_slice(&bytes);
        }
    }
    let sum = checksum(&out[begin + 4..]);
    out[begin..begin + 4].copy_from_slice(&sum.to_le_bytes());
}

fn encode_row(row: &Row<'_>, out: &mut Vec<u8>) {
    let key = match row.key {
        Key::Bytes(bytes) if bytes.len() <= MAX_KEY as usize => Some(bytes),
        _ => None,
    };
    let there = [
        row.time_us.is_some(),
        row.key_size.is_some(),
        row.value_size.is_some(),
        row.ttl_s.is_some(),
        row.amount.is_some(),
        row.latency_ns.is_some(),
        key.is_some(),
    ];
    let mut bytes = [0; LEN];
    bytes[4] = ROW;
    bytes[5] = row.operation as u8;
    bytes[6] = row.result.map_or(NO_RESULT, |result| result as u8);
    bytes[7] = there.iter().enumerate().fold(0, |bits, (at, there)| bits | u8::from(*there) << at);
    bytes[8..12].copy_from_slice(&row.connection.to_le_bytes());
    bytes[12..16].copy_from_slice(&row.key_size.unwrap_or(0).to_le_bytes());
    bytes[16..20].copy_from_slice(&row.value_size.unwrap_or(0).to_le_bytes());
    bytes[20..24].copy_from_slice(&row.ttl_s.unwrap_or(0).to_le_bytes());
    bytes[24..32].copy_from_slice(&row.request.to_le_bytes());
    bytes[32..40].copy_from_slice(&row.time_us.unwrap_or(0).to_le_bytes());
    let place = key.map_or_else(|| row.key.hash(), |key| key.len() as u64);
    bytes[40..48].copy_from_slice(&place.to_le_bytes());
    bytes[48..56].copy_from_slice(&row.amount.unwrap_or(0).to_le_bytes());
    bytes[56..64].copy_from_slice(&row.latency_ns.unwrap_or(0).to_le_bytes());
    out.extend_from_slice(&bytes);
    out.extend_from_slice(key.unwrap_or_default());
}

/// The length of the key in clear that stands behind a record; `None` where no record has such a length.
pub(super) fn key_len(bytes: &[u8; LEN]) -> Option<usize> {
    if bytes[4] != ROW || bytes[7] & IN_CLEAR == 0 {
        return Some(0);
    }
    let len = u64_at(bytes, 40);
    usize::try_from(len).ok().filter(|_| len <= u64::from(MAX_KEY))
}

/// The record in whole bytes, the key in clear included; `None` where they are damaged.
pub(super) fn decode(bytes: &[u8]) -> Option<Record<'_>> {
    let (fixed, key) = bytes.split_first_chunk::<LEN>()?;
    if u32_at(fixed, 0) != checksum(&bytes[4..]) {
        return None;
    }
    match fixed[4] {
        ROW => decode_row(fixed, key).map(Record::Row),
        DROPPED => Some(Record::Dropped(u64_at(fixed, 24))),
        OTHERS => Some(Record::Others(OtherKeys {
            operations: u64_at(fixed, 24),
            hits: u64_at(fixed, 32),
            misses: u64_at(fixed, 40),
        })),
        _ => None,
    }
}

fn decode_row<'a>(fixed: &[u8; LEN], key: &'a [u8]) -> Option<Row<'a>> {
    let has = |bit: u8| fixed[7] & 1 << bit != 0;
    let number = |bit, place| has(bit).then(|| u32_at(fixed, place));
    let long = |bit, place| has(bit).then(|| u64_at(fixed, place));
    let result = match fixed[6] {
        NO_RESULT => None,
        result => Some(*Outcome::ALL.get(usize::from(result))?),
    };
    Some(Row {
        time_us: long(0, 32),
        connection: u32_at(fixed, 8),
        request: u64_at(fixed, 24),
        operation: *Verb::ALL.get(usize::from(fixed[5]))?,
        key: if has(6) { Key::Bytes(key) } else { Key::Hash(u64_at(fixed, 40)) },
        key_size: number(1, 12),
        value_size: number(2, 16),
        ttl_s: number(3, 20),
        amount: long(4, 48),
        result,
        latency_ns: long(5, 56),
    })
}

#[expect(clippy::cast_possible_truncation, reason = "half of a hash is a checksum")]
fn checksum(bytes: &[u8]) -> u32 {
    rapidhash::v3::rapidhash_v3(bytes) as u32
}

fn u32_at(bytes: &[u8; LEN], place: usize) -> u32 {
    bytes[place..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8; LEN], place: usize) -> u64 {
    bytes[place..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
