//! The threads that call the store for a worker: itself, assistants, or both.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use crate::context::{Desk, Shared};
use crate::own::Own;
use crate::queue::{Job, Queue};

/// The threads that call the store.
#[derive(Debug)]
pub(crate) struct Hands {
    /// The worker's own desk, for the requests that it answers itself.
    pub(super) desk: Option<Box<Desk>>,
    /// The way to the assistants, for the other requests.
    queue: Option<Arc<Queue>>,
    /// Jobs that are about to go there. They go together, so that an assistant finds the sets that it can store together.
    leaving: Vec<Job>,
    /// The place of the desk's counters.
    place: usize,
}

impl Hands {
    /// The hands of the worker at this place. Without assistants it answers everything itself.
    pub(crate) fn new(
        shared: &Arc<Shared>,
        queue: Option<Arc<Queue>>,
        place: usize,
    ) -> Result<Self, larder_store::Error> {
        let has_own = shared.own() != Own::Nothing;
        let desk = has_own.then(|| Desk::of_worker(shared, place)).transpose()?;
        Ok(Self { desk: desk.map(Box::new), queue, leaving: Vec::new(), place })
    }

    /// Has the worker's desk do some work. `None` where the worker has no desk, or where the store has panicked and
    /// assistants are there: then the worker has a new session, as an assistant would.
    #[inline]
    pub(super) fn work<T>(&mut self, work: impl FnOnce(&mut Desk) -> T) -> Option<T> {
        let desk = self.desk.as_mut()?;
        if self.queue.is_none() {
            return Some(work(desk));
        }
        let panic = match catch_unwind(AssertUnwindSafe(|| work(desk))) {
            Ok(done) => return Some(done),
            Err(panic) => panic,
        };
        let Ok(new) = Desk::of_worker(&Arc::clone(&desk.shared), self.place) else {
            resume_unwind(panic)
        };
        // What a session leaves behind may panic, too.
        let broken = std::mem::replace(&mut **desk, new);
        let _ = catch_unwind(AssertUnwindSafe(|| drop(broken)));
        None
    }

    /// Prepares a job for the assistants.
    pub(super) fn give_away(&mut self, job: Job) {
        self.leaving.push(job);
    }

    /// Gives the assistants their jobs.
    #[inline]
    pub(super) fn let_go(&mut self) {
        if let Some(queue) = &self.queue
            && !self.leaving.is_empty()
        {
            queue.add(&mut self.leaving);
        }
    }

    /// Goes on after a stall, once enough time has passed.
    #[inline]
    pub(super) fn end_rest(&mut self, now_ms: u64) {
        if let Some(desk) = &mut self.desk {
            desk.portion.end_rest(now_ms);
        }
    }
}
