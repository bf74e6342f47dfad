//! The threads that call the store for a worker: itself, assistants, or both.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::assistant::{Job, Jobs};
use crate::context::Desk;

/// A turn of all connections from this length on is a stall of the store.
const STALL: Duration = Duration::from_millis(10);

/// The time after a stall for which the worker leaves all requests to assistants, in milliseconds.
const REST_MS: u64 = 1000;

/// The threads that call the store.
#[derive(Debug)]
pub(super) struct Hands {
    /// What the worker itself works with, where the store seldom waits.
    desk: Option<Box<Desk>>,
    /// The way to assistants, where the store may wait.
    jobs: Option<Arc<Jobs>>,
    /// The millisecond of the server until which the worker rests after a stall.
    rests_until_ms: u64,
    /// Whether it rests in this turn.
    is_resting: bool,
    /// When the turn began, where it is timed.
    began: Option<Instant>,
}

impl Hands {
    pub(super) fn new(desk: Option<Box<Desk>>, jobs: Option<Arc<Jobs>>) -> Self {
        Self { desk, jobs, rests_until_ms: 0, is_resting: false, began: None }
    }

    /// Begins a turn of all connections.
    #[inline]
    pub(super) fn begin(&mut self, now_ms: u64) {
        if self.jobs.is_some() && self.desk.is_some() {
            self.is_resting = now_ms < self.rests_until_ms;
            self.began = Some(Instant::now());
        }
    }

    /// Ends it; `true` where the store has stalled it. The store may stall the next turns too, so others take them.
    #[inline]
    pub(super) fn end(&mut self, now_ms: u64) -> bool {
        let began = self.began.take().filter(|_| !self.is_resting);
        let has_stalled = began.is_some_and(|began| began.elapsed() >= STALL);
        if has_stalled {
            self.rests_until_ms = now_ms + REST_MS;
        }
        has_stalled
    }

    /// Whether the worker itself calls the store in this turn.
    #[inline]
    pub(super) fn has_desk(&self) -> bool {
        self.desk.is_some() && !self.is_resting
    }

    /// What it works with, if it does.
    #[inline]
    pub(super) fn desk(&mut self) -> Option<&mut Desk> {
        self.desk.as_deref_mut().filter(|_| !self.is_resting)
    }

    /// Gives requests to an assistant.
    pub(super) fn send(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            jobs.add(job);
        }
    }
}
