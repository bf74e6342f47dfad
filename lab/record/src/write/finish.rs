//! The thread that turns journals into Parquet.
//!
//! If the disk has no space for the Parquet file, the journal stays. The thread retries such a journal once there is space, and a
//! last time at the end.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use larder_workload::trace::{Journal, TraceError, TraceFault, finish_journal};

use super::name::{FINISHED, Names};
use super::space::is_nearly_full;
use crate::notice::{Notify, Severity};

/// The pause before journals without space are tried again.
const RETRY_PAUSE: Duration = Duration::from_secs(5);

/// The files of a recording so far.
#[derive(Debug, Clone, Default)]
pub struct Written {
    /// The finished files that are still there, the oldest first.
    pub files: Vec<PathBuf>,
    /// Journals of this recording that could not be finished.
    pub unfinished: Vec<PathBuf>,
}

/// A journal on its way to Parquet.
pub(super) enum Unfinished {
    /// This process has written it.
    Own(Journal),
    /// Another process has left it behind.
    Abandoned(PathBuf),
}

/// The finisher's work.
pub(super) struct Finisher {
    names: Names,
    /// The number of finished files that are kept.
    keep: Option<usize>,
    notify: Notify,
    written: Arc<Mutex<Written>>,
    /// Journals for which the disk had no space.
    retries: Vec<PathBuf>,
}

impl Finisher {
    pub(super) fn new(
        names: Names,
        keep: Option<usize>,
        notify: Notify,
        written: Arc<Mutex<Written>>,
    ) -> Self {
        Self { names, keep, notify, written, retries: Vec::new() }
    }

    /// Starts the thread. It has a lower priority than the threads that pass bytes on, and ends with the sender.
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
            match journals.recv_timeout(RETRY_PAUSE) {
                Ok(journal) => self.take(journal),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let is_due = !self.retries.is_empty() && tried.elapsed() >= RETRY_PAUSE;
            if is_due && is_nearly_full(self.names.folder()).is_none() {
                self.retry();
                tried = Instant::now();
            }
        }
        self.retry();
    }

    fn take(&mut self, journal: Unfinished) {
        let (path, finished, is_own) = match journal {
            Unfinished::Own(journal) => (journal.path().to_owned(), journal.finish(), true),
            Unfinished::Abandoned(path) => {
                let finished = finish_journal(&path).map(|(parquet, _)| parquet);
                (path, finished, false)
            }
        };
        let Some(error) = self.note(&path, finished).err() else { return };
        let message = format!("a journal is left as it is: {error}");
        (self.notify)(Severity::Error, "not_finished", &message);
        if is_own {
            self.written().unfinished.push(path.clone());
        }
        // A journal that cannot be read stays so.
        if matches!(error.fault, TraceFault::Write(_)) {
            self.retries.push(path);
        }
    }

    fn retry(&mut self) {
        for path in std::mem::take(&mut self.retries) {
            let finished = finish_journal(&path).map(|(parquet, _)| parquet);
            if self.note(&path, finished).is_err() {
                self.retries.push(path);
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
        (self.notify)(Severity::Info, "written", &format!("written: {}", path.display()));
        let mut written = self.written();
        written.unfinished.retain(|other| other != journal);
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
