//! The time of an operation, and the part of it in which its process waited for a processor.
//!
//! The system counts the time for which a process could have run and did not. The worker reads this count every two
//! milliseconds, before an operation begins. So the time that is subtracted from an operation may be two milliseconds too
//! long, and is never too short.

#![expect(clippy::unwrap_used, reason = "a worker without what it needs has failed")]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::ledger::{Ledger, Now, Slow};
use crate::now;

/// Operations of this time or longer are reported.
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

/// The time for which a process has waited for a processor, in nanoseconds; 0 where the system does
/// not tell.
fn waited(schedule: &File) -> u64 {
    let mut text = [0; 100];
    let len = schedule.read_at(&mut text, 0).unwrap_or(0);
    let text = std::str::from_utf8(&text[..len]).unwrap();
    text.split(' ').nth(1).map_or(0, |word| word.parse().unwrap())
}

/// The same for any process.
pub(crate) fn waited_of(process: u32) -> Option<u64> {
    File::open(Path::new("/proc").join(process.to_string()).join("schedstat"))
        .ok()
        .as_ref()
        .map(waited)
}
