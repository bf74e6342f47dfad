//! Turns a journal into Parquet.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::ENDING;
use crate::trace::error::{TraceError, TraceFault};
use crate::trace::parquet;
use crate::trace::sink::{About, read_rows};
use crate::trace::source::TraceSource;
use crate::trace::writer::TraceWriter;

/// The path of the Parquet file that a journal becomes.
pub(super) fn finished(journal: &Path) -> PathBuf {
    let is_journal = journal.extension().is_some_and(|ending| ending == ENDING);
    if is_journal {
        journal.with_extension("parquet")
    } else {
        journal.with_added_extension("parquet")
    }
}

/// Turns `NAME.journal` into `NAME.parquet`, which appears whole and on the disk; then the journal is removed. Returns
/// the path, and what the recording tells of itself.
///
/// It may be killed at any time and be called again. A journal without a row becomes a file without a row.
///
/// # Errors
///
/// A journal that another process is writing, a broken one, and errors of the disk. The journal is left then.
pub fn finish_journal(journal: &Path) -> Result<(PathBuf, About), TraceError> {
    let failed =
        |path: &Path, error| TraceError { path: path.into(), fault: TraceFault::Write(error) };
    let opened = File::open(journal)
        .and_then(|file| file.try_lock().map(|()| file).map_err(io::Error::from));
    // The lock lasts to the end: nobody else finishes the journal meanwhile.
    let lock = opened.map_err(|error| {
        if error.kind() == io::ErrorKind::WouldBlock {
            failed(journal, io::Error::other("another process has it open; end that first"))
        } else {
            TraceError { path: journal.into(), fault: TraceFault::Read(error) }
        }
    })?;
    let parquet = finished(journal);
    let beside = parquet.with_added_extension("new");
    let about = write(journal, &beside).inspect_err(|_| {
        // It is of no use. If it cannot be removed, the next one overwrites it.
        let _ = fs::remove_file(&beside);
    })?;
    fs::rename(&beside, &parquet).map_err(|error| failed(&parquet, error))?;
    fs::remove_file(journal).map_err(|error| failed(journal, error))?;
    drop(lock);
    Ok((parquet, about))
}

/// Writes the rows of a journal to a new file.
fn write(journal: &Path, to: &Path) -> Result<About, TraceError> {
    let failed = |error| TraceError { path: to.into(), fault: TraceFault::Write(error) };
    // As the journal, the recording is for its owner. A file that an earlier process left may have another mode.
    let _ = fs::remove_file(to);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let file = options.open(to).map_err(failed)?;
    let out = BufWriter::new(file.try_clone().map_err(failed)?);
    let mut writer = TraceWriter::new(parquet::FORMAT, out).map_err(failed)?;
    let source = TraceSource { format: Some(super::FORMAT), ..TraceSource::from(journal) };
    let about = read_rows(&source, &mut writer)?;
    writer.finish(&about).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    Ok(about)
}
