//! The torture: workers are killed, stopped and resumed at random until the time is up, or until no worker gets on.

#![expect(clippy::cast_possible_truncation, reason = "a random number is cut anyway")]

use std::time::{Duration, Instant};

use crate::hangs::Judged;
use crate::herd::Herd;
use crate::ledger::{Ledger, Tally};
use crate::sources::Source;
use crate::{WORKERS, random};

/// If all are resumed and none does anything for so long, they hang for good.
const STUCK: Duration = Duration::from_secs(20);

/// In this time every worker has tried each operation that may hang.
const SETTLES: Duration = Duration::from_millis(200);

/// The most workers that are stopped at once.
const STOPPED: usize = 3;

/// The work, and its results.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcome {
    pub(crate) seconds: f64,
    pub(crate) kills: u64,
    pub(crate) stops: u64,
    /// The ends of workers that were not killed.
    pub(crate) crashes: Vec<String>,
    /// The kills and the seconds until all workers were found to hang for good, each time.
    pub(crate) stuck: Vec<(u64, f64)>,
    pub(crate) tallies: [u64; 11],
    pub(crate) judged: Judged,
}

impl Outcome {
    pub(crate) fn count(&self, of: Tally) -> u64 {
        self.tallies[of as usize]
    }

    /// Adds the workers' counters since the ledger was empty.
    pub(crate) fn add_tallies(&mut self, ledger: Ledger) {
        use Tally::{
            Busy, Excused, Filled, Hits, Leased, Old, Opened, Operations, Refused, Strangers, Wrong,
        };
        for of in [
            Operations, Hits, Wrong, Old, Excused, Busy, Filled, Refused, Opened, Strangers, Leased,
        ] {
            self.tallies[of as usize] += ledger.count(of);
        }
    }

    /// Adds the results of another round.
    pub(crate) fn add(&mut self, other: Self) {
        self.seconds += other.seconds;
        self.kills += other.kills;
        self.stops += other.stops;
        self.crashes.extend(other.crashes);
        self.stuck.extend(other.stuck);
        for (sum, more) in self.tallies.iter_mut().zip(other.tallies) {
            *sum += more;
        }
        self.judged.add(&other.judged);
    }
}

pub(crate) struct Run<'s> {
    pub(crate) herd: Herd<'s>,
    pub(crate) outcome: Outcome,
    began: Instant,
    random: Box<dyn FnMut() -> u64>,
}

impl<'s> Run<'s> {
    pub(crate) fn new(source: Box<dyn Source + 's>, ledger: Ledger) -> Self {
        Self {
            herd: Herd::new(source, ledger),
            outcome: Outcome::default(),
            began: Instant::now(),
            random: Box::new(random(1)),
        }
    }

    fn any(&mut self, below: usize) -> usize {
        (self.random)() as usize % below
    }

    pub(crate) fn start_all(&mut self) {
        (0..WORKERS).for_each(|worker| self.herd.start(worker));
    }

    pub(crate) fn kill_all(&mut self) {
        for worker in 0..WORKERS {
            self.herd.kill(worker);
            self.outcome.kills += 1;
        }
    }

    /// Continues for this time; `false` if all workers hang.
    pub(crate) fn torture(&mut self, how_long: Duration) -> bool {
        let until = Instant::now() + how_long;
        while Instant::now() < until {
            self.one_step();
        }
        self.roll_call()
    }

    fn one_step(&mut self) {
        // For a quarter of the time no worker is killed, so that slow operations come to their end.
        let is_calm = self.began.elapsed().as_millis() / 600 % 4 == 3;
        let worker = self.any(WORKERS);
        if self.any(if is_calm { 2 } else { 8 }) == 0 {
            if !self.herd.is_stopped(worker) && self.herd.stopped() < STOPPED {
                let filling = self.any(2) == 0;
                self.herd.stop_with_lock(worker, filling);
                self.outcome.stops += 1;
            }
        } else if !is_calm {
            self.herd.kill(worker);
            self.outcome.kills += 1;
            self.herd.start(worker);
        }
        std::thread::sleep(Duration::from_micros(self.any(8000) as u64));
        for worker in 0..WORKERS {
            if self.herd.is_stopped(worker) && self.any(if is_calm { 64 } else { 4 }) == 0 {
                self.herd.resume(worker);
            }
            if let Some(how) = self.herd.ended(worker) {
                self.outcome.crashes.push(how);
                self.herd.start(worker);
            }
        }
    }

    /// Resumes all workers, and checks whether they get on while no worker is killed or stopped; `false`
    /// if no worker does.
    fn roll_call(&mut self) -> bool {
        (0..WORKERS).for_each(|worker| self.herd.resume(worker));
        std::thread::sleep(SETTLES);
        let ledger = self.herd.ledger;
        let operations = |worker| ledger.count_of(worker, Tally::Operations);
        let (before, since) = ((0..WORKERS).map(operations).collect::<Vec<_>>(), Instant::now());
        loop {
            let moved =
                (0..WORKERS).filter(|worker| operations(*worker) != before[*worker]).count();
            if moved == WORKERS || moved > 0 && since.elapsed() > STUCK {
                return true;
            }
            if since.elapsed() > STUCK {
                let after = self.began.elapsed().saturating_sub(STUCK).as_secs_f64();
                self.outcome.stuck.push((self.outcome.kills, after));
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Ends all workers, and tells what came of it.
    pub(crate) fn end(mut self, holders: Option<&larder_segment::Session>) -> Outcome {
        (0..WORKERS).for_each(|worker| self.herd.resume(worker));
        std::thread::sleep(Duration::from_millis(300));
        (0..WORKERS).for_each(|worker| drop(self.herd.kill(worker)));
        self.outcome.seconds = self.began.elapsed().as_secs_f64();
        self.outcome.add_tallies(self.herd.ledger);
        std::thread::sleep(Duration::from_millis(20));
        self.outcome.judged = self.herd.sampler.seen().judge(holders);
        self.outcome
    }
}
