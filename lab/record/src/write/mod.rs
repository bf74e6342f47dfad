//! The writing of rows, by a thread of its own: a disk that is slow holds up no traffic.
//!
//! Batches of rows wait in a queue of bounded length. Where it is full, a batch is dropped and counted.

mod files;
mod finish;
mod name;
mod sink;
mod space;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::batch::{BATCH_BYTES, Batch};

pub use files::{Files, Limits};
pub use finish::Written;
use sink::FLUSH;
pub use sink::RowSink;

/// The most bytes of rows in the queue: a second of a million operations.
const MAX_QUEUED_BYTES: usize = 64 << 20;

/// The most batches in the queue. Most batches have [`BATCH_BYTES`]; smaller ones take memory too.
const MAX_QUEUED_BATCHES: usize = MAX_QUEUED_BYTES / BATCH_BYTES;

/// Batches whose memory is kept for the next rows.
const MAX_SPARE: usize = 8;

/// Sends batches to the writer thread. Any number of threads may have a clone.
#[derive(Debug, Clone)]
pub struct RowSender {
    sender: SyncSender<Batch>,
    shared: Arc<WriterState>,
}

#[derive(Debug, Default)]
struct WriterState {
    batches: Mutex<Vec<Batch>>,
    /// Bytes of the rows in the queue. A thread that reads much sends far more than [`BATCH_BYTES`] at once.
    queued_bytes: AtomicUsize,
    /// Rows that were dropped, all of them.
    dropped: AtomicU64,
    /// The writer takes no further rows, though senders are left.
    has_ended: AtomicBool,
}

/// The thread that writes.
#[derive(Debug)]
pub struct Writer {
    thread: Option<JoinHandle<()>>,
    shared: Arc<WriterState>,
}

impl Writer {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// The system gives no thread.
    pub fn start(sink: Box<dyn RowSink>) -> io::Result<(Self, RowSender)> {
        let (sender, batches) = sync_channel(MAX_QUEUED_BATCHES);
        let shared = Arc::new(WriterState::default());
        let of_thread = Arc::clone(&shared);
        let thread = thread::Builder::new().name("writer".into());
        let thread = thread.spawn(move || write_all(sink, &batches, &of_thread))?;
        let row_sender = RowSender { sender, shared: Arc::clone(&shared) };
        Ok((Self { thread: Some(thread), shared }, row_sender))
    }

    /// Rows that were dropped so far.
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }

    /// Waits until all rows that were sent are written, and the recording is complete. Later rows are lost.
    pub fn finish(mut self) -> u64 {
        self.end();
        self.dropped()
    }

    fn end(&mut self) {
        self.shared.has_ended.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, the rows before that are written.
            let _ = thread.join();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.end();
    }
}

impl RowSender {
    /// Rows that were dropped so far.
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }

    /// Sends the rows, or drops them if the queue is full. The batch is empty afterwards.
    pub(crate) fn send(&self, batch: &mut Batch) {
        if batch.is_empty() {
            return;
        }
        let spare = self.shared.batches.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let full = std::mem::replace(batch, spare.unwrap_or_default());
        let (n_rows, n_bytes) = (full.len() as u64, full.size_bytes());
        let n_queued = self.shared.queued_bytes.fetch_add(n_bytes, Ordering::Relaxed);
        let sent = if n_queued + n_bytes > MAX_QUEUED_BYTES {
            Err(TrySendError::Full(full))
        } else {
            self.sender.try_send(full)
        };
        if let Err(TrySendError::Full(full) | TrySendError::Disconnected(full)) = sent {
            self.shared.queued_bytes.fetch_sub(n_bytes, Ordering::Relaxed);
            self.shared.dropped.fetch_add(n_rows, Ordering::Relaxed);
            batch.add_others(&full);
        }
    }
}

impl RowSender {
    /// Sends the rows, and waits while the queue is full.
    pub(crate) fn send_blocking(&self, batch: &mut Batch) {
        if batch.is_empty() {
            return;
        }
        let n_rows = batch.len() as u64;
        self.shared.queued_bytes.fetch_add(batch.size_bytes(), Ordering::Relaxed);
        if self.sender.send(std::mem::take(batch)).is_err() {
            self.shared.dropped.fetch_add(n_rows, Ordering::Relaxed);
        }
    }
}

fn write_all(mut sink: Box<dyn RowSink>, batches: &Receiver<Batch>, shared: &WriterState) {
    let mut reported = 0;
    loop {
        let next = batches.recv_timeout(FLUSH);
        // Rows that were sent before the end are still in the queue.
        let has_ended = shared.has_ended.load(Ordering::Acquire);
        match next {
            Ok(mut batch) => {
                if sink.write(&batch).is_err() {
                    shared.dropped.fetch_add(batch.len() as u64, Ordering::Relaxed);
                }
                shared.queued_bytes.fetch_sub(batch.size_bytes(), Ordering::Relaxed);
                batch.clear();
                let mut spare = shared.batches.lock().unwrap_or_else(PoisonError::into_inner);
                if spare.len() < MAX_SPARE {
                    spare.push(batch);
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if has_ended => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        shared.dropped.fetch_add(sink.take_lost(), Ordering::Relaxed);
        let dropped = shared.dropped.load(Ordering::Relaxed);
        if dropped > reported {
            sink.drop_rows(dropped - reported);
            reported = dropped;
        }
        sink.tick();
    }
    sink.finish();
    shared.dropped.fetch_add(sink.take_lost(), Ordering::Relaxed);
}
