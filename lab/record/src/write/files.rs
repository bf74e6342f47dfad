//! The files of a recording: the journal that is being written, and the Parquet files that journals become.

use std::fs::{self, File};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use larder_workload::trace::{About, Journal, OtherKeys, Row, TraceSource, read_rows};

use super::finish::{Finisher, Unfinished, Written};
use super::name::{FINISHED, JOURNAL, Names};
use super::sink::{FLUSH, RowSink};
use super::space::is_nearly_full;
use crate::batch::Batch;
use crate::notice::{Notify, Severity};

/// The time between two checks of the disk.
const CHECK_PAUSE: Duration = Duration::from_secs(1);

/// A file has this part of the limit of bytes, unless an option sets its size.
const PARTS_OF_LIMIT: u64 = 8;

/// The bounds of a recording's files.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// The length of a journal at which the next file begins.
    pub rotate_bytes: Option<u64>,
    /// The time after which the next file begins.
    pub rotate_every: Option<Duration>,
    /// The number of finished files; older ones are removed.
    pub keep: Option<usize>,
    /// The bytes that all files take together.
    pub most_bytes: Option<u64>,
    /// A recording of one file replaces a finished file of its name.
    pub overwrites: bool,
    /// A journal without rows leaves no file.
    pub drops_empty: bool,
}

impl Limits {
    fn rotates(&self) -> bool {
        self.rotate_bytes.is_some() || self.rotate_every.is_some() || self.most_bytes.is_some()
    }

    /// The length of a journal at which the next file begins.
    fn journal_bytes(&self) -> Option<u64> {
        self.rotate_bytes.or(self.most_bytes.map(|most| most / PARTS_OF_LIMIT))
    }
}

/// The files of a recording.
pub struct Files {
    names: Names,
    limits: Limits,
    about: About,
    notify: Notify,
    journal: Option<Open>,
    /// The first journal has the name that was given.
    is_first: bool,
    flushed: Instant,
    checked_at: Instant,
    /// The earliest time that the name of the next file may have: names stay in order when the clock is set back.
    not_named_before: Timestamp,
    /// Dropped rows that no journal counts yet.
    unreported: u64,
    /// Operations on keys outside of the sample that no journal counts yet.
    others: OtherKeys,
    /// Rows that were taken and could not be written, since the last call of `take_lost`.
    lost: u64,
    /// The disk has no space for more rows.
    is_full: bool,
    /// No journal is opened before this time, because of an error.
    not_before: Option<Instant>,
    finisher: Option<(Sender<Unfinished>, JoinHandle<()>)>,
    written: Arc<Mutex<Written>>,
}

/// The journal that is being written.
struct Open {
    journal: Journal,
    began: Instant,
}

impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Files").field("names", &self.names).finish_non_exhaustive()
    }
}

impl Files {
    /// Begins the recording `FILE`. Journals that a process has left behind are finished meanwhile.
    ///
    /// # Errors
    ///
    /// A sentence: the name is invalid, the recording exists already, or the disk refuses the file.
    pub fn begin(
        path: &Path,
        about: About,
        limits: Limits,
        notify: Notify,
    ) -> Result<Self, String> {
        let names = Names::of(path)?;
        make_way(&names, limits)?;
        let left = abandoned_journals(&names).map_err(|error| error.to_string())?;
        let written = Arc::new(Mutex::new(Written::default()));
        let finisher =
            Finisher::new(names.clone(), limits.keep, Arc::clone(&notify), Arc::clone(&written));
        let finisher =
            finisher.start().map_err(|error| format!("no thread to finish files: {error}"))?;
        for path in left {
            // The thread lives as long as the sender.
            let _ = finisher.0.send(Unfinished::Abandoned(path));
        }
        let now = Instant::now();
        let mut files = Self {
            names,
            limits,
            about,
            notify,
            journal: None,
            is_first: true,
            flushed: now,
            checked_at: now,
            not_named_before: Timestamp::UNIX_EPOCH,
            unreported: 0,
            others: OtherKeys::default(),
            lost: 0,
            is_full: false,
            not_before: None,
            finisher: Some(finisher),
            written,
        };
        files.open().map_err(|error| {
            format!("{error}; name a file in a folder with room, in which you may write")
        })?;
        Ok(files)
    }

    /// The files of the recording, from any thread and after its end.
    pub fn written(&self) -> Arc<Mutex<Written>> {
        Arc::clone(&self.written)
    }

    /// The journal that is being written.
    pub fn journal(&self) -> Option<&Path> {
        self.journal.as_ref().map(|open| open.journal.path())
    }

    fn open(&mut self) -> Result<(), larder_workload::trace::TraceError> {
        let is_only = self.is_first && !self.limits.rotates();
        let path = if is_only {
            self.names.only(JOURNAL)
        } else {
            let time = Timestamp::now().max(self.not_named_before);
            self.not_named_before = next_microsecond(time);
            self.names.of_time(time)
        };
        let mut journal = if is_only && self.limits.overwrites {
            Journal::replacing(&path, &self.about)?
        } else {
            Journal::create(&path, &self.about)?
        };
        self.is_first = false;
        if self.unreported > 0 && journal.drop_rows(self.unreported).is_ok() {
            self.unreported = 0;
        }
        self.journal = Some(Open { journal, began: Instant::now() });
        Ok(())
    }

    /// The open journal, or a new one; `None` if none can be opened at the moment.
    fn journal_mut(&mut self) -> Option<&mut Journal> {
        if self.journal.is_none() {
            if self.is_full || self.not_before.is_some_and(|time| Instant::now() < time) {
                return None;
            }
            if let Err(error) = self.open() {
                self.abandon_journal(&error.to_string());
            }
        }
        self.journal.as_mut().map(|open| &mut open.journal)
    }

    /// Ends a journal that cannot be written. What it has is kept, and later rows go to another one.
    fn abandon_journal(&mut self, error: &str) {
        let message = format!("rows are not recorded at the moment: {error}");
        (self.notify)(Severity::Error, "not_written", &message);
        self.not_before = Some(Instant::now() + CHECK_PAUSE);
        self.end_journal();
    }

    /// Has the journal become a finished file.
    fn end_journal(&mut self) {
        let (Some(mut open), Some((sender, _))) = (self.journal.take(), &self.finisher) else {
            return;
        };
        if let Err(error) = open.journal.flush() {
            let message = format!("the last rows of a journal are lost: {error}");
            (self.notify)(Severity::Error, "not_written", &message);
        }
        let lost = open.journal.lost();
        self.lost += lost.rows;
        self.unreported += lost.dropped;
        if self.limits.drops_empty && open.journal.n_rows() == 0 {
            // Where it cannot be removed, the next recording finishes it.
            let _ = fs::remove_file(open.journal.path());
            return;
        }
        // The thread lives as long as the sender.
        let _ = sender.send(Unfinished::Own(open.journal));
    }

    /// Ends a journal that is as long as it may become. The disk gets no more than one journal between two looks at it.
    fn rotate_if_long(&mut self) {
        let Some(Open { journal, .. }) = &self.journal else { return };
        let is_long = self.limits.journal_bytes().is_some_and(|most| journal.size_bytes() >= most);
        if is_long && journal.n_rows() > 0 {
            self.end_journal();
            self.look_at_disk();
        }
    }

    fn rotate_if_old(&mut self) {
        let Some(Open { journal, began }) = &self.journal else { return };
        let is_old = self.limits.rotate_every.is_some_and(|time| began.elapsed() >= time);
        if is_old && journal.n_rows() > 0 {
            self.end_journal();
        }
    }

    /// Checks whether there is space for more rows.
    fn look_at_disk(&mut self) {
        self.checked_at = Instant::now();
        let why = self.why_full();
        if let (Some(why), false) = (&why, self.is_full) {
            let message = format!("rows are not recorded until there is room: {why}");
            (self.notify)(Severity::Error, "no_room", &message);
        }
        self.is_full = why.is_some();
    }

    fn why_full(&self) -> Option<String> {
        if let Some(why) = is_nearly_full(self.names.folder()) {
            return Some(why);
        }
        let most = self.limits.most_bytes?;
        let taken = free_space(&self.names, most).ok()?;
        (taken > most).then(|| format!("the recording takes {taken} of {most} bytes"))
    }
}

impl RowSink for Files {
    fn write(&mut self, batch: &Batch) -> io::Result<()> {
        let others = self.others.plus(batch.others());
        self.others = others;
        if self.is_full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let Some(journal) = self.journal_mut() else {
            return Err(io::ErrorKind::StorageFull.into());
        };
        if others.operations > 0 && journal.note_others(others).is_ok() {
            self.others = OtherKeys::default();
        }
        let Some(journal) = self.journal_mut() else {
            return Err(io::ErrorKind::StorageFull.into());
        };
        for (place, row) in batch.rows().enumerate() {
            if let Err(error) = journal.push(&row) {
                // The journal counts the rows that it was given.
                self.lost += (batch.len() - place - 1) as u64;
                self.abandon_journal(&error.to_string());
                break;
            }
        }
        self.rotate_if_long();
        Ok(())
    }

    fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }

    fn drop_rows(&mut self, n_rows: u64) {
        let Some(journal) = self.journal_mut() else {
            // The next journal counts them.
            self.unreported += n_rows;
            return;
        };
        if let Err(error) = journal.drop_rows(n_rows) {
            self.abandon_journal(&error.to_string());
        }
    }

    fn tick(&mut self) {
        if self.flushed.elapsed() < FLUSH {
            return;
        }
        self.flushed = Instant::now();
        let flushed = self.journal.as_mut().map_or(Ok(()), |open| open.journal.flush());
        if let Err(error) = flushed {
            self.abandon_journal(&error.to_string());
        }
        self.rotate_if_old();
        if self.checked_at.elapsed() >= CHECK_PAUSE {
            self.look_at_disk();
        }
    }

    fn finish(&mut self) {
        self.end_journal();
        if let Some((sender, thread)) = self.finisher.take() {
            drop(sender);
            // A thread that panicked leaves a journal, which can be finished later.
            let _ = thread.join();
        }
    }
}

fn next_microsecond(time: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(time.as_microsecond() + 1).unwrap_or(time)
}

/// Frees the name of a recording: an abandoned journal without a time in its name gets the time of its first row.
fn make_way(names: &Names, limits: Limits) -> Result<(), String> {
    let rotates = limits.rotates();
    let finished = names.only(FINISHED);
    if !rotates && !limits.overwrites && finished.exists() {
        return Err(format!(
            "{} exists; take another name, replace it by --overwrite, or let each file have its time with --rotate-every",
            finished.display()
        ));
    }
    let journal = names.only(JOURNAL);
    let shown = journal.display();
    if let Ok(file) = File::open(&journal) {
        if file.try_lock().is_ok() {
            let aside = names.of_time(began(&journal).unwrap_or_else(Timestamp::now));
            fs::rename(&journal, &aside).map_err(|error| format!("{shown}: {error}"))?;
        } else if !rotates {
            return Err(format!("{shown}: another process is recording there; take another name"));
        }
    }
    Ok(())
}

/// The time of a journal's first row, where it has one.
fn began(journal: &Path) -> Option<Timestamp> {
    let mut time_us = None;
    let mut first = |row: &Row<'_>| {
        time_us = row.time_us;
        ControlFlow::Break(())
    };
    // A journal that cannot be read has no time.
    let _ = read_rows(&TraceSource::from(journal), &mut first);
    Timestamp::from_microsecond(i64::try_from(time_us?).ok()?).ok()
}

/// The journals with a time in their names that no process is writing, the oldest first.
fn abandoned_journals(names: &Names) -> io::Result<Vec<PathBuf>> {
    let is_left = |path: &PathBuf| File::open(path).is_ok_and(|file| file.try_lock().is_ok());
    Ok(names.list(JOURNAL)?.into_iter().map(|(path, _)| path).filter(is_left).collect())
}

/// Removes the oldest finished files until all files take no more than `most` bytes, or none is left. Returns their bytes.
fn free_space(names: &Names, most: u64) -> io::Result<u64> {
    let finished = names.list(FINISHED)?;
    let others = [JOURNAL, "parquet.new"].map(|ending| names.list(ending));
    let mut taken: u64 = finished.iter().map(|(_, bytes)| bytes).sum();
    for list in others {
        taken += list?.iter().map(|(_, bytes)| bytes).sum::<u64>();
    }
    for (path, bytes) in finished {
        if taken <= most {
            break;
        }
        fs::remove_file(path)?;
        taken -= bytes;
    }
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{BATCH_BYTES, NONE, Stored};
    use larder_workload::trace::Verb;

    /// As many reads as go from thread to thread at once.
    fn batch() -> Batch {
        let mut batch = Batch::default();
        for number in 0.. {
            if batch.size_bytes() >= BATCH_BYTES {
                break;
            }
            let read = Stored {
                time_ns: number,
                request: number,
                hash: number,
                amount: 0,
                latency_ns: number,
                connection: 0,
                key_size: 16,
                value_size: NONE,
                ttl_s: NONE,
                clear_len: NONE,
                operation: Verb::Get,
                result: None,
            };
            batch.push(read, None);
        }
        batch
    }

    /// The bounds in bytes hold however many rows come between two ticks.
    #[test]
    fn bytes_are_counted_with_every_batch_and_not_by_the_clock() {
        let batch = batch();
        for limits in [
            Limits { rotate_bytes: Some(4096), ..Limits::default() },
            Limits { most_bytes: Some(4 * 4096), ..Limits::default() },
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("calls.parquet");
            let mut files =
                Files::begin(&path, About::default(), limits, Arc::new(|_, _, _| {})).unwrap();
            let mut taken = 0;
            for _ in 0..20 {
                taken += u64::from(files.write(&batch).is_ok());
                assert!(files.journal().is_none(), "a journal is longer than it may be");
            }
            match limits.most_bytes {
                None => assert_eq!(taken, 20),
                Some(_) => assert!(taken < 20, "no look at what the files take"),
            }
            files.finish();
        }
    }
}
