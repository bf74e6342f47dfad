//! The thread that turns journals into Parquet.
//!
//! A disk without room for the Parquet file leaves the journal. The thread tries such a journal again once there is room,
//! and a last time at the end.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use larder_workload::trace::{Journal, TraceError, TraceFault, finish_journal};

use super::files::is_nearly_full;
use super::name::{FINISHED, Names};
use crate::tell::{Tell, Weight};

/// The time between two attempts on the journals that found no room.
const AGAIN: Duration = Duration::from_secs(5);

/// What has become of a recording so far.
#[derive(Debug, Clone, Default)]
pub struct Written {
    /// The finished files that are still there, the oldest first.
    pub files: Vec<PathBuf>,
    /// Journals of this recording that could not be finished.
    pub left: Vec<PathBuf>,
}

/// A journal on its way to Parquet.
pub(super) enum Unfinished {
    /// One that this process has written.
    Own(Journal),
    /// One that another process has left behind.
    Left(PathBuf),
}

/// The finisher's work.
pub(super) struct Finisher {
    names: Names,
    /// The number of finished files that are kept.
    keep: Option<usize>,
    tell: Tell,
    written: Arc<Mutex<Written>>,
    /// Journals that found no room.
    again: Vec<PathBuf>,
}

impl Finisher {
    pub(super) fn new(
        names: Names,
        keep: Option<usize>,
        tell: Tell,
        written: Arc<Mutex<Written>>,
    ) -> Self {
        Self { names, keep, tell, written, again: Vec::new() }
    }

    /// Starts the thread. It gives way to the threads that pass bytes on, and ends with the sender.
    pub(super) fn start(self) -> io::Result<(Sender<Unfinished>, JoinHandle<()>)> {
        let (sender, journals) = channel();
        let thread = thread::Builder::new().name("finisher".into());
        let thread = thread.spawn(move || {
            larder_host::limits::give_way();
            self.run(&journals);
        })?;
        Ok((sender, thread))
    }

    fn run(mut self, journals: &Receiver<Unfinished>) {
        let mut tried = Instant::now();
        loop {
            match journals.recv_timeout(AGAIN) {
                Ok(journal) => self.take(journal),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let is_due = !self.again.is_empty() && tried.elapsed() >= AGAIN;
            if is_due && is_nearly_full(self.names.folder()).is_none() {
                self.try_again();
                tried = Instant::now();
            }
        }
        self.try_again();
    }

    fn take(&mut self, journal: Unfinished) {
        let (path, finished, is_own) = match journal {
            Unfinished::Own(journal) => (journal.path().to_owned(), journal.finish(), true),
            Unfinished::Left(path) => {
                let finished = finish_journal(&path).map(|(parquet, _)| parquet);
                (path, finished, false)
            }
        };
        let Some(error) = self.note(&path, finished).err() else { return };
        let message = format!("a journal is left as it is: {error}");
        (self.tell)(Weight::Error, "not_finished", &message);
        if is_own {
            self.written().left.push(path.clone());
        }
        // A journal that cannot be read stays so.
        if matches!(error.fault, TraceFault::Write(_)) {
            self.again.push(path);
        }
    }

    fn try_again(&mut self) {
        for path in std::mem::take(&mut self.again) {
            let finished = finish_journal(&path).map(|(parquet, _)| parquet);
            if self.note(&path, finished).is_err() {
                self.again.push(path);
            }
        }
    }

    /// Notes a file that is finished.
    fn note(
        &self,
        journal: &Path,
        finished: Result<PathBuf, TraceError>,
    ) -> Result<(), TraceError> {
        let path = finished?;
        (self.tell)(Weight::Info, "written", &format!("written: {}", path.display()));
        let mut written = self.written();
        written.left.retain(|left| left != journal);
        written.files.push(path);
        // A journal that was tried again may be older than other files.
        written.files.sort();
        remove_old(&self.names, self.keep);
        written.files.retain(|path| path.exists());
        Ok(())
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes the oldest finished files beyond a number.
fn remove_old(names: &Names, keep: Option<usize>) {
    let Some(keep) = keep else { return };
    let Ok(finished) = names.list(FINISHED) else { return };
    let n_old = finished.len().saturating_sub(keep);
    for (path, _) in finished.into_iter().take(n_old) {
        // One that cannot be removed is tried again with the next.
        let _ = fs::remove_file(path);
    }
}
