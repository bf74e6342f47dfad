//! The traces of libCacheSim (Yang and others), `oracleGeneral`: records of 24 bytes, little-endian, without a header. Each has
//! the time in seconds (32 bits), the object (64), its size in bytes (32), and the place of its next access (64), counted
//! from 1, or -1 for none. The place says nothing that the records behind do not say. Every access is a read.

mod part;
mod write;

use std::io::BufRead;

use super::error::TraceFault;
use super::format::{Head, Reader, TraceFormat};
use super::lines::value_size_of;
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

fn detect(head: &Head<'_>) -> bool {
    let name = head.name.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    // The records of `oracleGeneralOpNS` are longer, and a text is an export.
    let is_other = name.contains("oraclegeneralop");
    let is_byte_of_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    let is_text = !head.bytes.is_empty() && head.bytes.iter().all(is_byte_of_text);
    name.contains("oraclegeneral") && !is_other && !is_text
}

fn read(input: &mut dyn BufRead, rows: &mut Rows<'_>) -> Result<(), Stop> {
    let mut records = Records::<RECORD>::new(input, "record");
    while let Some((offset, record)) = records.next()? {
        let [t0, t1, t2, t3, object @ .., s0, s1, s2, s3, _, _, _, _, _, _, _, _] = record;
        let value_size = value_size_of(u32::from_le_bytes([s0, s1, s2, s3]))
            .map_err(|reason| TraceFault::Byte { offset, reason })?;
        let time_us = Some(u64::from(u32::from_le_bytes([t0, t1, t2, t3])) * 1_000_000);
        let object = Key::Hash(u64::from_le_bytes(object));
        rows.push_request(&Row { time_us, value_size, ..Row::get(object) }, 1)?;
    }
    Ok(())
}
