//! Signals that end a comparison: the first in order, with what was measured until then; a later one at once.

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

/// One key pressed may arrive more than once: `timeout` signals its child and then the group that the child is in.
/// Nobody presses it again, and means it, within this time.
const SAME: Duration = Duration::from_millis(500);

/// Waits for signals. What they leave behind is cleaned up by the watchdog, even where the end is at once.
#[derive(Debug)]
pub(crate) struct Interrupts {
    /// Set by the first signal.
    pub(crate) stop: Arc<AtomicBool>,
    results: Arc<Mutex<Results>>,
}

/// How far the results of the run are.
#[derive(Debug)]
enum Results {
    /// There are none yet, and these folders were made for them.
    Missing(Vec<PathBuf>),
    /// Those of the scenarios before are there, and these folders were made for the next one's.
    Partial(Vec<PathBuf>),
    /// They are being written.
    Begun,
}

impl Interrupts {
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let ending = Arc::new(AtomicBool::new(false));
        let results = Arc::new(Mutex::new(Results::Missing(Vec::new())));
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

    /// These folders are made for the results that come next; without them they go again.
    pub(crate) fn made(&self, folders: Vec<PathBuf>) {
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        *results = match *results {
            Results::Missing(_) => Results::Missing(folders),
            Results::Partial(_) | Results::Begun => Results::Partial(folders),
        };
    }

    /// The results come into their folders from now on.
    pub(crate) fn writing(&self) {
        *self.results.lock().unwrap_or_else(PoisonError::into_inner) = Results::Begun;
    }

    /// There will be no results.
    pub(crate) fn discard(&self) {
        self.results.lock().unwrap_or_else(PoisonError::into_inner).discard();
    }
}

impl Results {
    /// Removes the folders that were made for nothing; one with content stays.
    fn discard(&self) {
        if let Self::Missing(folders) | Self::Partial(folders) = self {
            for folder in folders {
                let _ = std::fs::remove_dir(folder);
            }
        }
    }
}

/// Ends the program here and now, and says what that costs.
fn end(results: &Mutex<Results>, ending: &AtomicBool) -> ! {
    let results = results.lock().unwrap_or_else(PoisonError::into_inner);
    results.discard();
    let lost = match *results {
        Results::Missing(_) => "nothing is kept (a single Ctrl-C keeps what was measured)",
        Results::Partial(_) => {
            "nothing is kept of this scenario (a single Ctrl-C keeps what was measured)"
        }
        Results::Begun => "the results may be incomplete",
    };
    // Where nobody takes the line, as behind a pipe that is full, yet another signal ends it without.
    ending.store(true, Ordering::SeqCst);
    let mut err = stderr().lock();
    let _ = writeln!(err, "larder: interrupted again: {lost}");
    // Still locked, so that no progress is drawn over it.
    exit(Exit::Interrupted as i32)
}
