//! Which thread calls the store for an event loop: itself, a storage thread, or either by the class of the request.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use crate::context::{Context, Shared};
use crate::queue::{Job, Queue};
use crate::request_class::RequestClass;

/// Runs store calls in the event loop, or offloads them.
#[derive(Debug)]
pub(crate) struct Dispatcher {
    /// The event loop's own context, for the requests that it answers itself.
    pub(super) context: Option<Box<Context>>,
    /// The queue of the storage threads, for the other requests.
    queue: Option<Arc<Queue>>,
    /// Jobs for the next flush. They are queued together, so that a storage thread finds the sets of one batch.
    pending: Vec<Job>,
    /// The place of the context's counters.
    place: usize,
}

impl Dispatcher {
    /// The dispatcher of the event loop at this place. Without storage threads it answers everything itself.
    pub(crate) fn new(
        shared: &Arc<Shared>,
        queue: Option<Arc<Queue>>,
        place: usize,
    ) -> Result<Self, larder_store::Error> {
        let calls_store = shared.event_loop_class() != RequestClass::Nothing;
        let context = calls_store.then(|| Context::of_event_loop(shared, place)).transpose()?;
        Ok(Self { context: context.map(Box::new), queue, pending: Vec::new(), place })
    }

    /// Does some work with the event loop's context. `None` if the event loop has no context, or if the store panicked and there
    /// are storage threads: then the event loop has a new session, as a storage thread would.
    #[inline]
    pub(super) fn run<T>(&mut self, work: impl FnOnce(&mut Context) -> T) -> Option<T> {
        let context = self.context.as_mut()?;
        if self.queue.is_none() {
            return Some(work(context));
        }
        let panic = match catch_unwind(AssertUnwindSafe(|| work(context))) {
            Ok(done) => return Some(done),
            Err(panic) => panic,
        };
        let Ok(new) = Context::of_event_loop(&Arc::clone(&context.shared), self.place) else {
            resume_unwind(panic)
        };
        // The drop of the old session may panic, too.
        let broken = std::mem::replace(&mut **context, new);
        let _ = catch_unwind(AssertUnwindSafe(|| drop(broken)));
        None
    }

    /// Puts a job into the next flush.
    pub(super) fn offload(&mut self, job: Job) {
        self.pending.push(job);
    }

    /// Queues the pending jobs for the storage threads.
    #[inline]
    pub(super) fn flush(&mut self) {
        if let Some(queue) = &self.queue
            && !self.pending.is_empty()
        {
            queue.add(&mut self.pending);
        }
    }

    /// Ends the back-off after a stall, once enough time has passed.
    #[inline]
    pub(super) fn end_back_off(&mut self, now_ms: u64) {
        if let Some(context) = &mut self.context {
            context.served.end_back_off(now_ms);
        }
    }
}
