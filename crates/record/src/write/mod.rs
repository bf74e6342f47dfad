//! The writing of rows, by a thread of its own: a disk that is slow holds up no traffic.
//!
//! Batches of rows wait in a queue of bounded length. Where it is full, a batch is dropped and counted.

mod files;
mod finish;
mod name;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::batch::{BATCH_BYTES, Batch};

pub use files::{Files, Limits};
pub use finish::Written;

/// The most bytes of rows that wait to be written: a second of a million operations.
const WAITING_BYTES: usize = 64 << 20;

/// The most batches that wait to be written. Most batches have [`BATCH_BYTES`]; smaller ones take memory too.
const WAITING: usize = WAITING_BYTES / BATCH_BYTES;

/// Batches whose memory is kept for the next rows.
const SPARE: usize = 8;

/// The time after which a sink is flushed: a recording that is killed loses the rows of this time.
const FLUSH: Duration = Duration::from_millis(300);

/// What takes rows.
pub trait RowSink: Send {
    /// Takes rows.
    ///
    /// # Errors
    ///
    /// Not one of these rows is taken, and all count as dropped.
    fn write(&mut self, batch: &Batch) -> io::Result<()>;

    /// The number of rows that were taken and are lost all the same, since the last call. They count as dropped.
    fn take_lost(&mut self) -> u64 {
        0
    }

    /// Hears that so many rows were dropped.
    fn drop_rows(&mut self, n_rows: u64);

    /// Is called a few times a second: what was taken must survive the death of this process.
    fn tick(&mut self);

    /// Completes what was taken.
    fn finish(&mut self);
}

/// Gives batches to the thread that writes. Any number of threads may have it.
#[derive(Debug, Clone)]
pub struct Hand {
    sender: SyncSender<Batch>,
    shared: Arc<Spare>,
}

#[derive(Debug, Default)]
struct Spare {
    batches: Mutex<Vec<Batch>>,
    /// Bytes of the rows in the queue. A thread that finds much to read gives far more than [`BATCH_BYTES`] at once.
    waiting_bytes: AtomicUsize,
    /// Rows that were dropped, all of them.
    dropped: AtomicU64,
    /// The sink hears of no further rows, though hands are left.
    is_over: AtomicBool,
}

/// The thread that writes.
#[derive(Debug)]
pub struct Writer {
    thread: Option<JoinHandle<()>>,
    shared: Arc<Spare>,
}

impl Writer {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// The system gives no thread.
    pub fn start(sink: Box<dyn RowSink>) -> io::Result<(Self, Hand)> {
        let (sender, batches) = sync_channel(WAITING);
        let shared = Arc::new(Spare::default());
        let of_thread = Arc::clone(&shared);
        let thread = thread::Builder::new().name("writer".into());
        let thread = thread.spawn(move || write_all(sink, &batches, &of_thread))?;
        let hand = Hand { sender, shared: Arc::clone(&shared) };
        Ok((Self { thread: Some(thread), shared }, hand))
    }

    /// Rows that were dropped so far.
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }

    /// Waits until all rows that were given are written, and the recording is complete. Rows that are given later are lost.
    pub fn finish(mut self) -> u64 {
        self.end();
        self.dropped()
    }

    fn end(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has written what it could.
            let _ = thread.join();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.end();
    }
}

impl Hand {
    /// Rows that were dropped so far.
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }

    /// Gives the rows away, or drops them where the writing has fallen behind. The batch is empty afterwards.
    pub(crate) fn give(&self, batch: &mut Batch) {
        if batch.is_empty() {
            return;
        }
        let spare = self.shared.batches.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let full = std::mem::replace(batch, spare.unwrap_or_default());
        let (n_rows, n_bytes) = (full.len() as u64, full.size_bytes());
        let n_waiting = self.shared.waiting_bytes.fetch_add(n_bytes, Ordering::Relaxed);
        let sent = if n_waiting + n_bytes > WAITING_BYTES {
            Err(TrySendError::Full(full))
        } else {
            self.sender.try_send(full)
        };
        if let Err(TrySendError::Full(full) | TrySendError::Disconnected(full)) = sent {
            self.shared.waiting_bytes.fetch_sub(n_bytes, Ordering::Relaxed);
            self.shared.dropped.fetch_add(n_rows, Ordering::Relaxed);
            batch.add_others(&full);
        }
    }
}

impl Hand {
    /// Gives the rows away, and waits where the writing has fallen behind.
    pub(crate) fn give_patiently(&self, batch: &mut Batch) {
        if batch.is_empty() {
            return;
        }
        let n_rows = batch.len() as u64;
        self.shared.waiting_bytes.fetch_add(batch.size_bytes(), Ordering::Relaxed);
        if self.sender.send(std::mem::take(batch)).is_err() {
            self.shared.dropped.fetch_add(n_rows, Ordering::Relaxed);
        }
    }
}

fn write_all(mut sink: Box<dyn RowSink>, batches: &Receiver<Batch>, shared: &Spare) {
    let mut told = 0;
    loop {
        let next = batches.recv_timeout(FLUSH);
        // What was given before the end is still there.
        let is_over = shared.is_over.load(Ordering::Acquire);
        match next {
            Ok(mut batch) => {
                if sink.write(&batch).is_err() {
                    shared.dropped.fetch_add(batch.len() as u64, Ordering::Relaxed);
                }
                shared.waiting_bytes.fetch_sub(batch.size_bytes(), Ordering::Relaxed);
                batch.clear();
                let mut spare = shared.batches.lock().unwrap_or_else(PoisonError::into_inner);
                if spare.len() < SPARE {
                    spare.push(batch);
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if is_over => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        shared.dropped.fetch_add(sink.take_lost(), Ordering::Relaxed);
        let dropped = shared.dropped.load(Ordering::Relaxed);
        if dropped > told {
            sink.drop_rows(dropped - told);
            told = dropped;
        }
        sink.tick();
    }
    sink.finish();
    shared.dropped.fetch_add(sink.take_lost(), Ordering::Relaxed);
}
