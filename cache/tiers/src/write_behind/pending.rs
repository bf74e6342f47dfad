//! The queue of the writes that wait for the lowest tier, and those who wait for it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use larder_store::{Error, Result};

use super::held_write::HeldWrite;
use super::state::{Entry, QueuedWrite, State, Write, size};
use crate::SCHEME;

/// The longest time for which a caller waits for the queue: for room in it, or until a key's write has left it.
const PATIENCE: Duration = Duration::from_secs(5);

/// The writes that wait, and those who wait for them.
#[derive(Debug)]
pub(crate) struct Pending {
    state: Mutex<State>,
    /// A write has come, or the queue ends.
    came: Condvar,
    /// Writes have left.
    left: Condvar,
    max_bytes: usize,
    /// The number of writes, which every operation of the stack looks at.
    n: AtomicUsize,
}

impl Pending {
    /// An empty queue of at most this many bytes.
    pub(crate) fn new(max_bytes: usize) -> Self {
        let (came, left) = (Condvar::new(), Condvar::new());
        Self { state: Mutex::default(), came, left, max_bytes, n: AtomicUsize::new(0) }
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
        while state.bytes.saturating_add(takes) > self.max_bytes && !state.writes.is_empty() {
            let Some(woken) = self.wait(state, deadline) else {
                let what = format!(
                    "the queue of writes to the lowest tier: {} bytes, option `queue`; raise it",
                    self.max_bytes
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
        // The write in whose place another caller's comes does not count.
        let waits = |entry: &Entry| matches!(entry.write, Write::Set { .. }) && !entry.is_held;
        if state.writes.get(key).is_some_and(waits) {
            return;
        }
        if state.bytes.saturating_add(size(key, &Write::Remove)) > self.max_bytes {
            state.lost += 1;
            return;
        }
        self.add(state, key, Write::Remove);
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
        self.lock().writes.get(key).map(|entry| with(&entry.write))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.n.load(Ordering::Acquire) == 0
    }

    /// Holds the write of a key back, if `is_wanted` says so. First it waits for the end of one that is being carried out, or
    /// that another caller holds.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] where that does not end in time.
    pub(crate) fn hold(
        self: &Arc<Self>,
        key: &[u8],
        is_wanted: impl Fn(&Write) -> bool,
    ) -> Result<Option<HeldWrite>> {
        let mut held = None;
        self.wait_until(|state| {
            let is_flying = state.is_flying(key);
            let Some(entry) = state.writes.get_mut(key).filter(|entry| is_wanted(&entry.write))
            else {
                return true;
            };
            if is_flying || entry.is_held {
                return false;
            }
            entry.is_held = true;
            let (is_set, end) = match entry.write {
                Write::Set { end, .. } => (true, end),
                Write::Remove => (false, None),
            };
            let (pending, number) = (Arc::clone(self), entry.number);
            held = Some(HeldWrite { pending, key: key.into(), number, is_set, end });
            true
        })?;
        Ok(held)
    }

    /// Removes a write that is held, or puts another in its place. A newer one stays.
    pub(super) fn replace_held(&self, held: &HeldWrite, with: Option<Write>) {
        let mut state = self.lock();
        if state.writes.get(&held.key).is_some_and(|entry| entry.number == held.number) {
            match with {
                Some(write) => state.put(&held.key, write),
                None => state.remove(&held.key),
            }
            self.changed(&state);
        }
    }

    /// Lets a write wait again that was held.
    pub(super) fn let_go(&self, key: &[u8], number: u64) {
        let mut state = self.lock();
        let entry = state.writes.get_mut(key).filter(|entry| entry.number == number);
        if let Some(entry) = entry.filter(|entry| entry.is_held) {
            entry.is_held = false;
            state.queue(key);
            self.changed(&state);
        }
    }

    /// Waits until the queued set of a key has left, which is the next. A removal is not waited for.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] where it does not leave in time.
    pub(crate) fn settle(&self, key: &[u8]) -> Result<()> {
        self.settle_by(key, Instant::now() + PATIENCE)
    }

    /// As [`Self::settle`] for many keys, within the time for one: where one does not leave, the lowest tier fails.
    pub(crate) fn settle_many<'k>(&self, keys: impl Iterator<Item = &'k [u8]>) -> Vec<Result<()>> {
        let deadline = Instant::now() + PATIENCE;
        keys.map(|key| self.settle_by(key, deadline)).collect()
    }

    fn settle_by(&self, key: &[u8], deadline: Instant) -> Result<()> {
        let waits = |state: &State| {
            state.writes.get(key).is_some_and(|entry| matches!(entry.write, Write::Set { .. }))
        };
        let mut state = self.lock();
        if waits(&state) {
            state.hurry(key);
            self.came.notify_one();
        }
        drop(state);
        self.wait_by(deadline, |state| !waits(state))
    }

    /// Waits until all writes have left.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] where they do not leave in time.
    pub(crate) fn settle_all(&self) -> Result<()> {
        self.wait_until(|state| state.writes.is_empty())
    }

    /// Takes all writes out of the queue, once none is being carried out and none is held.
    ///
    /// # Errors
    ///
    /// As [`Self::hold`]. Nothing is taken then.
    pub(crate) fn take_all(&self) -> Result<Vec<(Box<[u8]>, Write)>> {
        self.lock().pauses += 1;
        let mut taken = Vec::new();
        let waited = self.wait_until(|state| {
            let is_busy = !state.flying.is_empty() || state.writes.values().any(|e| e.is_held);
            if !is_busy {
                taken = state.drain();
            }
            !is_busy
        });
        self.lock().pauses -= 1;
        self.came.notify_one();
        waited.map(|()| taken)
    }

    /// The next writes, once there are any; `None` at the end.
    pub(crate) fn next(&self) -> Option<Vec<QueuedWrite>> {
        let mut state = self.lock();
        loop {
            let batch = state.take();
            if !batch.is_empty() {
                return Some(batch);
            }
            if state.ends && state.pauses == 0 {
                return None;
            }
            state = self.came.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Notes the results of a batch. A write that was not carried out goes to the end of the queue.
    pub(crate) fn done(&self, batch: &[QueuedWrite], results: &[Done]) {
        let mut state = self.lock();
        state.flying.clear();
        for (QueuedWrite { key, write, number }, done) in batch.iter().zip(results) {
            let is_newest = state.writes.get(key).is_some_and(|entry| entry.number == *number);
            match done {
                // A newer write of the key waits, if any.
                _ if !is_newest => {
                    if state.writes.contains_key(key) {
                        state.queue(key);
                    }
                }
                Done::Again => state.queue(key),
                Done::Written => state.remove(key),
                Done::Lost => {
                    state.lost += 1;
                    state.remove(key);
                    // The lowest tier has an older value, perhaps.
                    if *write != Write::Remove {
                        state.put(key, Write::Remove);
                    }
                }
            }
        }
        self.changed(&state);
    }

    /// Gives up what still waits, and counts it as lost.
    pub(crate) fn give_up(&self) {
        let mut state = self.lock();
        state.lost += state.drain().len() as u64;
        self.changed(&state);
    }

    /// Whether a write is still the newest of its key.
    pub(crate) fn is_newest(&self, queued: &QueuedWrite) -> bool {
        let state = self.lock();
        state.writes.get(&queued.key).is_none_or(|entry| entry.number == queued.number)
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

    fn wait_until(&self, is_so: impl FnMut(&mut State) -> bool) -> Result<()> {
        self.wait_by(Instant::now() + PATIENCE, is_so)
    }

    fn wait_by(&self, deadline: Instant, mut is_so: impl FnMut(&mut State) -> bool) -> Result<()> {
        let mut state = self.lock();
        while !is_so(&mut state) {
            let what = "a write that waits for the lowest tier has not left in time".to_owned();
            let woken = self.wait(state, deadline);
            state = woken.ok_or(Error::Busy { engine: SCHEME, what })?;
        }
        // Writes may have been taken out.
        self.changed(&state);
        Ok(())
    }

    /// Wakes those who wait, after writes have left or are held no more.
    fn changed(&self, state: &State) {
        self.count(state);
        self.left.notify_all();
        self.came.notify_one();
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

#[cfg(test)]
mod tests {
    use super::super::state::OVERHEAD;
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

    fn held(pending: &Arc<Pending>) -> HeldWrite {
        pending.hold(b"k", |_| true).unwrap().unwrap()
    }

    #[test]
    fn a_write_that_is_being_written_is_waited_for() {
        let pending = Arc::new(Pending::new(1 << 20));
        pending.put(b"k", set(b"1")).unwrap();
        let batch = pending.next().unwrap();
        std::thread::scope(|scope| {
            let holds = scope.spawn(|| pending.hold(b"k", |_| true));
            std::thread::sleep(Duration::from_millis(20));
            assert!(!holds.is_finished());
            pending.done(&batch, &[Done::Written]);
            assert!(holds.join().unwrap().unwrap().is_none());
        });
        pending.put(b"k", set(b"2")).unwrap();
        assert!(pending.hold(b"k", |write| *write == Write::Remove).unwrap().is_none());
        held(&pending).remove();
        assert!(pending.is_empty());
    }

    #[test]
    fn a_write_that_is_held_is_seen_and_not_carried_out() {
        let pending = Arc::new(Pending::new(1 << 20));
        pending.put(b"k", set(b"1")).unwrap();
        let first = held(&pending);
        assert_eq!(pending.look(b"k", Write::clone), Some(set(b"1")));
        pending.put(b"other", set(b"2")).unwrap();
        let batch = pending.next().unwrap();
        assert_eq!(batch.iter().map(|late| &*late.key).collect::<Vec<_>>(), [b"other"]);
        pending.done(&batch, &[Done::Written]);
        std::thread::scope(|scope| {
            let settles = scope.spawn(|| pending.settle_all());
            first.remove();
            settles.join().unwrap().unwrap();
        });
        pending.put(b"k", set(b"1")).unwrap();
        drop(held(&pending));
        assert_eq!(pending.next().unwrap().len(), 1);
    }

    #[test]
    fn what_comes_while_a_write_is_held_stays() {
        let pending = Arc::new(Pending::new(1 << 20));
        pending.put(b"k", set(b"1")).unwrap();
        let first = held(&pending);
        pending.put(b"k", set(b"2")).unwrap();
        first.invalidate();
        assert_eq!(pending.look(b"k", Write::clone), Some(set(b"2")));
        let second = held(&pending);
        pending.invalidate(b"k");
        second.remove();
        assert_eq!(pending.look(b"k", Write::clone), Some(Write::Remove));
        assert_eq!(pending.next().unwrap().len(), 1);
    }

    #[test]
    fn a_value_that_the_lowest_tier_refuses_leaves_no_older_one_there() {
        let pending = Pending::new(1 << 20);
        pending.put(b"k", set(b"1")).unwrap();
        let batch = pending.next().unwrap();
        pending.done(&batch, &[Done::Lost]);
        assert_eq!(pending.look(b"k", Write::clone), Some(Write::Remove));
        assert_eq!(pending.counts(), [1, 1]);
    }

    #[test]
    fn a_write_that_is_put_back_takes_no_newer_ones_place() {
        let pending = Pending::new(0);
        pending.put_back(b"k", set(b"1"));
        pending.put_back(b"k", Write::Remove);
        assert_eq!(pending.look(b"k", Write::clone), Some(set(b"1")));
        let taken = pending.take_all().unwrap();
        assert_eq!((&*taken, pending.is_empty()), (&[((*b"k").into(), set(b"1"))][..], true));
        pending.put_back(b"k", Write::Remove);
        pending.give_up();
        assert_eq!((pending.counts(), pending.is_empty()), ([0, 1], true));
    }
}
