//! The lock of a partition. Only writers take it, in all processes, and no dead process holds it
//! for long.
//!
//! ```text
//! owner 32 | somebody sleeps 1 | which holding 9 | thread 22
//! ```
//!
//! The lock is one word without a pointer, so no process follows a pointer that a foreign write left there. The owner is the
//! number of an open region, by which others ask the kernel whether its process lives ([`Owner`]). A thread that has waited
//! asks this, and takes the lock of a dead process over by one compare-and-swap. Every state that the dead process may have
//! left is valid. A number belongs to one owner only. So a lock that has changed hands meanwhile is not mistaken for the dead
//! owner's.
//!
//! A thread that finds the lock taken spins for a moment, and then sleeps. A holder that is stopped, or gets no processor,
//! keeps the lock, so every wait has an end. A thread that has waited in vain notes which holding it was. While that holding
//! lasts, other threads try once and do not wait; now and then one of them waits again.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::layout::LOCK_LEN;
use crate::memory::{AtomicU64, Memory};
use crate::owner::Owner;
use crate::{fork, futex};

/// The offsets of the holding that was awaited in vain, and of the time since then, in nanoseconds of
/// [`futex::now`].
const GIVEN_UP: usize = 8;
const SINCE: usize = 16;

const THREAD: u64 = (1 << futex::THREAD_BITS) - 1;
const ONE_HOLDING: u64 = 1 << futex::THREAD_BITS;
const HOLDING: u64 = 0x1ff << futex::THREAD_BITS;
const SLEEPS: u64 = 1 << 31;

/// A thread looks this many times before it sleeps. Each time it pauses twice as often, up to
/// [`MOST_PAUSES`].
const LOOKS: u32 = 12;
const MOST_PAUSES: u32 = 32;

/// A thread sleeps for this time before it asks whether the holder lives. Each further sleep is twice as long, up
/// to [`LONGEST_SLEEP`].
const FIRST_SLEEP: Duration = Duration::from_millis(1);
const LONGEST_SLEEP: Duration = Duration::from_millis(8);

/// While the lock goes from hand to hand, a thread waits this many times as long as for one holder.
const HANDS: u32 = 4;

/// After this time one thread waits again for a holding that was awaited in vain.
const AGAIN: Duration = Duration::from_secs(1);

/// A lock that is held.
#[derive(Debug)]
pub(crate) struct LockGuard<'m> {
    lock: Lock<'m>,
    /// The lock's word, without the bit that says whether a thread sleeps.
    is: u64,
    /// The lock's last holder died while it held the lock.
    pub(crate) owner_died: bool,
    generation: u32,
}

/// The report on a lock that was not free in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Busy {
    /// The thread that holds the lock.
    pub(crate) thread: u32,
    /// The time for which this thread has waited.
    pub(crate) waited: Duration,
}

/// Makes a lock of the bytes at `at`, whatever their content. No thread may hold it or wait for it.
pub(crate) fn make(memory: &Memory, at: usize) {
    for word in (at..at + LOCK_LEN).step_by(8) {
        memory.store(word, 0);
    }
}

/// The thread that holds the lock with this word.
pub(crate) fn holder_of(word: u64) -> Option<u32> {
    u32::try_from(word & THREAD).ok().filter(|thread| *thread != 0)
}

/// Takes the lock at `at`. It waits for one holder for `patience` at most; without patience it does not wait at all.
#[inline]
pub(crate) fn take<'m>(
    memory: &'m Memory,
    at: usize,
    owner: Owner<'_>,
    patience: Duration,
) -> Result<LockGuard<'m>, Busy> {
    let lock = Lock { memory, at };
    let own = u64::from(owner.number) << 32 | u64::from(futex::thread());
    lock.try_once(own, false).map_or_else(|is| lock.wait(own, owner, is, patience), Ok)
}

/// A lock, by the offset of its word.
#[derive(Debug, Clone, Copy)]
struct Lock<'m> {
    memory: &'m Memory,
    at: usize,
}

impl<'m> Lock<'m> {
    fn word(&self) -> &'m AtomicU64 {
        self.memory.word(self.at)
    }

    /// Takes the lock if it is free; otherwise returns its word.
    #[inline]
    fn try_once(self, own: u64, sleeps: bool) -> Result<LockGuard<'m>, u64> {
        let is = self.word().load(Ordering::Relaxed);
        if is & THREAD != 0 {
            return Err(is);
        }
        self.exchange(is, own, sleeps, false)
    }

    /// Makes this thread the holder, if the word is still `is`.
    #[inline]
    fn exchange(
        self,
        is: u64,
        own: u64,
        sleeps: bool,
        owner_died: bool,
    ) -> Result<LockGuard<'m>, u64> {
        let becomes = own | is.wrapping_add(ONE_HOLDING) & HOLDING;
        let word = if sleeps { becomes | SLEEPS } else { becomes };
        self.word().compare_exchange(is, word, Ordering::Acquire, Ordering::Relaxed)?;
        Ok(LockGuard { lock: self, is: becomes, owner_died, generation: fork::generation() })
    }

    /// Takes the lock once it is free or its holder has died.
    #[cold]
    fn wait(
        self,
        own: u64,
        owner: Owner<'_>,
        first: u64,
        patience: Duration,
    ) -> Result<LockGuard<'m>, Busy> {
        let mut is = first;
        for look in 0..LOOKS {
            (0..(1 << look).min(MOST_PAUSES)).for_each(|_| futex::pause());
            match self.try_once(own, false) {
                Ok(held) => return Ok(held),
                Err(now) => is = now,
            }
        }
        let began = futex::now();
        let given_up = self.given_up(is & !SLEEPS, began);
        if given_up == GivenUp::Lately {
            return Err(Busy::of(is, Duration::ZERO));
        }
        if patience.is_zero() {
            return self.take_over(is, own, owner).map_err(|is| Busy::of(is, Duration::ZERO));
        }
        Sleeper { lock: self, own, owner, began, patience }.sleep(given_up == GivenUp::LongAgo)
    }

    /// Takes the lock from a holder that has died; otherwise returns its word.
    fn take_over(self, is: u64, own: u64, owner: Owner<'_>) -> Result<LockGuard<'m>, u64> {
        let thread = holder_of(is).ok_or(is)?;
        let number = u32::try_from(is >> 32).map_err(|_| is)?;
        if owner.lives(number, thread) { Err(is) } else { self.exchange(is, own, true, true) }
    }

    /// Whether a holding was awaited in vain. If that is long ago, one of the threads that ask gets that answer, and waits
    /// again.
    fn given_up(self, holding: u64, now: Duration) -> GivenUp {
        if self.memory.load(self.at + GIVEN_UP) != holding {
            return GivenUp::No;
        }
        let (word, now) = (self.memory.word(self.at + SINCE), nanoseconds(now));
        let since = word.load(Ordering::Relaxed);
        // A time in the future was not noted in this run of the machine.
        if u128::from(now.wrapping_sub(since)) < AGAIN.as_nanos() {
            return GivenUp::Lately;
        }
        let is_first = word.compare_exchange(since, now, Ordering::Relaxed, Ordering::Relaxed);
        if is_first.is_ok() { GivenUp::LongAgo } else { GivenUp::Lately }
    }

    /// Notes that a thread has waited for a holding in vain.
    fn give_up(self, holding: u64, now: Duration) {
        let given_up = self.memory.word(self.at + GIVEN_UP);
        self.memory.store(self.at + SINCE, nanoseconds(now));
        given_up.store(holding, Ordering::Release);
        if self.word().load(Ordering::Acquire) & !SLEEPS != holding {
            // The holder has released the lock just now, and perhaps before it could see the note.
            let _ = given_up.compare_exchange(holding, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}

/// The answer to the question whether a holding was awaited in vain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GivenUp {
    No,
    Lately,
    LongAgo,
}

/// A thread that sleeps until it has a lock.
#[derive(Debug, Clone, Copy)]
struct Sleeper<'m, 'o> {
    lock: Lock<'m>,
    own: u64,
    owner: Owner<'o>,
    began: Duration,
    patience: Duration,
}

impl<'m> Sleeper<'m, '_> {
    /// Sleeps until the lock is free, its holder has died, or the holder was awaited for long enough. This thread's own
    /// wait counts, and, unless it is to try again, another thread's wait too.
    fn sleep(self, mut tries_again: bool) -> Result<LockGuard<'m>, Busy> {
        let Self { lock, own, owner, began, patience } = self;
        let (mut holding, mut since, mut longest) = (0, began, FIRST_SLEEP);
        loop {
            // A thread that has slept cannot know whether others still do.
            let is = match lock.try_once(own, true) {
                Ok(held) => return Ok(held),
                Err(is) => is,
            };
            let now = futex::now();
            if is & !SLEEPS != holding {
                (holding, since, longest) = (is & !SLEEPS, now, FIRST_SLEEP);
            } else if let Ok(held) = lock.take_over(is, own, owner) {
                return Ok(held);
            }
            let busy = Busy::of(is, now.saturating_sub(began));
            let left = patience.saturating_sub(now.saturating_sub(since));
            if left.is_zero() {
                lock.give_up(holding, now);
                return Err(busy);
            }
            if busy.waited >= patience.saturating_mul(HANDS) {
                return Err(busy);
            }
            match lock.given_up(holding, now) {
                GivenUp::Lately if !tries_again => return Err(busy),
                GivenUp::Lately | GivenUp::No => {}
                GivenUp::LongAgo => tries_again = true,
            }
            let sleeps = is | SLEEPS;
            let is_told = is == sleeps
                || lock
                    .word()
                    .compare_exchange(is, sleeps, Ordering::Relaxed, Ordering::Relaxed)
                    .is_ok();
            if is_told {
                futex::sleep(lock.word(), lower(sleeps), longest.min(left));
                longest = (2 * longest).min(LONGEST_SLEEP);
            }
        }
    }
}

impl Busy {
    fn of(is: u64, waited: Duration) -> Self {
        Self { thread: holder_of(is).unwrap_or(0), waited }
    }
}

impl LockGuard<'_> {
    /// Whether this process holds the lock. A child that was forked meanwhile does not: its parent
    /// does.
    pub(crate) fn is_own(&self) -> bool {
        self.generation == fork::generation()
    }
}

impl Drop for LockGuard<'_> {
    fn drop(&mut self) {
        if !self.is_own() {
            return;
        }
        let (lock, word) = (self.lock, self.lock.word());
        if lock.memory.load(lock.at + GIVEN_UP) == self.is {
            lock.memory.store(lock.at + GIVEN_UP, 0);
        }
        let (mut is, free) = (self.is, self.is & HOLDING);
        // A word that a foreign write has changed is left alone.
        while is & !SLEEPS == self.is {
            match word.compare_exchange(is, free, Ordering::Release, Ordering::Relaxed) {
                Ok(_) if is & SLEEPS != 0 => return futex::wake(word),
                Ok(_) => return,
                Err(now) => is = now,
            }
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The lower half of a word.
fn lower(word: u64) -> u32 {
    u32::try_from(word & 0xffff_ffff).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(5);

    fn take_it(memory: &Memory, patience: Duration) -> Result<LockGuard<'_>, Busy> {
        take(memory, 64, Owner::private(), patience)
    }

    #[test]
    fn one_holds_it_and_the_other_does_not_wait_for_ever() {
        let memory = Memory::private(4096).unwrap();
        make(&memory, 64);
        let held = take_it(&memory, SHORT).unwrap();
        assert!(!held.owner_died);
        let other = || take_it(&memory, SHORT).map(|held| held.owner_died);
        let busy = std::thread::scope(|s| s.spawn(other).join().unwrap()).unwrap_err();
        assert_eq!(busy.thread, futex::thread());
        assert!(busy.waited >= SHORT, "{busy:?}");
        drop(held);
        assert_eq!(other(), Ok(false));
    }

    #[test]
    fn of_a_thread_that_ended_with_it_the_next_is_told_once() {
        let memory = Memory::private(4096).unwrap();
        make(&memory, 64);
        let leave = || std::mem::forget(take_it(&memory, SHORT).unwrap());
        std::thread::scope(|s| s.spawn(leave).join().unwrap());
        let patience = Duration::from_secs(9);
        assert!(take_it(&memory, patience).unwrap().owner_died);
        assert!(!take_it(&memory, patience).unwrap().owner_died);
    }
}
