//! The traces of cache2k's benchmarks (Jens Wilke, headissue): nothing but keys, each a 32-bit number, the high byte
//! first. Every access is a read.

use std::io::BufRead;

use super::error::TraceFault;
use super::format::{Detection, Head, Reader, TraceFormat};
use super::keys64::{ENDING, Width, width};
use super::records::Records;
use super::row::{Key, Row};
use super::sink::{Rows, Stop};

pub(super) const FORMAT: TraceFormat = TraceFormat {
    name: "cache2k",
    summary: "big-endian 32-bit keys, every access a get; recognized by the ending .trace, where the bytes are no text",
    has_sizes: false,
    detect,
    read: Reader::Stream(read),
    write: None,
    holds: &[],
};

const KEY: usize = 4;

fn detect(head: &Head<'_>) -> Detection {
    if !head.has_ending(ENDING) || head.is_text() {
        return Detection::No;
    }
    if width(head.bytes) == Width::Doubtful {
        return Detection::Broken(TraceFault::unknown(
            "its numbers come in pairs, as the halves of 64-bit keys do; write `?format=keys64be` for such keys, or \
             `?format=cache2k` for 32-bit ones",
        ));
    }
    Detection::ByName("32-bit keys by the ending .trace")
}

fn read(input: &mut dyn BufRead, rows: &mut Rows<'_>) -> Result<(), Stop> {
    let mut keys = Records::<KEY>::new(input, "key");
    while let Some((_, key)) = keys.next()? {
        rows.push_request(&Row::get(Key::Hash(u32::from_be_bytes(key).into())))?;
    }
    Ok(())
}
