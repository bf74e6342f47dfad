//! The queue of offloaded requests, between event loops and storage threads.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use larder_host::mailbox;
use larder_host::stream::Stream;

use crate::connection_state::{ConnectionState, Progress};
use crate::limits::TOGETHER;

/// The most jobs that a storage thread takes at once.
pub(crate) const MAX_JOBS: usize = TOGETHER;

/// What other threads send to an event loop.
#[derive(Debug)]
pub(crate) enum Message {
    /// A new connection, from the thread that accepts.
    Accepted(Stream),
    /// A job that a storage thread has done.
    Completed(Box<Job>),
}

/// The messages of an event loop.
pub(crate) type Mailbox = mailbox::Mailbox<Message>;

/// The requests of one connection, on their way to a storage thread and back.
#[derive(Debug)]
pub(crate) struct Job {
    /// The connection.
    pub(crate) token: u64,
    pub(crate) state: ConnectionState,
    pub(crate) input: Vec<u8>,
    /// The input begins with a `set` that can be stored in one batch with those of other jobs.
    pub(crate) is_batchable: bool,
    pub(crate) answers: Vec<u8>,
    /// `None` before the storage thread is done, and where it failed.
    pub(crate) progress: Option<Progress>,
    /// The event loop that has the connection.
    pub(crate) from: Arc<Mailbox>,
}

impl Job {
    /// Returns it to its event loop.
    pub(crate) fn complete(self) {
        let from = Arc::clone(&self.from);
        from.send(Message::Completed(Box::new(self)));
    }
}

/// A queue of jobs.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    has_more: Condvar,
}

#[derive(Debug, Default)]
struct State {
    jobs: VecDeque<Job>,
    /// Storage threads that wait for a job.
    n_idle: usize,
    is_closed: bool,
}

impl Queue {
    /// Adds jobs, in this order.
    pub(crate) fn add(&self, jobs: &mut Vec<Job>) {
        let mut state = self.lock();
        state.jobs.extend(jobs.drain(..));
        self.wake_one(state);
    }

    /// Waits for a job and takes it, with the batchable jobs directly behind it if it is batchable. Other jobs stay for other
    /// storage threads, of which this one wakes the next. `false` if the queue is closed and empty.
    pub(crate) fn take(&self, taken: &mut Vec<Job>) -> bool {
        let mut state = self.lock();
        state.n_idle += 1;
        while state.jobs.is_empty() && !state.is_closed {
            state = self.has_more.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.n_idle -= 1;
        let Some(first) = state.jobs.pop_front() else { return false };
        let is_batchable = first.is_batchable;
        taken.push(first);
        while is_batchable && taken.len() < MAX_JOBS {
            let Some(next) = state.jobs.pop_front_if(|next| next.is_batchable) else { break };
            taken.push(next);
        }
        self.wake_one(state);
        true
    }

    /// Ends the waits of all storage threads once no jobs are left.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.has_more.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes a storage thread if there are jobs for it. That thread wakes the next one, so an event loop makes one system call.
    fn wake_one(&self, state: MutexGuard<'_, State>) {
        let is_of_use = !state.jobs.is_empty() && state.n_idle > 0;
        drop(state);
        if is_of_use {
            self.has_more.notify_one();
        }
    }
}
