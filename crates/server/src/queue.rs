//! The requests that wait for an assistant.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use larder_host::mailbox;
use larder_host::stream::Stream;

use crate::conversation::{Conversation, Progress};
use crate::text::TOGETHER;

/// The most jobs that an assistant takes at once.
pub(crate) const MOST: usize = TOGETHER;

/// What other threads send to a worker.
#[derive(Debug)]
pub(crate) enum Message {
    /// A new connection.
    Welcome(Stream),
    /// Requests that an assistant has answered.
    Back(Box<Job>),
}

/// The messages of a worker.
pub(crate) type Mailbox = mailbox::Mailbox<Message>;

/// The requests of one connection, on their way to an assistant and back.
#[derive(Debug)]
pub(crate) struct Job {
    /// The connection.
    pub(crate) token: u64,
    pub(crate) conversation: Conversation,
    pub(crate) input: Vec<u8>,
    /// The input begins with a `set` that can be stored together with those of other jobs.
    pub(crate) joins: bool,
    pub(crate) answers: Vec<u8>,
    /// `None` before the assistant is done, and where it failed.
    pub(crate) progress: Option<Progress>,
    /// The worker that has the connection.
    pub(crate) from: Arc<Mailbox>,
}

impl Job {
    /// Sends it back to its worker.
    pub(crate) fn send_back(self) {
        let from = Arc::clone(&self.from);
        from.send(Message::Back(Box::new(self)));
    }
}

/// A queue of jobs.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    has_more: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    /// Assistants that wait for a job.
    n_idle: usize,
    is_closed: bool,
}

impl Queue {
    /// Adds jobs, in this order.
    pub(crate) fn add(&self, jobs: &mut Vec<Job>) {
        let mut waiting = self.lock();
        waiting.jobs.extend(jobs.drain(..));
        self.wake_one(waiting);
    }

    /// Waits for a job and takes it. A job that joins others brings those that follow it directly, and join too. Other jobs
    /// stay for other assistants, which this one wakes. `false`: the queue is closed and empty.
    pub(crate) fn take(&self, taken: &mut Vec<Job>) -> bool {
        let mut waiting = self.lock();
        waiting.n_idle += 1;
        while waiting.jobs.is_empty() && !waiting.is_closed {
            waiting = self.has_more.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        waiting.n_idle -= 1;
        let Some(first) = waiting.jobs.pop_front() else { return false };
        let joins = first.joins;
        taken.push(first);
        while joins && taken.len() < MOST {
            let Some(next) = waiting.jobs.pop_front_if(|next| next.joins) else { break };
            taken.push(next);
        }
        self.wake_one(waiting);
        true
    }

    /// Ends the waits of all assistants once no jobs are left.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.has_more.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes an assistant if there are jobs for it. It wakes the next one in turn, so a worker makes one call of the system.
    fn wake_one(&self, waiting: MutexGuard<'_, Waiting>) {
        let is_of_use = !waiting.jobs.is_empty() && waiting.n_idle > 0;
        drop(waiting);
        if is_of_use {
            self.has_more.notify_one();
        }
    }
}
