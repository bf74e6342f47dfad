//! A key on each line and nothing else, every access a read. Any text would pass, so the format is never recognised, and has to
//! be named.

use std::io::BufRead;

use super::format::{Detection, Reader, TraceFormat};
use super::lines::{Lines, MAX_KEY};
use super::row::{Key, Row};
use super::sink::{Rows, Stop};

pub(super) const FORMAT: TraceFormat = TraceFormat {
    name: "keys",
    summary: "a key on each line without a header, every access a get; never recognized, always named",
    has_sizes: false,
    detect: |_| Detection::No,
    read: Reader::Stream(read),
    write: None,
    holds: &[],
};

fn read(input: &mut dyn BufRead, rows: &mut Rows<'_>) -> Result<(), Stop> {
    let mut lines = Lines::new(input);
    while let Some((_, line)) = lines.next()? {
        let key = line.trim_ascii_end();
        let key_size = u32::try_from(key.len()).ok().filter(|len| *len <= MAX_KEY);
        rows.push_request(&Row { key_size, ..Row::get(Key::Bytes(key)) })?;
    }
    Ok(())
}
