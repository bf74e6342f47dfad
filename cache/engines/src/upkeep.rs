//! A thread that works for all sessions of a store, until the store ends.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use larder_store::{Error, Result};

/// The thread, which ends on drop.
#[derive(Debug)]
pub(crate) struct Upkeep {
    ending: Arc<Ending>,
    thread: Option<JoinHandle<()>>,
}

/// Whether the store ends, and the condition that wakes the thread then.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    is_here: Mutex<bool>,
    came: Condvar,
}

impl Ending {
    /// Waits for the end of the store, at most for `pause`; `true` when the store ends.
    pub(crate) fn within(&self, pause: Duration) -> bool {
        let is_here = self.is_here.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.came.wait_timeout_while(is_here, pause, |is_here| !*is_here);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Upkeep {
    /// Starts a thread for `work`, which returns once the store ends.
    pub(crate) fn start(
        engine: &'static str,
        work: impl FnOnce(&Ending) + Send + 'static,
    ) -> Result<Self> {
        let ending = Arc::new(Ending::default());
        let until = Arc::clone(&ending);
        let thread = std::thread::Builder::new()
            .name(format!("{engine} upkeep"))
            .spawn(move || work(&until))
            .map_err(|source| Error::Io { engine, what: "starting a thread".into(), source })?;
        Ok(Self { ending, thread: Some(thread) })
    }
}

impl Drop for Upkeep {
    fn drop(&mut self) {
        *self.ending.is_here.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.ending.came.notify_all();
        if let Some(thread) = self.thread.take() {
            // The thread returns nothing.
            let _ = thread.join();
        }
    }
}
