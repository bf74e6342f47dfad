//! Writes that wait at the same time share one transaction, so that the one writer of LMDB is no queue.
//!
//! A session posts its write and waits. One of the waiting sessions leads: it does the work of all in one transaction, commits
//! once, and hands the lead to a session that has come meanwhile. So a commit, and with it a sync to the disk, is paid once
//! for all writes that came during the commit before. This is known as flat combining (Hendler, Incze, Shavit and Tzafrir,
//! 2010), and in databases as group commit.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::hint;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use super::writer::WriteTransaction;

/// The work of a session inside a transaction.
pub(super) type Work<'w> = dyn FnMut(&mut WriteTransaction<'_>) -> heed::Result<()> + Send + 'w;

/// What a write takes of a transaction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weight {
    /// Entries that it stores.
    pub(super) entries: usize,
    /// Bytes of these entries.
    pub(super) bytes: u64,
    /// Whether it stores none, and removes some.
    pub(super) removes: bool,
}

impl Weight {
    /// A write that changes an entry of unknown length.
    pub(super) const ONE: Self = Self::of(1, 0);

    /// A write that removes entries.
    pub(super) const REMOVAL: Self = Self { removes: true, ..Self::ONE };

    /// A write that stores entries.
    pub(super) const fn of(entries: usize, bytes: u64) -> Self {
        Self { entries, bytes, removes: false }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            entries: self.entries + other.entries,
            bytes: self.bytes + other.bytes,
            removes: self.removes && other.removes,
        }
    }

    fn is_within(self, most: Self) -> bool {
        self.entries <= most.entries && self.bytes <= most.bytes
    }
}

/// The writes of one namespace that wait in this process.
#[derive(Debug)]
pub(super) struct GroupCommit {
    queue: Mutex<Queue>,
    /// A write has been posted while the leader waits for more.
    posted: Condvar,
    /// The most that one transaction takes, unless one write alone takes more.
    most: Weight,
    /// The longest time that a leader waits for as many writes as shared the last transaction.
    patience: Duration,
    /// This many waiting sessions spin before they block: a commit without a sync takes less time than a thread needs to
    /// fall asleep and wake up.
    n_awake: usize,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Posted>,
    is_led: bool,
    /// The leader waits for more writes.
    is_patient: bool,
    /// The number of writes that shared the last transaction.
    n_last: usize,
}

/// What a waiting session has on its stack.
struct Slot<'w> {
    state: AtomicU8,
    work: UnsafeCell<&'w mut Work<'w>>,
}

/// The number of looks of a session that spins, which take some 20 microseconds.
const LOOKS: usize = 1500;

/// The states of a slot.
const WAITS: u8 = 0;
/// The session leads the next transaction.
const LEADS: u8 = 1;
/// Its work is committed.
const COMMITTED: u8 = 2;
/// The shared transaction failed and has left no trace, so that the session does its work alone.
const ALONE: u8 = 3;

/// The way to a slot. The session of the slot waits until its state is [`COMMITTED`] or [`ALONE`].
#[derive(Debug)]
struct Posted {
    slot: NonNull<Slot<'static>>,
    weight: Weight,
    thread: Thread,
}

// SAFETY: the work of a slot is `Send`, and its other parts are atomic.
unsafe impl Send for Posted {}

impl Posted {
    fn tell(self, state: u8) {
        // SAFETY: the session waits until it is woken, so the slot is there. It is not touched after that.
        unsafe { self.slot.as_ref() }.state.store(state, Ordering::Release);
        self.thread.unpark();
    }
}

impl GroupCommit {
    pub(super) fn new(most: Weight, patience: Duration, n_awake: usize) -> Self {
        Self { queue: Mutex::default(), posted: Condvar::new(), most, patience, n_awake }
    }

    /// Has `work` done in a transaction that other sessions share. `commit` makes a transaction of this session, does works
    /// in it in their order, and commits it. `false` where the transaction failed: nothing of it is left, and the caller
    /// does its work alone.
    pub(super) fn share<'w>(
        &self,
        work: &'w mut Work<'w>,
        weight: Weight,
        commit: &mut dyn FnMut(&mut dyn Iterator<Item = &mut Work<'static>>) -> heed::Result<()>,
    ) -> bool {
        let slot = Slot { state: AtomicU8::new(WAITS), work: UnsafeCell::new(work) };
        let posted =
            Posted { slot: NonNull::from(&slot).cast(), weight, thread: thread::current() };
        let mut queue = self.queue();
        queue.waiting.push_back(posted);
        let leads = !std::mem::replace(&mut queue.is_led, true);
        let is_awaited = queue.is_patient;
        let stays_awake = queue.waiting.len() <= self.n_awake;
        drop(queue);
        // A notification costs a call of the system, even if no thread waits for it.
        if is_awaited {
            self.posted.notify_one();
        }
        if !leads {
            let looks = if stays_awake { LOOKS } else { 0 };
            for _ in 0..looks {
                if slot.state.load(Ordering::Acquire) != WAITS {
                    break;
                }
                hint::spin_loop();
            }
            loop {
                match slot.state.load(Ordering::Acquire) {
                    WAITS => thread::park(),
                    LEADS => break,
                    state => return state == COMMITTED,
                }
            }
        }
        self.lead(commit);
        // The leader's own write is the first of those that it took.
        slot.state.load(Ordering::Acquire) == COMMITTED
    }

    /// Does the work of the sessions that wait, of which this one is the first, and hands the lead on.
    fn lead(
        &self,
        commit: &mut dyn FnMut(&mut dyn Iterator<Item = &mut Work<'static>>) -> heed::Result<()>,
    ) {
        let taken = self.take();
        let mut works = taken.iter().map(|posted| -> &mut Work<'static> {
            // SAFETY: the session waits until it is woken, and meanwhile this thread alone has the work.
            unsafe { &mut **posted.slot.as_ref().work.get() }
        });
        // A work that panics spoils the transaction of all. Each is then done alone, and panics in its own session.
        let done = catch_unwind(AssertUnwindSafe(|| commit(&mut works)));
        let state = if matches!(done, Ok(Ok(()))) { COMMITTED } else { ALONE };
        drop(works);
        let next = {
            let mut queue = self.queue();
            queue.n_last = taken.len();
            queue.is_led = !queue.waiting.is_empty();
            queue.waiting.front().map(|next| (next.slot, next.thread.clone()))
        };
        if let Some((slot, thread)) = next {
            // SAFETY: as above; it is still in the queue.
            unsafe { slot.as_ref() }.state.store(LEADS, Ordering::Release);
            thread.unpark();
        }
        for posted in taken {
            posted.tell(state);
        }
    }

    /// Takes what one transaction can do off the queue, at least the first write.
    fn take(&self) -> Vec<Posted> {
        let mut queue = self.queue();
        if !self.patience.is_zero() && queue.waiting.len() < queue.n_last {
            let n_last = queue.n_last;
            queue.is_patient = true;
            let is_short = |queue: &mut Queue| queue.waiting.len() < n_last;
            let waited = self.posted.wait_timeout_while(queue, self.patience, is_short);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
            queue.is_patient = false;
        }
        let mut taken: Vec<Posted> = Vec::new();
        let mut sum = Weight::of(0, 0);
        while let Some(next) = queue.waiting.front() {
            sum = sum.plus(next.weight);
            if !taken.is_empty() && !sum.is_within(self.most) {
                break;
            }
            taken.extend(queue.waiting.pop_front());
        }
        taken
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        // No code that may panic runs under the lock.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Barrier};
    use std::time::Instant;

    use larder_host::place::Place;

    use larder_host::scratch::ScratchDir;
    use larder_store::{Session, SetOptions, SetOutcome, StoreUrl};

    use super::*;
    use crate::lmdb::config::LmdbConfig;
    use crate::lmdb::record::VERSIONS_PER_TRANSACTION;
    use crate::lmdb::session::LmdbSession;
    use crate::lmdb::store::Shared;

    fn open(query: &str) -> Arc<Shared> {
        let url = StoreUrl::parse(&format!("lmdb:?{query}")).unwrap();
        let config: LmdbConfig = url.options("lmdb").unwrap();
        let place = Place::Own(ScratchDir::create("lmdb").unwrap());
        Arc::new(Shared::open(place, &config).unwrap())
    }

    /// Waits until this many writes wait behind a leader, or for long.
    fn wait_for(shared: &Shared, n: usize) {
        let until = Instant::now() + Duration::from_mins(1);
        let is_so = |queue: &Queue| queue.is_led && queue.waiting.len() == n;
        while !is_so(&shared.group_commit.as_ref().unwrap().queue()) {
            assert!(Instant::now() < until, "{n} writes wait");
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn set(shared: &Arc<Shared>, key: &str) -> u64 {
        let mut session = LmdbSession::new(Arc::clone(shared));
        match session.set(key.as_bytes(), b"value", &SetOptions::default()).unwrap() {
            SetOutcome::Stored(Some(version)) => version / VERSIONS_PER_TRANSACTION as u64,
            other => panic!("{key}: {other:?}"),
        }
    }

    /// Lets the writes of some threads wait behind one, and returns the transaction of each.
    fn set_together(shared: &Arc<Shared>, n: usize) -> Vec<u64> {
        thread::scope(|scope| {
            let mut threads = Vec::new();
            let held = shared.environment.write(|_, _| {
                scope.spawn(|| set(shared, "first"));
                wait_for(shared, 0);
                threads.extend((0..n).map(|i| scope.spawn(move || set(shared, &i.to_string()))));
                wait_for(shared, n);
                Ok(())
            });
            held.unwrap();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn writes_that_wait_share_a_transaction() {
        for query in ["sync=nosync", "sync=group"] {
            let shared = open(query);
            let mut transactions = set_together(&shared, 20);
            transactions.dedup();
            assert_eq!(transactions.len(), 1, "{query}: {transactions:?}");
            // No session is left with the lead.
            set(&shared, "later");
        }
        assert!(open("sync=each").group_commit.is_none());
    }

    #[test]
    fn a_work_that_fails_fails_in_its_own_session_alone() {
        let shared = open("");
        let all = Barrier::new(9);
        let panicked = thread::scope(|scope| {
            let bad = scope.spawn(|| {
                all.wait();
                let mut session = LmdbSession::new(Arc::clone(&shared));
                let _: larder_store::Result<()> = session.write(Weight::ONE, |_| panic!("a fault"));
            });
            for i in 0..8 {
                let (all, shared) = (&all, &shared);
                scope.spawn(move || {
                    all.wait();
                    for n in 0..50 {
                        set(shared, &format!("{i} {n}"));
                    }
                });
            }
            bad.join().is_err()
        });
        assert!(panicked);
        let mut session = LmdbSession::new(shared);
        for key in (0..8).flat_map(|i| (0..50).map(move |n| format!("{i} {n}"))) {
            assert!(session.get(key.as_bytes(), &mut Vec::new()).unwrap().is_some(), "{key}");
        }
    }

    #[test]
    fn a_leader_waits_for_as_many_writes_as_shared_the_last_transaction_but_not_for_ever() {
        let shared = open("sync=group&group_wait=5m");
        set(&shared, "alone");
        shared.group_commit.as_ref().unwrap().queue().n_last = 2;
        let transactions: Vec<u64> = thread::scope(|scope| {
            let first = scope.spawn(|| set(&shared, "first"));
            wait_for(&shared, 1);
            let second = scope.spawn(|| set(&shared, "second"));
            [first, second].map(|thread| thread.join().unwrap()).into()
        });
        assert_eq!(transactions[0], transactions[1]);
        let shared = open("sync=group&group_wait=1ms");
        shared.group_commit.as_ref().unwrap().queue().n_last = 2;
        set(&shared, "in vain");
    }
}
