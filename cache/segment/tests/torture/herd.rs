//! The workers, which are killed, stopped and resumed, and their operations at that time.

use larder_testkit::signal;

use crate::ledger::{Ledger, Now, Slow};
use crate::sampler::{Sampler, Span};
use crate::sources::{Source, state, wait_for};
use crate::stopwatch::{TOLD, waited_of};
use crate::{WORKERS, now};

/// The most stops of a worker until it holds a lock.
const TRIES: usize = 50;

pub(crate) struct Herd<'s> {
    pub(crate) source: Box<dyn Source + 's>,
    pub(crate) ledger: Ledger,
    pub(crate) sampler: Sampler,
    processes: [u32; WORKERS],
    /// The time since which each worker is stopped; 0 means that it runs.
    stopped: [u64; WORKERS],
}

impl<'s> Herd<'s> {
    pub(crate) fn new(source: Box<dyn Source + 's>, ledger: Ledger) -> Self {
        let sampler = Sampler::new(ledger);
        Self { source, ledger, sampler, processes: [0; WORKERS], stopped: [0; WORKERS] }
    }

    pub(crate) fn start(&mut self, worker: usize) {
        self.ledger.set_does(worker, Now::Since, 0);
        self.ledger.set_filling(worker, 0, 0);
        let process = self.source.start(worker);
        self.processes[worker] = process;
        self.sampler.seen().begins(worker, process);
    }

    /// Stops a worker, and waits until it has stopped.
    pub(crate) fn stop(&mut self, worker: usize) {
        if self.is_stopped(worker) {
            return;
        }
        self.stopped[worker] = now();
        signal(self.processes[worker], libc::SIGSTOP);
        wait_for(self.processes[worker], "TZ");
        self.ledger.excuse_filler(worker);
        // Other workers use the same key more often, which finds more errors.
        self.ledger.set_does(0, Now::Stopped, self.ledger.does(worker, Now::Key).wrapping_add(1));
        let open = Span { from: self.stopped[worker], to: u64::MAX };
        self.sampler.seen().stops[worker].push(open);
    }

    /// Stops a worker again and again until it holds a lock at that time, where the cache tells this. With `filling` it must
    /// also be filling a key.
    pub(crate) fn stop_with_lock(&mut self, worker: usize, filling: bool) {
        for _ in 0..TRIES {
            self.stop(worker);
            let Some(cache) = self.sampler.seen().cache.clone() else { return };
            let partitions = cache.shape()[0].1;
            let process = Some(self.processes[worker]);
            let holds = (0..partitions).any(|partition| cache.holder(partition) == process);
            if holds && (!filling || self.ledger.does(worker, Now::Filling) != 0) {
                return;
            }
            self.resume(worker);
        }
        self.stop(worker);
    }

    pub(crate) fn is_stopped(&self, worker: usize) -> bool {
        self.stopped[worker] != 0
    }

    pub(crate) fn stopped(&self) -> usize {
        (0..WORKERS).filter(|worker| self.is_stopped(*worker)).count()
    }

    pub(crate) fn resume(&mut self, worker: usize) {
        if self.is_stopped(worker) {
            signal(self.processes[worker], libc::SIGCONT);
            self.has_resumed(worker);
        }
    }

    fn has_resumed(&mut self, worker: usize) {
        self.stopped[worker] = 0;
        if let Some(stop) = self.sampler.seen().stops[worker].last_mut() {
            stop.to = stop.to.min(now());
        }
    }

    pub(crate) fn kill(&mut self, worker: usize) -> String {
        let (process, killed) = (self.processes[worker], now());
        signal(process, libc::SIGKILL);
        wait_for(process, "Z");
        self.note_end(worker, killed);
        self.source.reap(worker)
    }

    /// The exit status of a worker that has ended by itself.
    pub(crate) fn ended(&mut self, worker: usize) -> Option<String> {
        if state(self.processes[worker]) != Some('Z') {
            return None;
        }
        self.note_end(worker, now());
        Some(self.source.reap(worker))
    }

    /// Notes the operation that a worker may have been doing when it ended. The operation took at
    /// least until then.
    fn note_end(&mut self, worker: usize, to: u64) {
        if self.is_stopped(worker) {
            self.has_resumed(worker);
        }
        let (from, ledger) = (self.ledger.does(worker, Now::Since), self.ledger);
        let mut seen = self.sampler.seen();
        let waited = waited_of(self.processes[worker]).unwrap_or(0);
        seen.has_waited(worker, waited);
        seen.processes[worker] = 0;
        if from != 0 && to.saturating_sub(from) >= TOLD {
            let waited = waited.saturating_sub(ledger.does(worker, Now::Waited));
            let key = ledger.does(worker, Now::Key);
            seen.slow.push(Slow { worker, from, to, waited, key, is_busy: false });
        }
    }
}
