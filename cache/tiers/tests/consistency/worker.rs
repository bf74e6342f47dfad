//! A process of a host: it reads all keys, writes its own ones now and then, and writes down each operation.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use larder_testkit::{Random, SecondProcess};

use super::history::{Event, Leaves};
use super::job::{Job, TTL, Work, now};
use super::work::{Operations, Reads};

/// The variable with the job of a process.
const JOB: &str = "LARDER_CONSISTENCY_JOB";

/// The pause after each operation: the history of an hour has to fit into memory.
const PAUSE: Duration = Duration::from_millis(1);

/// The longest time of a process that nobody kills.
const LONGEST: Duration = Duration::from_hours(2);

/// How often a process looks whether it runs, and the least time that counts as a pause.
const TICK: Duration = Duration::from_millis(20);
const PAUSED: Duration = Duration::from_millis(40);

/// Does the work of another process, if this is one.
pub(crate) fn work_if_asked() -> Option<ExitCode> {
    let job = Job::of_text(&std::env::var(JOB).ok()?).unwrap();
    let history = File::create(&job.history).unwrap();
    let of_pauses = history.try_clone().unwrap();
    thread::spawn(move || watch(&of_pauses));
    Worker::new(&job, history).work();
    Some(ExitCode::SUCCESS)
}

/// Writes down the times in which this process did not run.
fn watch(history: &File) {
    loop {
        let begun = now();
        thread::sleep(TICK);
        let ended = now();
        if ended - begun > u64::try_from(PAUSED.as_nanos()).unwrap() {
            tell(history, Event::Paused { begun, ended });
        }
    }
}

/// One line in one call of the system, which a kill cannot take back.
fn tell(mut history: &File, event: Event) {
    history.write_all(format!("{event}\n").as_bytes()).unwrap();
}

/// The process at work.
struct Worker<'a> {
    job: &'a Job,
    history: File,
    origin: File,
    draw: Random,
    operations: Operations,
    n_writes: u64,
    /// The period in which each own key was written.
    written: Vec<i64>,
    /// The sets that are not known to be below, and their keys.
    late: Vec<(u64, u32)>,
}

impl<'a> Worker<'a> {
    fn new(job: &'a Job, history: File) -> Self {
        let origin = OpenOptions::new().read(true).write(true).open(&job.origin).unwrap();
        let period = |key| if job.is_first { i64::MIN } else { job.number_of_period(key) };
        Self {
            history,
            origin,
            draw: Random::new(std::process::id().into()),
            operations: Operations::open(job),
            n_writes: 0,
            written: job.own().map(period).collect(),
            late: Vec::new(),
            job,
        }
    }

    fn work(mut self) {
        let begun = Instant::now();
        for n in 0_u64.. {
            if begun.elapsed() > LONGEST {
                return;
            }
            if let Some(key) = self.due() {
                self.write(key);
            } else if self.job.writer.is_some() && self.draw.below(20) == 0 {
                self.write_shared();
            } else {
                self.read();
            }
            if n % 64 == 0 && !self.late.is_empty() {
                self.settle();
            }
            thread::sleep(PAUSE);
        }
    }

    /// An own key that is to be written now.
    fn due(&mut self) -> Option<u32> {
        let job = self.job;
        job.own().zip(&mut self.written).find_map(|(key, written)| {
            let period = job.number_of_period(key);
            let is_due = *written < period;
            *written = period;
            is_due.then_some(key)
        })
    }

    fn write_shared(&mut self) {
        let shared: Vec<u32> = self.job.shared().collect();
        if !shared.is_empty() {
            let key = shared[self.draw.below(shared.len())];
            self.write(key);
        }
    }

    /// Writes a key in one of the ways, and writes down what that leaves.
    fn write(&mut self, key: u32) {
        self.n_writes += 1;
        let write = u64::from(std::process::id()) << 32 | self.n_writes;
        let way = self.draw.below(10);
        let is_loaded = self.job.work == Work::Loads;
        let leaves = match way {
            _ if is_loaded => Leaves::Value,
            0 | 1 => Leaves::Nothing,
            _ if key % 4 == 3 => Leaves::ValueFor(u64::try_from(TTL.as_nanos()).unwrap()),
            _ => Leaves::Value,
        };
        let begun = now();
        tell(&self.history, Event::Begun { write, key, leaves, at: begun });
        if is_loaded {
            self.origin.write_all_at(&write.to_le_bytes(), u64::from(key) * 8).unwrap();
        }
        let ttl = matches!(leaves, Leaves::ValueFor(_)).then_some(TTL);
        let is_done = match way {
            0 | 2 | 4 | 6 | 8 if is_loaded => self.operations.delete(key),
            _ if is_loaded => self.operations.expire(key),
            0 => self.operations.delete(key),
            1 => self.operations.expire(key),
            _ => self.operations.set(key, write, ttl),
        };
        if is_done && self.job.work == Work::Behind {
            // A late set of this key has been taken back, or was below before this write began.
            let late = self.late.extract_if(.., |(_, other)| *other == key);
            for (write, _) in late.filter(|_| leaves == Leaves::Nothing) {
                tell(&self.history, Event::Ended { write, is_done, at: begun - 1 });
            }
            if leaves != Leaves::Nothing {
                self.late.push((write, key));
                return;
            }
        }
        tell(&self.history, Event::Ended { write, is_done, at: now() });
    }

    /// Waits until the late sets are below, which acknowledges them.
    fn settle(&mut self) {
        if self.operations.settle() {
            for (write, _) in self.late.drain(..) {
                tell(&self.history, Event::Ended { write, is_done: true, at: now() });
            }
        }
    }

    /// Reads a key, or many, in one of the ways.
    fn read(&mut self) {
        let n_keys = usize::try_from(self.job.keys()).unwrap();
        let key = u32::try_from(self.draw.below(n_keys)).unwrap();
        let begun = now();
        let found: Reads = match self.draw.below(20) {
            _ if self.job.work == Work::Loads => {
                let (origin, draw) = (&self.origin, &mut self.draw);
                self.operations.load(key, || loads(origin, draw, key))
            }
            0 => {
                let keys: Vec<u32> = (0..self.job.keys()).filter(|it| it % 8 == key % 8).collect();
                self.operations.get_many(&keys)
            }
            1 => self.operations.lease(key),
            _ => self.operations.get(key),
        };
        let ended = now();
        for (key, write, is_stale) in found {
            tell(&self.history, Event::Read { key, write, is_stale, begun, ended });
        }
    }
}

/// The newest write of a key in the file of the origin. It fails now and then, and often takes a while.
fn loads(origin: &File, draw: &mut Random, key: u32) -> Option<u64> {
    if draw.below(20) == 0 {
        return None;
    }
    let mut bytes = [0; 8];
    // The file is as long as the keys that were written.
    let _ = origin.read_exact_at(&mut bytes, u64::from(key) * 8);
    if draw.below(4) == 0 {
        thread::sleep(Duration::from_millis(draw.next_u64() % 20));
    }
    Some(u64::from_le_bytes(bytes))
}

/// Another process at work.
pub(crate) fn start(job: &Job) -> SecondProcess {
    SecondProcess::start(JOB, job.to_text())
}
