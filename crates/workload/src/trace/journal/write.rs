//! Writes a journal.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::finish::{finish_journal, finished};
use super::record::{self, Record};
use crate::trace::error::{TraceError, TraceFault};
use crate::trace::row::Row;
use crate::trace::sink::About;

/// The bytes that are handed to the system at once, where nobody flushes before.
const BUFFER: usize = 256 << 10;

/// A recording that is being written. What was flushed survives the death of this process.
///
/// The journal is locked as long as it is open, so that no other process takes it for one that was left behind.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
    written_bytes: u64,
    n_rows: u64,
}

impl Journal {
    /// Creates `NAME.journal`, which becomes `NAME.parquet`.
    ///
    /// # Errors
    ///
    /// Where one of the two exists, and errors of the disk.
    pub fn create(path: &Path, about: &About) -> Result<Self, TraceError> {
        let failed = |error| TraceError { path: path.into(), fault: TraceFault::Write(error) };
        let parquet = finished(path);
        if parquet.exists() {
            let reason = format!("{} exists; take another name", parquet.display());
            return Err(failed(io::Error::new(io::ErrorKind::AlreadyExists, reason)));
        }
        let create = || {
            let file = OpenOptions::new().append(true).create_new(true).open(path)?;
            file.try_lock().map_err(io::Error::from)?;
            let mut journal =
                Self { path: path.into(), file, buffer: Vec::new(), written_bytes: 0, n_rows: 0 };
            journal.buffer.extend_from_slice(&record::header(about));
            journal.flush()?;
            Ok(journal)
        };
        create().map_err(failed)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a row. A key in clear beyond 65535 bytes is written as its hash.
    pub fn push(&mut self, row: &Row<'_>) -> io::Result<()> {
        self.n_rows += 1;
        self.append(&Record::Row(*row))
    }

    /// Notes that so many rows were not recorded, because writing fell behind.
    pub fn drop_rows(&mut self, n_rows: u64) -> io::Result<()> {
        self.append(&Record::Dropped(n_rows))
    }

    /// Hands everything to the system.
    pub fn flush(&mut self) -> io::Result<()> {
        let written = self.file.write_all(&self.buffer);
        if written.is_ok() {
            self.written_bytes += self.buffer.len() as u64;
        }
        // After an error a part may be written. To write it again would put records behind a torn one.
        self.buffer.clear();
        written
    }

    /// The length of the file once everything is flushed. The Parquet file is several times shorter.
    pub fn size_bytes(&self) -> u64 {
        self.written_bytes + self.buffer.len() as u64
    }

    /// The number of rows.
    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// Turns the journal into `NAME.parquet`, and returns its path. See [`finish_journal`].
    pub fn finish(mut self) -> Result<PathBuf, TraceError> {
        let flushed = self.flush();
        let path = self.path;
        flushed
            .map_err(|error| TraceError { path: path.clone(), fault: TraceFault::Write(error) })?;
        // Closing it ends the lock.
        drop(self.file);
        finish_journal(&path).map(|(parquet, _)| parquet)
    }

    fn append(&mut self, record: &Record<'_>) -> io::Result<()> {
        record::encode(record, &mut self.buffer);
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }
}
