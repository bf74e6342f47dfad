//! Traces of blocks of a disk, as text. Every access is a read of one block.
//!
//! - `arc`: the traces of the ARC cache (Megiddo and Modha, "ARC: A Self-Tuning, Low Overhead Replacement Cache", FAST 2003). A
//!   line has the first block, the number of blocks, a zero, and the number of the request.
//! - `lirs`: the traces of the LIRS cache (Jiang and Zhang, SIGMETRICS 2002). A line has one block, or a `*`, which is no access.

use std::io::BufRead;

use larder_store::count;

use super::error::TraceFault;
use super::format::{Detection, Head, Reader, TraceFormat};
use super::lines::{Lines, shown};
use super::row::{Key, Row};
use super::sink::{MOST_ROWS, Rows, Stop};

pub(super) const ARC: TraceFormat = TraceFormat {
    name: "arc",
    summary: "lines of first block, number of blocks, 0, and a number; recognized by them, or by the ending .lis",
    has_sizes: false,
    detect: |head| {
        let is_line = |fields: &[&[u8]]| matches!(fields, [_, _, b"0", _]) && are_blocks(fields);
        detect(head, is_line, "lis", "by the ending .lis")
    },
    read: Reader::Stream(read_arc),
    write: None,
    holds: &[],
};

pub(super) const LIRS: TraceFormat = TraceFormat {
    name: "lirs",
    summary: "a block on each line, or `*`; recognized by them, or by the ending .trc",
    has_sizes: false,
    detect: |head| {
        let is_line =
            |fields: &[&[u8]]| fields == [MARK] || fields.len() == 1 && are_blocks(fields);
        detect(head, is_line, "trc", "by the ending .trc")
    },
    read: Reader::Stream(read_lirs),
    write: None,
    holds: &[],
};

/// The most blocks of a request: 8 GiB.
const MOST_BLOCKS: u64 = MOST_ROWS as u64;

/// The mark in the traces of LIRS that is no access.
const MARK: &[u8] = b"*";

/// Whether a trace has such lines, or at least the ending of one, with the reason for the latter.
fn detect(
    head: &Head<'_>,
    is_line: impl Fn(&[&[u8]]) -> bool,
    ending: &str,
    reason: &'static str,
) -> Detection {
    if has_lines(head, is_line) {
        Detection::ByContent("by its lines")
    } else if !head.has_ending(ending) {
        Detection::No
    } else if head.bytes.is_empty() || head.is_text() {
        Detection::ByName(reason)
    } else {
        Detection::Broken(TraceFault::unknown(&format!(
            "its ending .{ending} is that of lines of blocks, but its bytes are no text"
        )))
    }
}

/// Whether the first lines of a trace are such lines. The last of them may be cut off.
fn has_lines(head: &Head<'_>, is_line: impl Fn(&[&[u8]]) -> bool) -> bool {
    let lines = head.bytes.split(|byte| *byte == b'\n').map(|line| fields(line).collect());
    let mut lines: Vec<Vec<_>> = lines.filter(|fields: &Vec<_>| !fields.is_empty()).collect();
    lines.truncate(lines.len().saturating_sub(1).max(1));
    !lines.is_empty() && lines.iter().all(|fields| is_line(fields))
}

fn are_blocks(fields: &[&[u8]]) -> bool {
    fields.iter().all(|field| block(field).is_ok())
}

fn read_arc(input: &mut dyn BufRead, rows: &mut Rows<'_>) -> Result<(), Stop> {
    read_lines(input, rows, |text| {
        let fields: Vec<_> = fields(text).collect();
        let &[first, n_blocks, _, _] = fields.as_slice() else {
            return Err(format!(
                "{}, where a request has 4: cut off?",
                count(fields.len(), "field")
            ));
        };
        let (first, n_blocks) = (block(first)?, block(n_blocks)?);
        if n_blocks > MOST_BLOCKS || first.checked_add(n_blocks.saturating_sub(1)).is_none() {
            return Err(format!(
                "{n_blocks} blocks from {first} on, where a request has {MOST_BLOCKS} at most: damaged?"
            ));
        }
        Ok((first, n_blocks))
    })
}

fn read_lirs(input: &mut dyn BufRead, rows: &mut Rows<'_>) -> Result<(), Stop> {
    read_lines(input, rows, |text| {
        if text == MARK {
            return Ok((0, 0));
        }
        Ok((block(text)?, 1))
    })
}

/// Reads lines, each of which tells a first block and a number of blocks.
fn read_lines(
    input: &mut dyn BufRead,
    rows: &mut Rows<'_>,
    blocks: impl Fn(&[u8]) -> Result<(u64, u64), String>,
) -> Result<(), Stop> {
    let mut lines = Lines::new(input);
    while let Some((line, text)) = lines.next()? {
        let (first, n_blocks) =
            blocks(text.trim_ascii()).map_err(|reason| Stop::line(line, reason))?;
        rows.announce(n_blocks)?;
        for block in (0..n_blocks).map(|n| first + n) {
            rows.push_request(&Row::get(Key::Hash(block)))?;
        }
    }
    Ok(())
}

fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty())
}

/// The number of a block, or of blocks.
fn block(field: &[u8]) -> Result<u64, String> {
    let number = std::str::from_utf8(field).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| format!("block `{}` is not a whole number", shown(field)))
}
