//! The writes that wait for the lowest tier: the newest of each key, oldest keys first.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use larder_store::{Error, Result};

use crate::SCHEME;

/// The most keys that are written at once, and the most bytes of their values.
const BATCH: (usize, usize) = (256, 1 << 20);
/// Bytes that a waiting write takes beside its key and its value, about.
const OVERHEAD: usize = 128;
/// The longest time for which a caller waits for the queue: for room in it, or until a key's write has left it.
const PATIENCE: Duration = Duration::from_secs(5);

/// A write that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Write {
    /// This value, until a moment or for ever.
    Set { value: Box<[u8]>, flags: u32, end: Option<Instant> },
    /// The removal of a key whose last write may have failed or not.
    Invalidate,
}

/// A waiting write of one key.
#[derive(Debug, Clone)]
pub(crate) struct Late {
    pub(crate) key: Box<[u8]>,
    pub(crate) write: Write,
    /// Tells it from other writes of its key.
    number: u64,
}

/// The writes that wait, and those who wait for them.
#[derive(Debug)]
pub(crate) struct Pending {
    state: Mutex<State>,
    /// A write has come, or the queue ends.
    came: Condvar,
    /// Writes have left.
    left: Condvar,
    room: usize,
    /// The number of writes, which every operation of the stack looks at.
    n: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    writes: HashMap<Box<[u8]>, (Write, u64)>,
    /// The order of the keys. A key that has left may still be here.
    order: VecDeque<Box<[u8]>>,
    bytes: usize,
    numbers: u64,
    /// The keys that are being written now.
    flying: Vec<Box<[u8]>>,
    ends: bool,
    /// Writes that were given up.
    lost: u64,
}

impl Pending {
    /// An empty queue with room for so many bytes.
    pub(crate) fn new(room: usize) -> Self {
        let (came, left) = (Condvar::new(), Condvar::new());
        Self { state: Mutex::default(), came, left, room, n: AtomicUsize::new(0) }
    }

    /// Puts a write in the place of an older one of its key. Waits for room.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] where there is none in time: the lowest tier is too slow, or fails.
    pub(crate) fn put(&self, key: &[u8], write: Write) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        let mut state = self.lock();
        let takes = size(key, &write);
        while state.bytes.saturating_add(takes) > self.room && !state.writes.is_empty() {
            let Some(woken) = self.wait(state, deadline) else {
                let what = format!(
                    "the queue of writes to the lowest tier: {} bytes, option `queue`; raise it",
                    self.room
                );
                return Err(Error::Full { engine: SCHEME, what });
            };
            state = woken;
        }
        self.add(state, key, write);
        Ok(())
    }

    /// Puts a removal, unless a value waits. Where there is no room, it is lost: the value below ends with its TTL.
    pub(crate) fn invalidate(&self, key: &[u8]) {
        let mut state = self.lock();
        if matches!(state.writes.get(key), Some((Write::Set { .. }, _))) {
            return;
        }
        if state.bytes.saturating_add(size(key, &Write::Invalidate)) > self.room {
            state.lost += 1;
            return;
        }
        self.add(state, key, Write::Invalidate);
    }

    /// Puts a write back that was taken, unless a newer one waits. Its room may have been given away meanwhile.
    pub(crate) fn put_back(&self, key: &[u8], write: Write) {
        let state = self.lock();
        if !state.writes.contains_key(key) {
            self.add(state, key, write);
        }
    }

    fn add(&self, mut state: MutexGuard<'_, State>, key: &[u8], write: Write) {
        state.put(key, write);
        self.count(&state);
        self.came.notify_one();
    }

    /// Looks at the write of a key that waits or is being written.
    pub(crate) fn look<T>(&self, key: &[u8], with: impl FnOnce(&Write) -> T) -> Option<T> {
        self.lock().writes.get(key).map(|(write, _)| with(write))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.n.load(Ordering::Acquire) == 0
    }

    /// Takes the write of a key out of the queue, if `is_wanted` says so. First it waits for the end of one that is being
    /// carried out.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] where that does not end in time.
    pub(crate) fn take(
        &self,
        key: &[u8],
        is_wanted: impl Fn(&Write) -> bool,
    ) -> Result<Option<Write>> {
        let mut taken = None;
        self.wait_until(|state| {
            let is_wanted = state.writes.get(key).is_some_and(|(write, _)| is_wanted(write));
            if is_wanted && state.flying.iter().any(|flying| **flying == *key) {
                return false;
            }
            taken = if is_wanted { state.remove(key) } else { None };
            true
        })?;
        Ok(taken)
    }

    /// Waits until the late set of a key has left, which is the next. A removal is not waited for.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] where it does not leave in time.
    pub(crate) fn settle(&self, key: &[u8]) -> Result<()> {
        let mut state = self.lock();
        let waits = |state: &State| matches!(state.writes.get(key), Some((Write::Set { .. }, _)));
        if waits(&state) {
            state.order.push_front(key.into());
            self.came.notify_one();
        }
        drop(state);
        self.wait_until(|state| !waits(state))
    }

    /// Waits until all writes have left.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] where they do not leave in time.
    pub(crate) fn settle_all(&self) -> Result<()> {
        self.wait_until(|state| state.writes.is_empty())
    }

    /// Takes all writes back that wait, and waits for the end of those that are being written.
    ///
    /// # Errors
    ///
    /// As [`Self::take`].
    pub(crate) fn forget_all(&self) -> Result<()> {
        self.wait_until(|state| {
            let State { writes, flying, .. } = state;
            writes.retain(|key, _| flying.contains(key));
            state.bytes = state.writes.iter().map(|(key, (write, _))| size(key, write)).sum();
            state.flying.is_empty()
        })
    }

    /// The next writes, once there are any; `None` at the end.
    pub(crate) fn next(&self) -> Option<Vec<Late>> {
        let mut state = self.lock();
        loop {
            let batch = state.take();
            if !batch.is_empty() {
                return Some(batch);
            }
            if state.ends {
                return None;
            }
            state = self.came.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Notes the results of a batch. A write that was not carried out goes to the end of the queue.
    pub(crate) fn done(&self, batch: &[Late], results: &[Done]) {
        let mut state = self.lock();
        state.flying.clear();
        for (late, done) in batch.iter().zip(results) {
            let is_newest = state.writes.get(&late.key).is_some_and(|(_, n)| *n == late.number);
            match done {
                Done::Again | Done::Lost | Done::Written if !is_newest => {
                    // A newer write of the key waits, if any.
                    if state.writes.contains_key(&late.key) {
                        state.order.push_back(late.key.clone());
                    }
                }
                Done::Again => state.order.push_back(late.key.clone()),
                Done::Written => drop(state.remove(&late.key)),
                Done::Lost => {
                    state.lost += 1;
                    state.remove(&late.key);
                }
            }
        }
        self.count(&state);
        self.left.notify_all();
    }

    /// Gives up what still waits, and counts it as lost.
    pub(crate) fn give_up(&self) {
        let mut state = self.lock();
        let State { writes, lost, .. } = &mut *state;
        *lost += writes.len() as u64;
        writes.clear();
        state.bytes = 0;
        self.count(&state);
        self.left.notify_all();
    }

    /// Whether a write is still the newest of its key.
    pub(crate) fn is_newest(&self, late: &Late) -> bool {
        let state = self.lock();
        state.writes.get(&late.key).is_none_or(|(_, number)| *number == late.number)
    }

    /// Waits for a while, or until the queue ends. `true` where it ends.
    pub(crate) fn rest(&self, time: Duration) -> bool {
        let rested = self.came.wait_timeout_while(self.lock(), time, |state| !state.ends);
        rested.unwrap_or_else(PoisonError::into_inner).0.ends
    }

    /// Lets the queue end once it is empty, or once a write fails.
    pub(crate) fn end(&self) {
        self.lock().ends = true;
        self.came.notify_all();
    }

    /// The number of writes that wait, and of those that were given up.
    pub(crate) fn counts(&self) -> [u64; 2] {
        let state = self.lock();
        [state.writes.len() as u64, state.lost]
    }

    fn wait_until(&self, mut is_so: impl FnMut(&mut State) -> bool) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        let mut state = self.lock();
        while !is_so(&mut state) {
            let what = "a write that waits for the lowest tier has not left in time".to_owned();
            let woken = self.wait(state, deadline);
            state = woken.ok_or(Error::Busy { engine: SCHEME, what })?;
        }
        self.count(&state);
        Ok(())
    }

    fn count(&self, state: &State) {
        self.n.store(state.writes.len(), Ordering::Release);
    }

    /// Waits until writes have left; `None` once the time is over.
    fn wait<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        deadline: Instant,
    ) -> Option<MutexGuard<'a, State>> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        Some(self.left.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Done {
    /// The lowest tier has it.
    Written,
    /// The lowest tier failed: it is tried again.
    Again,
    /// The lowest tier refuses it for good.
    Lost,
}

impl State {
    fn put(&mut self, key: &[u8], write: Write) {
        self.numbers += 1;
        self.bytes += size(key, &write);
        if let Some((older, _)) = self.writes.insert(key.into(), (write, self.numbers)) {
            self.bytes -= size(key, &older);
        } else {
            self.order.push_back(key.into());
        }
    }

    fn remove(&mut self, key: &[u8]) -> Option<Write> {
        let (write, _) = self.writes.remove(key)?;
        self.bytes -= size(key, &write);
        Some(write)
    }

    /// The next writes, which are being written from now on.
    fn take(&mut self) -> Vec<Late> {
        let (mut batch, mut bytes) = (Vec::<Late>::new(), 0);
        while batch.len() < BATCH.0 && bytes < BATCH.1 {
            let Some(key) = self.order.pop_front() else { break };
            // A key that was moved to the front is in the order twice.
            let is_taken = batch.iter().any(|late| late.key == key);
            if let Some((write, number)) = self.writes.get(&key).filter(|_| !is_taken) {
                bytes += size(&key, write);
                batch.push(Late { write: write.clone(), number: *number, key });
            }
        }
        self.flying = batch.iter().map(|late| late.key.clone()).collect();
        batch
    }
}

fn size(key: &[u8], write: &Write) -> usize {
    let value = match write {
        Write::Set { value, .. } => value.len(),
        Write::Invalidate => 0,
    };
    2 * key.len() + value + OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(value: &[u8]) -> Write {
        Write::Set { value: value.into(), flags: 0, end: None }
    }

    #[test]
    fn the_newest_write_of_a_key_waits_alone() {
        let pending = Pending::new(1 << 20);
        for value in [b"1", b"2"] {
            pending.put(b"k", set(value)).unwrap();
        }
        pending.invalidate(b"k");
        assert_eq!((pending.look(b"k", Write::clone), pending.counts()), (Some(set(b"2")), [1, 0]));
        let batch = pending.next().unwrap();
        assert_eq!(batch.iter().map(|late| &late.write).collect::<Vec<_>>(), [&set(b"2")]);
        // A newer write comes while that one is written.
        pending.put(b"k", set(b"3")).unwrap();
        pending.done(&batch, &[Done::Written]);
        assert_eq!(pending.look(b"k", Write::clone), Some(set(b"3")));
        let batch = pending.next().unwrap();
        pending.done(&batch, &[Done::Again]);
        let batch = pending.next().unwrap();
        pending.done(&batch, &[Done::Written]);
        assert!(pending.is_empty());
        pending.end();
        assert!(pending.next().is_none());
    }

    #[test]
    fn a_removal_without_room_and_a_refused_write_are_counted_as_lost() {
        let pending = Pending::new(2 * OVERHEAD);
        pending.invalidate(b"k");
        pending.invalidate(b"without room");
        let batch = pending.next().unwrap();
        pending.done(&batch, &[Done::Lost]);
        assert_eq!(pending.counts(), [0, 2]);
    }

    #[test]
    fn a_write_that_is_being_written_is_waited_for() {
        let pending = Pending::new(1 << 20);
        pending.put(b"k", set(b"1")).unwrap();
        let batch = pending.next().unwrap();
        std::thread::scope(|scope| {
            let takes = scope.spawn(|| pending.take(b"k", |_| true));
            std::thread::sleep(Duration::from_millis(20));
            assert!(!takes.is_finished());
            pending.done(&batch, &[Done::Written]);
            assert_eq!(takes.join().unwrap().unwrap(), None);
        });
        pending.put(b"k", set(b"2")).unwrap();
        assert_eq!(pending.take(b"k", |write| *write == Write::Invalidate).unwrap(), None);
        assert_eq!(pending.take(b"k", |_| true).unwrap(), Some(set(b"2")));
        assert!(pending.is_empty());
    }

    #[test]
    fn a_write_that_is_put_back_takes_no_newer_ones_place() {
        let pending = Pending::new(0);
        pending.put_back(b"k", set(b"1"));
        pending.put_back(b"k", Write::Invalidate);
        assert_eq!(pending.look(b"k", Write::clone), Some(set(b"1")));
        pending.give_up();
        assert_eq!((pending.counts(), pending.is_empty()), ([0, 1], true));
    }
}
