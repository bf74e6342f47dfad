//! The traces of libCacheSim (Yang and others), `oracleGeneral`: records of 24 bytes, little-endian, without a header. Each has
//! the time in seconds (32 bits), the object (64), its size in bytes (32), and the place of its next access (64), counted
//! from 1, or -1 for none. The place says nothing that the records behind do not say. Every access is a read.

mod part;
mod write;

use std::io::BufRead;

use super::error::TraceFault;
use super::format::{Detection, Head, Reader, TraceFormat};
use super::records::Records;
use super::row::{Key, Row};
use super::sink::{Rows, Stop};

pub(super) const FORMAT: TraceFormat = TraceFormat {
    name: "oracleGeneral",
    summary: "libCacheSim's records of time, object, size and next access; recognized by `oracleGeneral` in the name",
    has_sizes: true,
    detect,
    read: Reader::Stream(read),
    write: Some(write::begin),
    holds: &[],
};

const RECORD: usize = 24;

/// More accesses than any trace has.
const MOST_PLACES: i64 = 1 << 48;

fn detect(head: &Head<'_>) -> Detection {
    let name = head.name.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    // A text is an export.
    if !name.contains("oraclegeneral") || head.is_text() {
        return Detection::No;
    }
    if name.contains("oraclegeneralop") {
        return Detection::Broken(TraceFault::unknown(
            "its name is that of oracleGeneralOpNS, whose records are longer than those of oracleGeneral",
        ));
    }
    let (records, _) = head.bytes.as_chunks::<RECORD>();
    let n_odd = records.iter().filter(|record| has_odd_place(record)).count();
    if n_odd * 2 > records.len() {
        return Detection::Broken(TraceFault::unknown(
            "its name is that of oracleGeneral, but most of its first records of 24 bytes have no place of a next access",
        ));
    }
    Detection::ByName("by its name")
}

/// Whether the place of the next access is none: below -1, or beyond all traces. `i64::MAX` stands for no next access, too.
fn has_odd_place(record: &[u8; RECORD]) -> bool {
    let place = record.last_chunk().map_or(0, |place| i64::from_le_bytes(*place));
    place < -1 || (MOST_PLACES..i64::MAX).contains(&place)
}

fn read(input: &mut dyn BufRead, rows: &mut Rows<'_>) -> Result<(), Stop> {
    let mut records = Records::<RECORD>::new(input, "record");
    while let Some((_, record)) = records.next()? {
        let [t0, t1, t2, t3, object @ .., s0, s1, s2, s3, _, _, _, _, _, _, _, _] = record;
        let value_size = Some(u32::from_le_bytes([s0, s1, s2, s3]));
        let time_us = Some(u64::from(u32::from_le_bytes([t0, t1, t2, t3])) * 1_000_000);
        let object = Key::Hash(u64::from_le_bytes(object));
        rows.push_request(&Row { time_us, value_size, ..Row::get(object) })?;
    }
    Ok(())
}
