//! One thread for each server, which samples its counters at every interval and sends them.
//!
//! A thread waits for its own server only. Its time-outs end a wait for a server that hangs; the user of the reports
//! also watches the time, because the look-up of a host's name has no time-out.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crate::address::Address;
use crate::sample::Sample;
use crate::{Error, Result};

mod connection;

use connection::Connection;
pub(crate) use connection::PATIENCE;

/// The stack of a thread. The resolver of host names needs the most.
const STACK_BYTES: usize = 512 * 1024;

/// One attempt to sample one server.
#[derive(Debug)]
pub(crate) struct Report {
    /// The number of the server, in the order of the addresses.
    pub(crate) server: usize,
    /// The end of the attempt.
    pub(crate) at: Instant,
    /// The sample, or the reason for its absence.
    pub(crate) outcome: Result<Sample, String>,
}

/// The threads. They end after their next sample once this is dropped.
#[derive(Debug)]
pub(crate) struct Pollers {
    pub(crate) reports: Receiver<Report>,
    pace: Arc<Pace>,
    threads: Vec<(String, JoinHandle<()>)>,
}

/// The time between two samples, which the user may change at any time.
#[derive(Debug)]
struct Pace {
    interval: Mutex<Duration>,
    changed: Condvar,
}

impl Pollers {
    /// Starts a thread for each address.
    pub(crate) fn start(addresses: Vec<Address>, interval: Duration) -> Result<Self> {
        let (sender, reports) = channel();
        let pace = Arc::new(Pace { interval: Mutex::new(interval), changed: Condvar::new() });
        let mut threads = Vec::with_capacity(addresses.len());
        for (server, address) in addresses.into_iter().enumerate() {
            let shown = address.to_string();
            let (pace, sender) = (Arc::clone(&pace), sender.clone());
            let poll = move || poll(server, Connection::to(address), &pace, &sender);
            let builder = Builder::new().name(format!("poll {shown}")).stack_size(STACK_BYTES);
            match builder.spawn(poll) {
                Ok(thread) => threads.push((shown, thread)),
                Err(error) => {
                    let what = format!("cannot start: {error}; name fewer servers");
                    return Err(Error::Thread { address: shown, what });
                }
            }
        }
        Ok(Self { reports, pace, threads })
    }

    /// Changes the time between two samples at once.
    pub(crate) fn set_interval(&self, interval: Duration) {
        *self.pace.interval.lock().unwrap_or_else(PoisonError::into_inner) = interval;
        self.pace.changed.notify_all();
    }

    /// An error where a thread has ended, which only a fault in its code can cause.
    pub(crate) fn check(&self) -> Result<()> {
        match self.threads.iter().find(|(_, thread)| thread.is_finished()) {
            Some((address, _)) => {
                Err(Error::Thread { address: address.clone(), what: "has failed".to_owned() })
            }
            None => Ok(()),
        }
    }
}

impl Pace {
    /// Waits until the next sample is due, and returns its time. Samples keep to a grid, so that rates of several
    /// servers belong to the same time; a sample that took longer than an interval begins a new grid.
    fn wait(&self, begun: Instant) -> Instant {
        let mut interval = self.interval.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let (due, now) = (begun + *interval, Instant::now());
            if now >= due {
                return if now - due < *interval { due } else { now };
            }
            let woken = self.changed.wait_timeout(interval, due - now);
            interval = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Samples one server until nobody takes the reports.
fn poll(server: usize, mut connection: Connection, pace: &Pace, reports: &Sender<Report>) {
    let mut begun = Instant::now();
    loop {
        let outcome = connection.sample();
        if reports.send(Report { server, at: Instant::now(), outcome }).is_err() {
            return;
        }
        begun = pace.wait(begun);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(interval: Duration) -> Pace {
        Pace { interval: Mutex::new(interval), changed: Condvar::new() }
    }

    #[test]
    fn samples_keep_to_a_grid_and_a_late_one_begins_anew() {
        let pace = pace(Duration::from_secs(100));
        let ago = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap();
        let begun = ago(130);
        assert_eq!(pace.wait(begun), begun + Duration::from_secs(100));
        let begun = ago(350);
        assert!(pace.wait(begun) > begun + Duration::from_mins(5));
    }

    #[test]
    fn a_new_interval_ends_the_wait_for_the_old_one() {
        let pace = pace(Duration::from_hours(1));
        let begun = Instant::now();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| pace.wait(begun));
            *pace.interval.lock().unwrap() = Duration::from_millis(1);
            pace.changed.notify_all();
            let due = waits.join().unwrap() - begun;
            assert!(due >= Duration::from_millis(1) && due < Duration::from_mins(50), "{due:?}");
        });
    }
}
