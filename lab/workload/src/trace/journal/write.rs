//! Writes a journal.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::finish::{finish_journal, finished};
use super::record::{self, LEN, Record};
use crate::trace::error::{TraceError, TraceFault};
use crate::trace::row::Row;
use crate::trace::sink::{About, OtherKeys};

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
    lost: LostRecords,
}

/// What a journal was given and could not write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LostRecords {
    /// Rows.
    pub rows: u64,
    /// Dropped rows that the journal does not tell of.
    pub dropped: u64,
}

impl Journal {
    /// Creates `NAME.journal`, which becomes `NAME.parquet`.
    ///
    /// # Errors
    ///
    /// Where one of the two exists, and errors of the disk.
    pub fn create(path: &Path, about: &About) -> Result<Self, TraceError> {
        let parquet = finished(path);
        if parquet.exists() {
            let reason = format!("{} exists; take another name", parquet.display());
            let error = io::Error::new(io::ErrorKind::AlreadyExists, reason);
            return Err(TraceError { path: path.into(), fault: TraceFault::Write(error) });
        }
        Self::replacing(path, about)
    }

    /// Creates `NAME.journal`, which becomes `NAME.parquet`. A file of this name stays until then, and is replaced.
    ///
    /// # Errors
    ///
    /// Where the journal exists, and errors of the disk.
    pub fn replacing(path: &Path, about: &About) -> Result<Self, TraceError> {
        let failed = |error| TraceError { path: path.into(), fault: TraceFault::Write(error) };
        let mut options = OpenOptions::new();
        // Keys and times of the traffic are for their owner.
        options.append(true).create_new(true).mode(0o600);
        let file = options.open(path).map_err(failed)?;
        let begin = || {
            file.try_lock().map_err(io::Error::from)?;
            (&file).write_all(&record::header(about))
        };
        if let Err(error) = begin() {
            // A journal without its header is of no use.
            let _ = fs::remove_file(path);
            return Err(failed(error));
        }
        Ok(Self {
            path: path.into(),
            file,
            buffer: Vec::new(),
            written_bytes: LEN as u64,
            n_rows: 0,
            lost: LostRecords::default(),
        })
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

    /// Notes that this many rows were not recorded, because writing fell behind.
    pub fn drop_rows(&mut self, n_rows: u64) -> io::Result<()> {
        self.append(&Record::Dropped(n_rows))
    }

    /// Notes what was done with keys that are not in the sample.
    pub fn note_others(&mut self, others: OtherKeys) -> io::Result<()> {
        self.append(&Record::Others(others))
    }

    /// Hands everything to the system.
    ///
    /// # Errors
    ///
    /// Errors of the disk. The records that were not written as a whole are lost then, and [`Journal::lost`] counts them.
    pub fn flush(&mut self) -> io::Result<()> {
        let (n_bytes, written) = write_all(&mut self.file, &self.buffer);
        self.written_bytes += n_bytes as u64;
        if written.is_err() {
            self.count_lost(n_bytes);
        }
        // After an error a part may be written. To write it again would put records behind a torn one.
        self.buffer.clear();
        written
    }

    /// Counts the records of the buffer that end behind its first bytes, which are written.
    fn count_lost(&mut self, n_bytes: usize) {
        let mut end = 0;
        while let Some(fixed) = self.buffer[end..].first_chunk::<LEN>() {
            let begin = end;
            end = (begin + LEN + record::key_len(fixed).unwrap_or(0)).min(self.buffer.len());
            if end <= n_bytes {
                continue;
            }
            match record::decode(&self.buffer[begin..end]) {
                Some(Record::Row(_)) => self.lost.rows += 1,
                Some(Record::Dropped(n_rows)) => self.lost.dropped += n_rows,
                Some(Record::Others(_)) | None => {}
            }
        }
    }

    /// What was given so far and is lost, because of errors of the disk.
    pub fn lost(&self) -> LostRecords {
        self.lost
    }

    /// The length of the file once everything is flushed. The Parquet file is several times shorter.
    pub fn size_bytes(&self) -> u64 {
        self.written_bytes + self.buffer.len() as u64
    }

    /// The number of rows, lost ones left out.
    pub fn n_rows(&self) -> u64 {
        self.n_rows - self.lost.rows
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

/// Writes all bytes. Returns the number of written bytes in any case.
fn write_all(file: &mut File, bytes: &[u8]) -> (usize, io::Result<()>) {
    let mut n_bytes = 0;
    while n_bytes < bytes.len() {
        match file.write(&bytes[n_bytes..]) {
            Ok(0) => return (n_bytes, Err(io::ErrorKind::WriteZero.into())),
            Ok(n) => n_bytes += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (n_bytes, Err(error)),
        }
    }
    (n_bytes, Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::row::Key;

    #[test]
    fn a_recording_is_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls.journal");
        let journal = Journal::create(&path, &About::default()).unwrap();
        assert_eq!(mode(&path), 0o600);
        drop(journal);
        // What an interrupted process of an older version left, for all to read.
        fs::write(folder.path().join("calls.parquet.new"), "PAR1").unwrap();
        let (parquet, _) = finish_journal(&path).unwrap();
        assert_eq!(mode(&parquet), 0o600);
    }

    #[test]
    fn rows_that_an_error_has_lost_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls.journal");
        let mut journal = Journal::create(&path, &About::default()).unwrap();
        journal.push(&Row::get(Key::Bytes(b"first"))).unwrap();
        journal.flush().unwrap();
        // A file that is open for reading takes nothing.
        journal.file = File::open(&path).unwrap();
        journal.push(&Row::get(Key::Bytes(b"second"))).unwrap();
        journal.push(&Row::get(Key::Hash(3))).unwrap();
        journal.drop_rows(40).unwrap();
        journal.flush().unwrap_err();
        assert_eq!(journal.lost(), LostRecords { rows: 2, dropped: 40 });
        assert_eq!(journal.n_rows(), 1);
    }

    #[test]
    fn records_that_were_written_in_whole_before_an_error_are_not_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls.journal");
        let mut journal = Journal::create(&path, &About::default()).unwrap();
        for _ in 0..3 {
            journal.push(&Row::get(Key::Bytes(b"key"))).unwrap();
        }
        // The second record ends with the last byte that was written, and the third one is torn.
        journal.count_lost(2 * (LEN + 3));
        assert_eq!(journal.lost().rows, 1);
        journal.count_lost(2 * (LEN + 3) - 1);
        assert_eq!(journal.lost().rows, 3);
    }
}
