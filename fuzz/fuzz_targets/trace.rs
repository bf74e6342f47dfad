//! The readers of traces. No input makes one panic, or read on for ever. What a journal has before its torn record is what
//! every reader of it gets, however long the rest is.
//!
//!     cargo +nightly fuzz run trace

#![no_main]

use std::ops::ControlFlow;

use larder_workload::trace::{FORMATS, Row, TraceFormat, read_rows_of};
use libfuzzer_sys::fuzz_target;

/// The rows after which a sink has enough: a short line may stand for many.
const ENOUGH: usize = 10_000;

fuzz_target!(|input: &[u8]| {
    let Some((format, bytes)) = input.split_first() else { return };
    let format = FORMATS[usize::from(*format) % FORMATS.len()];
    let rows = read(bytes, format);
    if format.name == "journal" {
        let n_rows = rows.len();
        assert!(n_rows <= bytes.len() / 64);
        // One byte less may cost the last row, and no other.
        let shorter = read(&bytes[..bytes.len().saturating_sub(1)], format);
        assert!(shorter.len() + 1 >= n_rows && rows.starts_with(&shorter));
    }
});

/// The rows of a trace in words, without its error.
fn read(bytes: &[u8], format: TraceFormat) -> Vec<String> {
    let mut rows = Vec::new();
    let mut sink = |row: &Row<'_>| {
        rows.push(format!("{row:?}"));
        if rows.len() < ENOUGH { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let _ = read_rows_of("fuzzed", bytes, Some(format), &mut sink);
    rows
}
