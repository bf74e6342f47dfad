//! How long an operation took, and how long of that its process waited for a processor.
//!
//! The system counts how long a process could have run and did not, and that is asked for every two milliseconds, before an
//! operation begins. So what is taken off an operation's time may be so much too much, and never too little.

#![expect(clippy::unwrap_used, reason = "a worker without what it needs has failed")]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::ledger::{Ledger, Now, Slow};
use crate::now;

/// Operations that took so long are told.
pub(crate) const TOLD: u64 = 50_000_000;

const OFTEN: u64 = 2_000_000;

pub(crate) struct Stopwatch {
    ledger: Ledger,
    worker: usize,
    schedule: Option<File>,
    asked: u64,
    waited: u64,
    began: u64,
}

impl Stopwatch {
    pub(crate) fn new(ledger: Ledger, worker: usize) -> Self {
        let schedule = File::open("/proc/self/schedstat").ok();
        Self { ledger, worker, schedule, asked: 0, waited: 0, began: 0 }
    }

    pub(crate) fn begin(&mut self, key: u64) {
        let mut began = now();
        if began - self.asked > OFTEN {
            self.waited = self.schedule.as_ref().map_or(0, waited);
            self.ledger.set_does(self.worker, Now::Waited, self.waited);
            began = now();
            self.asked = began;
        }
        self.began = began;
        self.ledger.set_does(self.worker, Now::Key, key);
        self.ledger.set_does(self.worker, Now::Since, began);
    }

    pub(crate) fn end(&mut self, key: u64, is_busy: bool) {
        let ended = now();
        if ended - self.began >= TOLD {
            self.ledger.tell_slow(&Slow {
                worker: self.worker,
                from: self.began,
                to: ended,
                waited: self.schedule.as_ref().map_or(0, waited) - self.waited,
                key,
                is_busy,
            });
        }
        self.ledger.set_does(self.worker, Now::Since, 0);
    }
}

/// How long a process has waited for a processor, in nanoseconds; 0 where the system does not tell.
fn waited(schedule: &File) -> u64 {
    let mut text = [0; 100];
    let len = schedule.read_at(&mut text, 0).unwrap_or(0);
    let text = std::str::from_utf8(&text[..len]).unwrap();
    text.split(' ').nth(1).map_or(0, |word| word.parse().unwrap())
}

/// The same of any process.
pub(crate) fn waited_of(process: u32) -> Option<u64> {
    File::open(Path::new("/proc").join(process.to_string()).join("schedstat"))
        .ok()
        .as_ref()
        .map(waited)
}
