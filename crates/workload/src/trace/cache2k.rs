//! The traces of cache2k's benchmarks (Jens Wilke, headissue): nothing but keys, each a 32-bit number, the high byte
//! first. Every access is a read.

use std::io::{BufRead, Read};

use super::error::TraceFault;
use super::format::{Head, TraceFormat};
use super::recorder::{Record, Recorder, Stop};

pub(super) const FORMAT: TraceFormat = TraceFormat {
    name: "cache2k",
    summary: "big-endian 32-bit keys, every access a get; recognized by the ending .trace",
    has_sizes: false,
    detect,
    read,
};

const KEY: usize = 4;

fn detect(head: &Head<'_>) -> bool {
    head.name.extension().is_some_and(|extension| extension == "trace")
}

fn read(input: &mut dyn BufRead, recorder: &mut Recorder) -> Result<(), Stop> {
    let mut key = Vec::with_capacity(KEY);
    for record in 0_u64.. {
        key.clear();
        input.take(KEY as u64).read_to_end(&mut key)?;
        if key.is_empty() {
            break;
        }
        if key.len() < KEY {
            let offset = record * KEY as u64;
            let reason = format!("a key has {KEY} bytes, but {} are left: cut off?", key.len());
            return Err(TraceFault::Byte { offset, reason }.into());
        }
        recorder.push(&Record { key: &key, ..Record::default() }, 1)?;
    }
    Ok(())
}
