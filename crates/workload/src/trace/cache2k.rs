//! The traces of cache2k's benchmarks (Jens Wilke, headissue): nothing but keys, each a 32-bit number, the high byte
//! first. Every access is a read.

use std::io::BufRead;

use super::format::{Head, Reader, TraceFormat};
use super::records::Records;
use super::row::{Key, Row};
use super::sink::{Rows, Stop};

pub(super) const FORMAT: TraceFormat = TraceFormat {
    name: "cache2k",
    summary: "big-endian 32-bit keys, every access a get; recognized by the ending .trace",
    has_sizes: false,
    detect,
    read: Reader::Stream(read),
    write: None,
    holds: &[],
};

const KEY: usize = 4;

fn detect(head: &Head<'_>) -> bool {
    head.name.extension().is_some_and(|extension| extension == "trace")
}

fn read(input: &mut dyn BufRead, rows: &mut Rows<'_>) -> Result<(), Stop> {
    let mut keys = Records::<KEY>::new(input, "key");
    while let Some((_, key)) = keys.next()? {
        rows.push_request(&Row::get(Key::Hash(u32::from_be_bytes(key).into())), 1)?;
    }
    Ok(())
}
