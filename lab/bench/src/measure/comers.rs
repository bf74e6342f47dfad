//! Connections that come and go while a phase lasts, and connections that are open and say nothing.
//!
//! The connections come at instants that nothing can move, as the operations of an open loop do. Their times count from
//! these instants, so that a server that is slow to accept shows in each of them. Several threads open them, because
//! opening waits.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hdrhistogram::Histogram;
use larder_store::{Answer, Error, Result, Store};

use super::clock::{now_ns, sleep_until, thread_cpu_ns};
use super::draw::Dataset;
use super::outcomes::verify;
use super::tally::Tally;
use larder_workload::Correctness;

/// Threads that open connections.
pub(super) const OPENERS: usize = 4;
/// The time between two looks at whether the phase is over, in nanoseconds.
const NAP_NS: u64 = 20_000_000;

/// The connections that come in a phase.
#[derive(Debug, Clone, Copy)]
pub struct Coming<'a> {
    /// The store that they connect to.
    pub store: &'a dyn Store,
    /// Connections that come each second.
    pub per_s: u32,
}

/// The connections that came in a phase.
#[derive(Debug, Clone)]
pub struct Comers {
    /// Connections that were due each second.
    pub planned_per_s: u32,
    /// Connections that were begun.
    pub begun: u64,
    /// Connections that were not opened, or got no right answer.
    pub failed: u64,
    /// From the instant at which a connection was due until it was open, in nanoseconds.
    pub connect: Histogram<u64>,
    /// From the same instant until the answer to its first request, in nanoseconds.
    pub first_answer: Histogram<u64>,
    /// CPU time of the threads that opened them, in nanoseconds.
    pub(super) cpu_ns: u64,
    /// The first failure, in its own words.
    pub first_error: Option<String>,
}

/// Connections that are open and say nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Idle {
    /// The number of connections.
    pub connections: u32,
    /// The memory by which the servers grew when they were opened, in bytes; `None` where it is unknown or did not grow.
    pub server_bytes: Option<u64>,
}

/// The state that the threads share.
pub(super) struct Comings<'a> {
    pub(super) coming: Coming<'a>,
    pub(super) dataset: Dataset<'a>,
    /// Whether the store replays the last set: any whole value is right.
    pub(super) replays: bool,
    taken: AtomicU64,
    is_over: AtomicBool,
}

impl<'a> Comings<'a> {
    pub(super) fn new(coming: Coming<'a>, dataset: Dataset<'a>, replays: bool) -> Self {
        let (taken, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
        Self { coming, dataset, replays, taken, is_over }
    }

    /// The phase is over: no further connection comes.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Opens connections as they are due, until the phase is over.
    pub(super) fn open(&self, began: u64) -> Comers {
        let mut came = Comers::new(self.coming.per_s);
        let cpu = thread_cpu_ns();
        let (mut room, mut key) = (vec![0; 64 << 10], Vec::new());
        loop {
            let number = self.taken.fetch_add(1, Ordering::Relaxed);
            let due = began + number * 1_000_000_000 / u64::from(self.coming.per_s.max(1));
            if !self.waits_until(due) {
                break;
            }
            came.begun += 1;
            let index = number % u64::from(self.dataset.keys.count());
            let index = u32::try_from(index).expect("below the number of keys");
            key.clear();
            self.dataset.keys.write(index, &mut key);
            match self.visit(index, &key, &mut room) {
                Ok((connected, answered)) => {
                    came.connect.saturating_record(connected.saturating_sub(due).max(1));
                    came.first_answer.saturating_record(answered.saturating_sub(due).max(1));
                }
                Err(error) => {
                    came.failed += 1;
                    came.first_error.get_or_insert_with(|| error.to_string());
                }
            }
        }
        came.cpu_ns = thread_cpu_ns() - cpu;
        came
    }

    /// Waits until a connection is due; false where the phase is over before.
    fn waits_until(&self, due: u64) -> bool {
        while !self.is_over.load(Ordering::Relaxed) {
            let left = due.saturating_sub(now_ns());
            if left == 0 {
                return true;
            }
            sleep_until(due - left.saturating_sub(NAP_NS));
        }
        false
    }

    /// Opens a connection and asks for a key; returns when it was open, and when the answer came.
    fn visit(&self, index: u32, key: &[u8], room: &mut [u8]) -> Result<(u64, u64)> {
        let mut session = self.coming.store.session()?;
        let engine = session.engine();
        let operation = "a request without waiting";
        let pipeline = session.pipeline().ok_or(Error::Unsupported { engine, operation })?;
        pipeline.connect()?;
        let connected = now_ns();
        pipeline.get(0, key)?;
        let mut judged = None;
        while judged.is_none() && pipeline.n_outstanding() > 0 {
            pipeline.wait(room, &mut |_, answer| judged = Some(self.judge(index, answer, engine)));
        }
        let answered = now_ns();
        judged.unwrap_or_else(|| Err(wrong(engine, "no answer to its first request")))?;
        Ok((connected, answered))
    }

    /// A miss is an answer; another value than one of this turn is none.
    fn judge(&self, index: u32, answer: Answer<'_>, engine: &'static str) -> Result<()> {
        let finding = match answer {
            Answer::Miss => Correctness::Right,
            Answer::Hit { value, .. } => {
                let Dataset { values, state, .. } = self.dataset;
                verify(values, state, self.replays, index, state.base(), value)
            }
            Answer::Failed(error) => return Err(error),
            _ => Correctness::Damaged,
        };
        if finding == Correctness::Right {
            return Ok(());
        }
        Err(wrong(engine, "a wrong value to its first request"))
    }
}

#[cold]
fn wrong(engine: &'static str, message: &str) -> Error {
    Error::Protocol { engine, peer: "the store".into(), message: message.into() }
}

impl Comers {
    fn new(planned_per_s: u32) -> Self {
        let histogram = Tally::new().latency;
        Self {
            planned_per_s,
            begun: 0,
            failed: 0,
            connect: histogram.clone(),
            first_answer: histogram,
            cpu_ns: 0,
            first_error: None,
        }
    }

    /// Adds the connections of another thread.
    pub(super) fn merge(mut self, other: &Self) -> Self {
        self.begun += other.begun;
        self.failed += other.failed;
        self.cpu_ns += other.cpu_ns;
        self.connect.add(&other.connect).expect("both have the same bounds");
        self.first_answer.add(&other.first_answer).expect("both have the same bounds");
        if self.first_error.is_none() {
            self.first_error.clone_from(&other.first_error);
        }
        self
    }
}
