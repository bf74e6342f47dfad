//! The changed keys that a process has not published yet, and the thread that publishes them.
//!
//! A write queues its key and does not wait. The thread takes all keys that are queued at once, so a busy process sends few
//! messages. A key is queued once, however often it is written. While the channel fails, the keys wait; where they
//! become too many, the process publishes that everything has changed.

use std::collections::HashSet;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use larder_store::{Change, Channel, Id, Message, Origin};

use super::shared::{Counts, Shared, count, lock};

/// The most keys that wait, and the most bytes of them.
const MOST_KEYS: usize = 1 << 16;
const MOST_BYTES: usize = 8 << 20;

/// The bytes of keys after which a message is full.
const FULL: usize = 64 << 10;

/// The pause after a failed attempt, and the longest such pause.
const PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The changed keys that wait.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: Mutex<Waiting>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    keys: HashSet<Vec<u8>>,
    n_bytes: usize,
    everything: bool,
    is_ended: bool,
}

impl Outbox {
    /// Queues a changed key.
    pub(super) fn note(&self, key: &[u8], counts: &Counts) {
        let mut waiting = lock(&self.waiting);
        // What waits already is published later than this write.
        if waiting.everything || waiting.keys.contains(key) {
            return;
        }
        if waiting.keys.len() == MOST_KEYS || waiting.n_bytes + key.len() > MOST_BYTES {
            count(&counts.dropped, waiting.keys.len() + 1);
            waiting.note_everything();
        } else {
            waiting.n_bytes += key.len();
            waiting.keys.insert(key.to_vec());
        }
        drop(waiting);
        self.wake.notify_one();
    }

    /// Queues that everything has changed.
    pub(super) fn note_everything(&self) {
        lock(&self.waiting).note_everything();
        self.wake.notify_one();
    }

    /// Makes the thread end, after one attempt to publish what waits.
    pub(super) fn end(&self) {
        lock(&self.waiting).is_ended = true;
        self.wake.notify_one();
    }

    /// Publishes until the end.
    pub(super) fn run(&self, channel: &dyn Channel, shared: &Shared) {
        let (publisher, mut number) = (Id::random(), 1);
        let (mut taken, mut pause) = (Taken::default(), Duration::ZERO);
        loop {
            let is_ended = self.wait(&mut taken, pause);
            let Some(change) = taken.message() else {
                if is_ended {
                    return;
                }
                continue;
            };
            let origin = Origin { group: shared.group(), publisher, number };
            let message = Message { origin, change };
            if channel.publish(&message).is_ok() {
                count(&shared.counts.published, 1);
                number += 1;
                pause = Duration::ZERO;
                continue;
            }
            // It may have been sent all the same. So the number stays: a subscriber takes it for a repetition.
            taken.put_back(message.change);
            if is_ended {
                count(&shared.counts.dropped, taken.keys.len());
                return;
            }
            pause = (pause * 2).clamp(PAUSE, LONGEST_PAUSE);
        }
    }

    /// Waits until there is something to publish, or for a pause after a failure. `true` at the end.
    fn wait(&self, taken: &mut Taken, pause: Duration) -> bool {
        let mut waiting = lock(&self.waiting);
        if taken.is_empty() {
            let is_idle = |waiting: &mut Waiting| {
                waiting.keys.is_empty() && !waiting.everything && !waiting.is_ended
            };
            waiting =
                self.wake.wait_while(waiting, is_idle).unwrap_or_else(PoisonError::into_inner);
        } else if !pause.is_zero() {
            let goes_on = |waiting: &mut Waiting| !waiting.is_ended;
            let waited = self.wake.wait_timeout_while(waiting, pause, goes_on);
            waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if std::mem::take(&mut waiting.everything) {
            *taken = Taken { everything: true, keys: Vec::new() };
        } else if taken.is_empty() {
            taken.keys.extend(waiting.keys.drain());
            waiting.n_bytes = 0;
        }
        waiting.is_ended
    }
}

impl Waiting {
    fn note_everything(&mut self) {
        self.keys.clear();
        self.n_bytes = 0;
        self.everything = true;
    }
}

/// What the thread has taken to publish.
#[derive(Debug, Default)]
struct Taken {
    everything: bool,
    keys: Vec<Vec<u8>>,
}

impl Taken {
    fn is_empty(&self) -> bool {
        !self.everything && self.keys.is_empty()
    }

    /// Takes what fits into one message.
    fn message(&mut self) -> Option<Change> {
        if std::mem::take(&mut self.everything) {
            return Some(Change::Everything);
        }
        let (mut keys, mut n_bytes) = (Vec::new(), 0);
        while n_bytes < FULL
            && let Some(key) = self.keys.pop()
        {
            n_bytes += key.len();
            keys.push(key);
        }
        (!keys.is_empty()).then_some(Change::Keys(keys))
    }

    fn put_back(&mut self, change: Change) {
        match change {
            Change::Everything => self.everything = true,
            Change::Keys(keys) => self.keys.extend(keys),
        }
    }
}
