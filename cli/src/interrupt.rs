//! Signals that end a comparison: the first in order, keeping the measurements so far; a later one at once.

use std::io::{Write, stderr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};
use signal_hook::iterator::Signals;
use signal_hook::low_level::exit;

use crate::exit::Exit;

/// One key press may arrive more than once: `timeout` signals its child and then the child's group. A deliberate second
/// press comes later than this.
const SAME: Duration = Duration::from_millis(500);

/// Waits for signals. The watchdog cleans up after the run, even where the end is at once.
#[derive(Debug)]
pub(crate) struct Interrupts {
    /// Set by the first signal.
    pub(crate) stop: Arc<AtomicBool>,
    results: Arc<Mutex<ResultsState>>,
}

/// The progress of the run's results.
#[derive(Debug)]
enum ResultsState {
    /// There are no results yet; these folders were made for them.
    Missing(Vec<PathBuf>),
    /// The results of earlier scenarios exist; these folders were made for the next ones.
    Partial(Vec<PathBuf>),
    /// The results are being written.
    Begun,
}

impl Interrupts {
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let ending = Arc::new(AtomicBool::new(false));
        let results = Arc::new(Mutex::new(ResultsState::Missing(Vec::new())));
        let ends = [SIGINT, SIGTERM, SIGHUP];
        for signal in ends {
            register_conditional_shutdown(signal, Exit::Interrupted as i32, Arc::clone(&ending))?;
            register(signal, Arc::clone(&stop))?;
        }
        let mut signals = Signals::new(ends)?;
        let of_run = Arc::clone(&results);
        let listen = move || {
            let mut first = None;
            for _ in &mut signals {
                if first.get_or_insert_with(Instant::now).elapsed() >= SAME {
                    end(&of_run, &ending);
                }
            }
        };
        std::thread::Builder::new().name("signals".into()).spawn(listen)?;
        Ok(Self { stop, results })
    }

    /// Registers the folders for the next results; they are removed if no results come.
    pub(crate) fn made(&self, folders: Vec<PathBuf>) {
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        *results = match *results {
            ResultsState::Missing(_) => ResultsState::Missing(folders),
            ResultsState::Partial(_) | ResultsState::Begun => ResultsState::Partial(folders),
        };
    }

    /// From now on, results are written into their folders.
    pub(crate) fn writing(&self) {
        *self.results.lock().unwrap_or_else(PoisonError::into_inner) = ResultsState::Begun;
    }

    /// Removes the folders, because no results will come.
    pub(crate) fn discard(&self) {
        self.results.lock().unwrap_or_else(PoisonError::into_inner).discard();
    }
}

impl ResultsState {
    /// Removes the folders without results; a folder with content stays.
    fn discard(&self) {
        if let Self::Missing(folders) | Self::Partial(folders) = self {
            for folder in folders {
                let _ = std::fs::remove_dir(folder);
            }
        }
    }
}

/// Ends the program at once, and reports the loss.
fn end(results: &Mutex<ResultsState>, ending: &AtomicBool) -> ! {
    let results = results.lock().unwrap_or_else(PoisonError::into_inner);
    results.discard();
    let lost = match *results {
        ResultsState::Missing(_) => "nothing is kept (a single Ctrl-C keeps the results so far)",
        ResultsState::Partial(_) => {
            "nothing is kept of this scenario (a single Ctrl-C keeps the results so far)"
        }
        ResultsState::Begun => "the results may be incomplete",
    };
    // If the line blocks, as on a full pipe, another signal ends the program without it.
    ending.store(true, Ordering::SeqCst);
    let mut err = stderr().lock();
    let _ = writeln!(err, "larder: interrupted again: {lost}");
    // The lock stays, so that no progress is drawn over the line.
    exit(Exit::Interrupted as i32)
}
