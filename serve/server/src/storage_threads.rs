//! Threads that call a store that may wait, so that no event loop waits and no connection waits for another's.
//!
//! Plain sets that wait in the queue together are stored by one call, if the store has one commit or one request for many
//! entries. The longer the queue, the more sets a call has.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::connection_state::{Next, Progress};
use crate::context::{Context, Shared};
use crate::error::Error;
use crate::latency::Kind;
use crate::queue::{Job, MAX_JOBS, Queue};
use crate::text::{self, CompleteSet};

/// The time between two attempts to get a session.
const PAUSE: Duration = Duration::from_millis(100);

/// The threads and their queue.
#[derive(Debug)]
pub(crate) struct StorageThreads {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
}

impl StorageThreads {
    /// Starts the threads. `first` is the index of the first one's counters.
    pub(crate) fn start(shared: &Arc<Shared>, first: usize) -> Result<Self, Error> {
        let mut started = Self { queue: Arc::default(), threads: Vec::new() };
        for i in 0..shared.settings.storage_threads.get() {
            match started.start_one(shared, i, first + i) {
                Ok(thread) => started.threads.push(thread),
                Err(error) => {
                    let _ = started.finish();
                    return Err(error);
                }
            }
        }
        Ok(started)
    }

    fn start_one(
        &self,
        shared: &Arc<Shared>,
        i: usize,
        place: usize,
    ) -> Result<JoinHandle<()>, Error> {
        let storage_thread =
            StorageThread { context: Context::of_storage_thread(shared, place)?, place };
        let queue = Arc::clone(&self.queue);
        let thread = thread::Builder::new().name(format!("storage {i}"));
        Ok(thread.spawn(move || storage_thread.work(&queue))?)
    }

    /// Their queue.
    pub(crate) fn queue(&self) -> Arc<Queue> {
        Arc::clone(&self.queue)
    }

    /// Whether a thread has ended early: while the server runs, no thread should.
    pub(crate) fn have_failed(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Ends the threads, once no event loop offloads jobs any more.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.queue.close();
        for thread in self.threads {
            thread
                .join()
                .map_err(|_| io::Error::other("a thread that calls the store has failed"))?;
        }
        Ok(())
    }
}

/// One of the threads.
struct StorageThread {
    context: Context,
    /// The index of its counters.
    place: usize,
}

impl StorageThread {
    fn work(mut self, queue: &Queue) {
        let mut jobs = Vec::new();
        while queue.take(&mut jobs) {
            if self.context.shared.has_ended.load(Ordering::Relaxed) {
                jobs.clear();
            }
            if !self.store_batch(&mut jobs) || !jobs.drain(..).all(|job| self.resume(job)) {
                return;
            }
        }
    }

    /// Stores the sets at the beginning of several jobs, and completes the jobs without further input. `false` once the server
    /// has ended.
    fn store_batch(&mut self, jobs: &mut Vec<Job>) -> bool {
        if jobs.len() < 2 {
            return true;
        }
        let context = &mut self.context;
        // A store that panics costs these clients their connections, and this thread its session.
        if catch_unwind(AssertUnwindSafe(|| store_batch(jobs, context))).is_err() {
            jobs.drain(..).for_each(Job::fail);
            return self.renew_context();
        }
        let is_done = |job: &mut Job| job.n_stored() == job.input.len();
        jobs.extract_if(.., is_done).for_each(Job::complete);
        true
    }

    /// Answers the requests of one connection that are left. `false` once the server has ended.
    fn resume(&mut self, mut job: Job) -> bool {
        let begin = job.n_stored();
        let Job { state, input, answers, .. } = &mut job;
        let context = &mut self.context;
        // A store that panics costs one client its connection, and this thread its session.
        let progress =
            catch_unwind(AssertUnwindSafe(|| state.advance(&input[begin..], context, answers)));
        let Ok(Progress { consumed, next }) = progress else {
            job.fail();
            return self.renew_context();
        };
        job.progress = Some(Progress { consumed: begin + consumed, next });
        job.complete();
        true
    }

    /// Takes a new context after the store has panicked; `false` once the server has ended.
    fn renew_context(&mut self) -> bool {
        let shared = Arc::clone(&self.context.shared);
        loop {
            if shared.has_ended.load(Ordering::Relaxed) {
                return false;
            }
            if let Ok(new) = Context::of_storage_thread(&shared, self.place) {
                // The drop of the old session may panic, too.
                let broken = std::mem::replace(&mut self.context, new);
                let _ = catch_unwind(AssertUnwindSafe(|| drop(broken)));
                return true;
            }
            thread::sleep(PAUSE);
        }
    }
}

impl Job {
    /// Bytes of the input that were answered together with other jobs.
    fn n_stored(&self) -> usize {
        self.progress.map_or(0, |progress| progress.consumed)
    }

    /// Completes it as failed, without its answers: the last may be cut short.
    fn fail(mut self) {
        self.answers.clear();
        self.progress = None;
        self.complete();
    }
}

/// Stores the values at the beginning of these jobs by one call of the store.
fn store_batch(jobs: &mut [Job], context: &mut Context) {
    let mut sets = [None; MAX_JOBS];
    for (set, job) in sets.iter_mut().zip(&*jobs) {
        *set = text::complete_set(&job.input, &context.shared);
    }
    // A batchable job begins with a complete set.
    let Some(first) = sets[0].filter(|_| sets[..jobs.len()].iter().all(Option::is_some)) else {
        return;
    };
    let sets: [CompleteSet<'_>; MAX_JOBS] = sets.map(|set| set.unwrap_or(first));
    let mut answers = Vec::new();
    let mut places = [(); MAX_JOBS].map(|()| 0..0);
    let began = Instant::now();
    text::set_for_connections(&sets[..jobs.len()], context, &mut answers, &mut places);
    context.counts.latencies.add(Kind::Set, began.elapsed(), jobs.len() as u64);
    let lens = sets.map(|set| set.len);
    for ((job, place), consumed) in jobs.iter_mut().zip(places).zip(lens) {
        job.answers.extend_from_slice(&answers[place]);
        job.progress = Some(Progress { consumed, next: Next::Read(0) });
    }
}
