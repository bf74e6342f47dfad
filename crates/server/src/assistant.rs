//! Threads that call a store that may wait, so that no worker waits and no connection waits for another's.
//!
//! Plain sets that wait together are stored by one call, where the store has one commit or one request for many entries.
//! The more the store is behind, the more sets a call has.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::context::{Desk, Shared};
use crate::conversation::{Next, Progress};
use crate::latency::Kind;
use crate::queue::{Job, MOST, Queue};
use crate::text::{self, Whole};

/// The time between two attempts to get a session.
const PAUSE: Duration = Duration::from_millis(100);

/// The threads, and where they get their work.
#[derive(Debug)]
pub(crate) struct Assistants {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
}

impl Assistants {
    /// Starts the threads. `first` is the place of the first one's counters.
    pub(crate) fn start(shared: &Arc<Shared>, first: usize) -> Result<Self, crate::Error> {
        let mut started = Self { queue: Arc::default(), threads: Vec::new() };
        for i in 0..shared.settings.assistants.get() {
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
    ) -> Result<JoinHandle<()>, crate::Error> {
        let assistant = Assistant { desk: Desk::of_assistant(shared, place)?, place };
        let queue = Arc::clone(&self.queue);
        let thread = thread::Builder::new().name(format!("assistant {i}"));
        Ok(thread.spawn(move || assistant.work(&queue))?)
    }

    /// Where they get their work.
    pub(crate) fn queue(&self) -> Arc<Queue> {
        Arc::clone(&self.queue)
    }

    /// Whether a thread has ended, which none does while the server runs.
    pub(crate) fn have_failed(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Ends the threads, once no worker gives them work any more.
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
struct Assistant {
    desk: Desk,
    /// The place of its counters.
    place: usize,
}

impl Assistant {
    fn work(mut self, queue: &Queue) {
        let mut jobs = Vec::new();
        while queue.take(&mut jobs) {
            if self.desk.shared.is_over.load(Ordering::Relaxed) {
                jobs.clear();
            }
            if !self.store_together(&mut jobs) || !jobs.drain(..).all(|job| self.go_on(job)) {
                return;
            }
        }
    }

    /// Stores what several jobs begin with, and sends back those that ask for nothing else. `false` once the server is over.
    fn store_together(&mut self, jobs: &mut Vec<Job>) -> bool {
        if jobs.len() < 2 {
            return true;
        }
        let desk = &mut self.desk;
        // A store that panics costs these clients their connections, and this thread its session.
        if catch_unwind(AssertUnwindSafe(|| store_together(jobs, desk))).is_err() {
            jobs.drain(..).for_each(Job::fail);
            return self.renew();
        }
        let is_done = |job: &mut Job| job.n_stored() == job.input.len();
        jobs.extract_if(.., is_done).for_each(Job::send_back);
        true
    }

    /// Answers the requests of one connection that are left. `false` once the server is over.
    fn go_on(&mut self, mut job: Job) -> bool {
        let begin = job.n_stored();
        let Job { conversation, input, answers, .. } = &mut job;
        let desk = &mut self.desk;
        // A store that panics costs one client its connection, and this thread its session.
        let progress =
            catch_unwind(AssertUnwindSafe(|| conversation.advance(&input[begin..], desk, answers)));
        let Ok(Progress { consumed, next }) = progress else {
            job.fail();
            return self.renew();
        };
        job.progress = Some(Progress { consumed: begin + consumed, next });
        job.send_back();
        true
    }

    /// Takes a new desk after the store has panicked; `false` once the server is over.
    fn renew(&mut self) -> bool {
        let shared = Arc::clone(&self.desk.shared);
        loop {
            if shared.is_over.load(Ordering::Relaxed) {
                return false;
            }
            if let Ok(new) = Desk::of_assistant(&shared, self.place) {
                // What a session leaves behind may panic, too.
                let broken = std::mem::replace(&mut self.desk, new);
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

    /// Sends it back as failed. Its last answer is not whole.
    fn fail(mut self) {
        self.answers.clear();
        self.progress = None;
        self.send_back();
    }
}

/// Stores the values at the beginning of these jobs by one call of the store.
fn store_together(jobs: &mut [Job], desk: &mut Desk) {
    let mut sets = [None; MOST];
    for (set, job) in sets.iter_mut().zip(&*jobs) {
        *set = text::whole(&job.input, &desk.shared);
    }
    // A job joins others only where it begins with a whole set.
    let Some(first) = sets[0].filter(|_| sets[..jobs.len()].iter().all(Option::is_some)) else {
        return;
    };
    let sets: [Whole<'_>; MOST] = sets.map(|set| set.unwrap_or(first));
    let mut answers = Vec::new();
    let mut places = [(); MOST].map(|()| 0..0);
    let began = Instant::now();
    text::set_apart(&sets[..jobs.len()], desk, &mut answers, &mut places);
    desk.counts.latencies.add(Kind::Set, began.elapsed(), jobs.len() as u64);
    let lens = sets.map(|set| set.len);
    for ((job, place), consumed) in jobs.iter_mut().zip(places).zip(lens) {
        job.answers.extend_from_slice(&answers[place]);
        job.progress = Some(Progress { consumed, next: Next::Read(0) });
    }
}
