//! Threads that call a store that may wait, so that no worker waits and no connection waits for another's.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::context::{Desk, Scope, Shared};
use crate::conversation::{Conversation, Progress};
use crate::latency::Kind;
use crate::mailbox::{Mailbox, Message};
use crate::text::{self, TOGETHER};

/// The time between two attempts to get a session.
const PAUSE: Duration = Duration::from_millis(100);

/// The requests of one connection, on their way to an assistant and back.
#[derive(Debug)]
pub(crate) struct Job {
    /// The connection.
    pub(crate) token: u64,
    pub(crate) conversation: Conversation,
    pub(crate) input: Vec<u8>,
    pub(crate) answers: Vec<u8>,
    /// Bytes at the beginning of the input that are answered.
    pub(crate) answered: usize,
    /// `None` before the assistant is done, and where it failed.
    pub(crate) progress: Option<Progress>,
    /// The worker that has the connection.
    pub(crate) from: Arc<Mailbox>,
}

/// The requests that wait for an assistant.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    waiting: Mutex<Waiting>,
    came: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    /// No more will come.
    is_over: bool,
}

impl Jobs {
    /// Adds requests behind those that wait.
    pub(crate) fn add(&self, job: Job) {
        self.waiting().jobs.push_back(job);
        self.came.notify_one();
    }

    /// Waits for requests and takes the first; with it those behind it for as long as `goes_along` holds for each, at most
    /// `most` in all. `None` once there are none and no more will come.
    fn take(&self, most: usize, goes_along: impl Fn(&Job) -> bool) -> Option<Vec<Job>> {
        let is_idle = |waiting: &mut Waiting| waiting.jobs.is_empty() && !waiting.is_over;
        let waiting = self.came.wait_while(self.waiting(), is_idle);
        let mut waiting = waiting.unwrap_or_else(PoisonError::into_inner);
        let first = waiting.jobs.pop_front()?;
        let n = if goes_along(&first) {
            waiting.jobs.iter().take(most - 1).take_while(|job| goes_along(job)).count()
        } else {
            0
        };
        Some(std::iter::once(first).chain(waiting.jobs.drain(..n)).collect())
    }

    fn end(&self) {
        self.waiting().is_over = true;
        self.came.notify_all();
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The threads, and where they get their work.
#[derive(Debug)]
pub(crate) struct Assistants {
    jobs: Arc<Jobs>,
    threads: Vec<JoinHandle<()>>,
}

impl Drop for Assistants {
    fn drop(&mut self) {
        self.jobs.end();
    }
}

impl Assistants {
    /// Starts the threads. `first` is the place of the first one's counters.
    pub(crate) fn start(shared: &Arc<Shared>, first: usize) -> Result<Self, crate::Error> {
        let mut assistants = Self { jobs: Arc::default(), threads: Vec::new() };
        for i in 0..shared.settings.assistants.get() {
            let desk = Desk::new(shared, first + i, Scope::All)?;
            let jobs = Arc::clone(&assistants.jobs);
            let name = format!("assistant {i}");
            let thread = thread::Builder::new().name(name);
            assistants.threads.push(thread.spawn(move || work(desk, first + i, &jobs))?);
        }
        Ok(assistants)
    }

    pub(crate) fn jobs(&self) -> Arc<Jobs> {
        Arc::clone(&self.jobs)
    }

    /// Whether a thread has ended, which none does while the server runs.
    pub(crate) fn have_failed(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Waits for the threads, once no worker sends requests any more.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.jobs.end();
        for thread in std::mem::take(&mut self.threads) {
            thread
                .join()
                .map_err(|_| io::Error::other("a thread that calls the store has failed"))?;
        }
        Ok(())
    }
}

fn work(mut desk: Desk, place: usize, jobs: &Jobs) {
    while let Some(mut taken) = jobs.take(TOGETHER, |job| is_whole_set(job, &desk)) {
        if desk.shared.is_over.load(Ordering::Relaxed) {
            continue;
        }
        // A store that panics costs these clients their connections, and this thread its session.
        let done = catch_unwind(AssertUnwindSafe(|| store_together(&mut taken, &mut desk)));
        let mut has_failed = done.is_err();
        for mut job in taken {
            if !has_failed {
                has_failed =
                    catch_unwind(AssertUnwindSafe(|| advance(&mut job, &mut desk))).is_err();
            }
            if has_failed {
                // The last of them is not whole.
                job.answers.clear();
                job.progress = None;
            }
            let from = Arc::clone(&job.from);
            from.send(Message::Back(Box::new(job)));
        }
        if has_failed {
            let Some(new) = new_desk(&Arc::clone(&desk.shared), place) else { return };
            // What a session leaves behind may panic, too.
            let broken = std::mem::replace(&mut desk, new);
            let _ = catch_unwind(AssertUnwindSafe(|| drop(broken)));
        }
    }
}

/// Whether a plain set stands first, whose value can be stored together with those of other connections.
fn is_whole_set(job: &Job, desk: &Desk) -> bool {
    desk.shared.abilities.batch_write
        && !desk.logs_slow()
        && job.conversation.takes_any_request()
        && text::whole(&job.input, desk).is_some()
}

/// Stores the values of several connections by one call of the store: by one commit, where it has such.
fn store_together(jobs: &mut [Job], desk: &mut Desk) {
    if jobs.len() < 2 {
        return;
    }
    let began = Instant::now();
    let mut answers = Vec::new();
    let mut places = [(); TOGETHER].map(|()| 0..0);
    let lens: Vec<usize> = {
        let sets: Vec<_> = jobs.iter().filter_map(|job| text::whole(&job.input, desk)).collect();
        text::set_apart(&sets, desk, &mut answers, &mut places);
        sets.iter().map(|set| set.len).collect()
    };
    desk.counts.latencies.add(Kind::Set, began.elapsed(), jobs.len() as u64);
    for ((job, len), place) in jobs.iter_mut().zip(lens).zip(places) {
        job.answers.extend_from_slice(&answers[place]);
        job.answered = len;
    }
}

/// Answers the requests of a connection behind those that were answered already.
fn advance(job: &mut Job, desk: &mut Desk) {
    let Job { conversation, input, answers, answered, .. } = job;
    let mut progress = conversation.advance(&input[*answered..], desk, answers);
    progress.consumed += *answered;
    job.progress = Some(progress);
}

/// A desk in place of one whose store has panicked; `None` once the server is over.
fn new_desk(shared: &Arc<Shared>, place: usize) -> Option<Desk> {
    loop {
        if shared.is_over.load(Ordering::Relaxed) {
            return None;
        }
        match Desk::new(shared, place, Scope::All) {
            Ok(desk) => return Some(desk),
            Err(_) => thread::sleep(PAUSE),
        }
    }
}
