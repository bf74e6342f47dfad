//! Parquet: the format of recordings, which databases and data frames read. `docs/traces.md` has its columns.
//!
//! A column is a field of [`Row`](super::Row). Rows stand in groups of bounded size, so that a file of any size is
//! written and read in little memory. A file of another program needs a column `key` or `key_hash`, and may have any of
//! the others.

mod arrow;
mod columns;
mod fields;
mod guard;
mod meaning;
mod read;
mod write;

use super::error::TraceFault;
use super::format::{Detection, Head, Reader, TraceFormat};
use super::sink::Stop;
use super::writer::Field;

pub(super) const FORMAT: TraceFormat = TraceFormat {
    name: "parquet",
    summary: "Apache Parquet with a column `key` or `key_hash`, and any of the columns of a recording",
    has_sizes: true,
    detect,
    read: Reader::File(read::read),
    write: Some(write::begin),
    holds: Field::ALL,
};

/// The first and the last bytes of a file.
const MAGIC: &[u8] = b"PAR1";

/// The version of the columns that is written.
const VERSION: &str = "1";

/// The names of what a file tells beside its rows.
mod metadata {
    pub(super) const VERSION: &str = "larder.format_version";
    pub(super) const SAMPLE: &str = "larder.sample";
    pub(super) const OTHER_OPERATIONS: &str = "larder.other_operations";
    pub(super) const OTHER_HITS: &str = "larder.other_hits";
    pub(super) const OTHER_MISSES: &str = "larder.other_misses";
    pub(super) const UPSTREAM: &str = "larder.upstream";
    pub(super) const DROPPED: &str = "larder.dropped_rows";
    pub(super) const TORN: &str = "larder.torn_bytes";
}

fn detect(head: &Head<'_>) -> Detection {
    if head.bytes.starts_with(MAGIC) {
        Detection::ByContent("by its first bytes")
    } else if head.has_ending(FORMAT.name) && !head.bytes.is_empty() && !head.is_text() {
        let reason = "no whole Parquet file: its first bytes are not PAR1".into();
        Detection::Broken(TraceFault::Structure { reason })
    } else {
        Detection::No
    }
}

/// The fault of a file that is no trace as a whole.
fn structure(reason: String) -> Stop {
    TraceFault::Structure { reason }.into()
}
