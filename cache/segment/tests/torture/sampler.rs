//! The processes that held a lock and did not run, as far as a look every few milliseconds from outside can show.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use larder_segment::Cache;

use crate::ledger::{Ledger, Now, Slow};
use crate::stopwatch::waited_of;
use crate::{WORKERS, now};

const OFTEN: Duration = Duration::from_millis(4);

/// Two looks further apart than this leave a gap about which nothing is known.
const GAP: u64 = 25_000_000;

/// A worker that waited for a processor for this time is noted.
const NOTED: u64 = 4_000_000;

/// A tick of the processors' times in /proc/stat, as Linux gives it to programs.
const TICK: u64 = 10_000_000;

/// From a moment to another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// A worker's hold of a partition's lock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    pub(crate) partition: usize,
    pub(crate) worker: usize,
    pub(crate) span: Span,
}

/// The samples.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) processes: [u32; WORKERS],
    /// The cache, while workers have it open.
    pub(crate) cache: Option<Arc<Cache>>,
    /// The times at which each worker was stopped. The end of a present stop is still to come.
    pub(crate) stops: [Vec<Span>; WORKERS],
    /// The times in which each worker waited for a processor.
    pub(crate) not_run: [Vec<Span>; WORKERS],
    pub(crate) held: Vec<Held>,
    /// The times between looks that were too far apart.
    pub(crate) gaps: Vec<Span>,
    /// The times for which the hypervisor ran something else on a processor. The system learns of them afterwards.
    pub(crate) stolen: Vec<Span>,
    pub(crate) slow: Vec<Slow>,
    stolen_ticks: Vec<u64>,
    waited: [u64; WORKERS],
    told: [u64; WORKERS],
    last: u64,
}

impl Seen {
    /// The time that a worker's process has waited for a processor so far.
    pub(crate) fn has_waited(&mut self, worker: usize, waited: u64) {
        let more = waited.saturating_sub(self.waited[worker]);
        self.waited[worker] = waited;
        if more >= NOTED {
            let to = now();
            self.not_run[worker].push(Span { from: to - more, to });
        }
    }

    /// Notes another process as a worker.
    pub(crate) fn begins(&mut self, worker: usize, process: u32) {
        self.processes[worker] = process;
        self.waited[worker] = 0;
    }

    fn look(&mut self, ledger: Ledger) {
        let (last, now) = (std::mem::replace(&mut self.last, now()), now());
        if last != 0 && now - last > GAP {
            self.gaps.push(Span { from: last, to: now });
        }
        let ticks = stolen_ticks();
        for (ticks, before) in ticks.iter().zip(&self.stolen_ticks) {
            let stolen = ticks.saturating_sub(*before) * TICK;
            if stolen > 0 {
                self.stolen.push(Span { from: now.saturating_sub(stolen), to: now });
            }
        }
        self.stolen_ticks = ticks;
        for worker in 0..WORKERS {
            let process = self.processes[worker];
            if process == 0 {
                continue;
            }
            if let Some(waited) = waited_of(process) {
                self.has_waited(worker, waited);
            }
            let told = ledger.does(worker, Now::Slow);
            self.slow.extend((self.told[worker]..told).map(|n| ledger.slow(worker, n)));
            self.told[worker] = told;
        }
        let Some(cache) = self.cache.clone() else { return };
        let partitions = cache.shape()[0].1;
        for partition in 0..partitions {
            let Some(holder) = cache.holder(partition) else { continue };
            let worker = self.processes.iter().position(|process| *process == holder);
            let Some(worker) = worker else { continue };
            let is_it = |held: &&mut Held| (held.partition, held.worker) == (partition, worker);
            let recent = self.held.iter_mut().rev().take(2 * partitions).find(is_it);
            // The worker may have had the lock since the last look, and may have it until the next.
            let to = now + u64::try_from(OFTEN.as_nanos()).unwrap();
            match recent.filter(|held| held.span.to >= last) {
                Some(held) => held.span.to = to,
                None => self.held.push(Held { partition, worker, span: Span { from: last, to } }),
            }
        }
    }
}

/// For each processor the ticks that the hypervisor has taken from it: its eighth number in /proc/stat.
fn stolen_ticks() -> Vec<u64> {
    let stat = std::fs::read_to_string("/proc/stat").unwrap();
    let lines = stat.lines().filter_map(|line| line.strip_prefix("cpu"));
    // The first line is the sum.
    lines.skip(1).map(|line| line.split(' ').nth(8).unwrap().parse().unwrap()).collect()
}

/// A thread that looks until it is dropped.
pub(crate) struct Sampler {
    seen: Arc<Mutex<Seen>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    pub(crate) fn new(ledger: Ledger) -> Self {
        let (seen, is_over) =
            (Arc::new(Mutex::new(Seen::default())), Arc::new(AtomicBool::new(false)));
        let (of_thread, is_over_now) = (Arc::clone(&seen), Arc::clone(&is_over));
        let thread = std::thread::spawn(move || {
            while !is_over_now.load(Ordering::Relaxed) {
                of_thread.lock().unwrap().look(ledger);
                std::thread::sleep(OFTEN);
            }
        });
        Self { seen, is_over, thread: Some(thread) }
    }

    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
