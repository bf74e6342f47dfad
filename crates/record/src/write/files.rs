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
use larder_host::disk::file_system;
use larder_workload::trace::{About, Journal, OtherKeys, Row, TraceSource, read_rows};

use super::finish::{Finisher, Unfinished, Written};
use super::name::{FINISHED, JOURNAL, Names};
use super::{FLUSH, RowSink};
use crate::batch::Batch;
use crate::tell::{Tell, Weight};

/// The time between two looks at the disk.
const LOOK: Duration = Duration::from_secs(1);

/// Room that is left to others on the disk: a twentieth of it, or this much if that is less.
const LEFT_BYTES: u64 = 1 << 30;

/// A file is this share of what a recording may take of the disk, where nothing else is told.
const PARTS: u64 = 8;

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
        self.rotate_bytes.or(self.most_bytes.map(|most| most / PARTS))
    }
}

/// The files of a recording.
pub struct Files {
    names: Names,
    limits: Limits,
    about: About,
    tell: Tell,
    journal: Option<Open>,
    /// The first journal has the name that was given.
    is_first: bool,
    flushed: Instant,
    looked: Instant,
    /// The earliest time that the name of the next file may have: names stay in order when the clock is set back.
    not_named_before: Timestamp,
    /// Dropped rows that no journal has heard of.
    untold: u64,
    /// What was done with keys outside of the sample, as far as no journal has heard of it.
    others: OtherKeys,
    /// Rows that were taken and could not be written, since somebody asked.
    lost: u64,
    /// The disk has no room for more rows.
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
    /// A sentence: a name that cannot be, a recording that exists already, and what the disk refuses.
    pub fn begin(path: &Path, about: About, limits: Limits, tell: Tell) -> Result<Self, String> {
        let names = Names::of(path)?;
        make_way(&names, limits)?;
        let left = left_behind(&names).map_err(|error| error.to_string())?;
        let written = Arc::new(Mutex::new(Written::default()));
        let finisher =
            Finisher::new(names.clone(), limits.keep, Arc::clone(&tell), Arc::clone(&written));
        let finisher =
            finisher.start().map_err(|error| format!("no thread to finish files: {error}"))?;
        for path in left {
            // The thread lives as long as the sender.
            let _ = finisher.0.send(Unfinished::Left(path));
        }
        let now = Instant::now();
        let mut files = Self {
            names,
            limits,
            about,
            tell,
            journal: None,
            is_first: true,
            flushed: now,
            looked: now,
            not_named_before: Timestamp::UNIX_EPOCH,
            untold: 0,
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

    /// What has become of the recording, from any thread and after its end.
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
        if self.untold > 0 && journal.drop_rows(self.untold).is_ok() {
            self.untold = 0;
        }
        self.journal = Some(Open { journal, began: Instant::now() });
        Ok(())
    }

    /// The open journal, or a new one; `None` where there can be none at the moment.
    fn journal_mut(&mut self) -> Option<&mut Journal> {
        if self.journal.is_none() {
            if self.is_full || self.not_before.is_some_and(|time| Instant::now() < time) {
                return None;
            }
            if let Err(error) = self.open() {
                self.give_up(&error.to_string());
            }
        }
        self.journal.as_mut().map(|open| &mut open.journal)
    }

    /// Ends a journal that cannot be written. What it has is kept, and later rows go to another one.
    fn give_up(&mut self, error: &str) {
        let message = format!("rows are not recorded at the moment: {error}");
        (self.tell)(Weight::Error, "not_written", &message);
        self.not_before = Some(Instant::now() + LOOK);
        self.end_journal();
    }

    /// Has the journal become a finished file.
    fn end_journal(&mut self) {
        let (Some(mut open), Some((sender, _))) = (self.journal.take(), &self.finisher) else {
            return;
        };
        if let Err(error) = open.journal.flush() {
            let message = format!("the last rows of a journal are lost: {error}");
            (self.tell)(Weight::Error, "not_written", &message);
        }
        let lost = open.journal.lost();
        self.lost += lost.rows;
        self.untold += lost.dropped;
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

    /// Looks whether there is room for more rows.
    fn look_at_disk(&mut self) {
        self.looked = Instant::now();
        let why = self.why_full();
        if let (Some(why), false) = (&why, self.is_full) {
            let message = format!("rows are not recorded until there is room: {why}");
            (self.tell)(Weight::Error, "no_room", &message);
        }
        self.is_full = why.is_some();
    }

    fn why_full(&self) -> Option<String> {
        if let Some(why) = is_nearly_full(self.names.folder()) {
            return Some(why);
        }
        let most = self.limits.most_bytes?;
        let taken = make_room(&self.names, most).ok()?;
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
                self.give_up(&error.to_string());
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
            // The next journal tells them.
            self.untold += n_rows;
            return;
        };
        if let Err(error) = journal.drop_rows(n_rows) {
            self.give_up(&error.to_string());
        }
    }

    fn tick(&mut self) {
        if self.flushed.elapsed() < FLUSH {
            return;
        }
        self.flushed = Instant::now();
        let flushed = self.journal.as_mut().map_or(Ok(()), |open| open.journal.flush());
        if let Err(error) = flushed {
            self.give_up(&error.to_string());
        }
        self.rotate_if_old();
        if self.looked.elapsed() >= LOOK {
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

/// The reason why a disk takes no more rows; `None` while it has room.
pub(super) fn is_nearly_full(folder: &Path) -> Option<String> {
    let under = file_system(folder).ok()?;
    let (size, free) = (under.size_bytes?, under.free_bytes?);
    (free < LEFT_BYTES.min(size / 20))
        .then(|| format!("the disk under {} is nearly full", folder.display()))
}

fn next_microsecond(time: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(time.as_microsecond() + 1).unwrap_or(time)
}

/// Makes way for a recording: a journal that was left behind without a time in its name gets the time of its first row.
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
    let _ = read_rows(&TraceSource { path: journal.into(), format: None }, &mut first);
    Timestamp::from_microsecond(i64::try_from(time_us?).ok()?).ok()
}

/// The journals with a time in their names that no process is writing, the oldest first.
fn left_behind(names: &Names) -> io::Result<Vec<PathBuf>> {
    let is_left = |path: &PathBuf| File::open(path).is_ok_and(|file| file.try_lock().is_ok());
    Ok(names.list(JOURNAL)?.into_iter().map(|(path, _)| path).filter(is_left).collect())
}

/// Removes the oldest finished files until all files take no more than `most` bytes, or none is left. Returns their bytes.
fn make_room(names: &Names, most: u64) -> io::Result<u64> {
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
