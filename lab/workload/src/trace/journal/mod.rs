//! The journal: a recording that is being written.
//!
//! Parquet has its table of contents at the end, so that a file without its end is lost. A journal is whole after each
//! record. It begins with a header, and has records of 64 bytes, each with a checksum (`record.rs`). After a crash the
//! last record may be torn; a reader takes all before it. A finished journal becomes a Parquet file (`finish.rs`).

mod finish;
mod read;
mod record;
mod write;

use super::format::{Detection, Head, Reader, TraceFormat};

pub use self::finish::finish_journal;
pub use self::write::{Journal, LostRecords};

pub(super) const FORMAT: TraceFormat = TraceFormat {
    name: "journal",
    summary: "a recording that is being written, or was not finished; recognized by its first bytes, or by the ending \
              .journal",
    has_sizes: true,
    detect,
    read: Reader::Stream(read::read),
    write: None,
    holds: &[],
};

/// The ending of a journal's name.
const ENDING: &str = "journal";

fn detect(head: &Head<'_>) -> Detection {
    if head.bytes.starts_with(record::MAGIC) {
        Detection::ByContent("by its first bytes")
    } else if head.has_ending(ENDING) && record::MAGIC.starts_with(head.bytes) {
        // A journal may have been killed before its header was on the disk.
        Detection::ByName("by the ending .journal")
    } else {
        Detection::No
    }
}
