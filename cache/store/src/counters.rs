//! Counters that cost a session next to nothing: each session has its own, and a reader adds them up.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::Stats;

/// A number that one session writes and any thread may read.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Counts one more. Only the session that owns the counter may call this, so a load and a store are enough.
    pub fn add_one(&self) {
        self.add(1);
    }

    /// Counts `n` more, under the same condition.
    pub fn add(&self, n: u64) {
        self.0.store(self.get() + n, Ordering::Relaxed);
    }

    /// The number.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A set of counters that each session keeps.
pub trait Tally<const N: usize>: Default {
    /// The numbers, always in the same order.
    fn counts(&self) -> [&Count; N];

    /// The values of the counters.
    fn totals(&self) -> [u64; N] {
        self.counts().map(Count::get)
    }
}

/// The counters of one session. Aligned to two cache lines, because processors fetch them in pairs: no session slows
/// another one down.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct SessionCounters {
    /// Lookups that found their key.
    pub hits: Count,
    /// Lookups that did not find their key.
    pub misses: Count,
    /// Entries that were stored.
    pub sets: Count,
    /// Entries that were deleted.
    pub deletes: Count,
}

impl SessionCounters {
    /// Counts a lookup, and returns its answer.
    pub fn looked_up<T>(&self, answer: Option<T>) -> Option<T> {
        match answer {
            Some(_) => self.hits.add_one(),
            None => self.misses.add_one(),
        }
        answer
    }
}

impl Tally<4> for SessionCounters {
    fn counts(&self) -> [&Count; 4] {
        [&self.hits, &self.misses, &self.sets, &self.deletes]
    }
}

/// The requests that one session has sent, aligned as [`SessionCounters`] is.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Requests {
    /// Requests whose answer the session waits for.
    pub sent: Count,
}

impl Tally<1> for Requests {
    fn counts(&self) -> [&Count; 1] {
        [&self.sent]
    }
}

impl Counters<Requests> {
    /// Requests of all sessions.
    pub fn sent(&self) -> u64 {
        self.totals()[0]
    }
}

/// The counters of a store: those of its open sessions, and the sums of its ended sessions.
#[derive(Debug, Default)]
pub struct Counters<T = SessionCounters> {
    sessions: Mutex<Sessions<T>>,
}

#[derive(Debug, Default)]
struct Sessions<T> {
    open: Vec<Arc<T>>,
    ended: T,
}

impl<T> Counters<T> {
    /// Counters for a new session.
    pub fn session<const N: usize>(&self) -> Arc<T>
    where
        T: Tally<N>,
    {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.fold_ended();
        let counters = Arc::<T>::default();
        sessions.open.push(Arc::clone(&counters));
        counters
    }

    /// The sums over all sessions.
    pub fn totals<const N: usize>(&self) -> [u64; N]
    where
        T: Tally<N>,
    {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.fold_ended();
        let open = sessions.open.iter().map(|session| session.totals());
        open.fold(sessions.ended.totals(), |a, b| std::array::from_fn(|i| a[i] + b[i]))
    }
}

impl Counters {
    /// Hits, misses, sets and deletes of all sessions.
    pub fn stats(&self) -> Stats {
        let [hits, misses, sets, deletes] = self.totals();
        let mut stats = Stats::default();
        (stats.hits, stats.misses) = (Some(hits), Some(misses));
        (stats.sets, stats.deletes) = (Some(sets), Some(deletes));
        stats
    }
}

/// Entries that left a store without being deleted. Few entries leave at a time, so all sessions may count here.
#[derive(Debug, Default)]
pub struct Dropped {
    evictions: AtomicU64,
    expirations: AtomicU64,
}

impl Dropped {
    /// Counts evicted entries, and entries whose TTL had passed.
    pub fn count(&self, evictions: u64, expirations: u64) {
        for (counter, n) in [(&self.evictions, evictions), (&self.expirations, expirations)] {
            if n > 0 {
                counter.fetch_add(n, Ordering::Relaxed);
            }
        }
    }

    /// Writes the counts into `stats`.
    pub fn write_to(&self, stats: &mut Stats) {
        stats.evictions = Some(self.evictions.load(Ordering::Relaxed));
        stats.expirations = Some(self.expirations.load(Ordering::Relaxed));
    }
}

impl<T> Sessions<T> {
    /// Adds the counters of ended sessions to the sums; counters that no session holds change no more.
    fn fold_ended<const N: usize>(&mut self)
    where
        T: Tally<N>,
    {
        let Self { open, ended } = self;
        open.retain_mut(|session| {
            let Some(session) = Arc::get_mut(session) else { return true };
            for (sum, last) in ended.counts().into_iter().zip(session.totals()) {
                sum.add(last);
            }
            false
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_sessions_stay_when_the_sessions_end() {
        let counters = Counters::<SessionCounters>::default();
        let (one, two) = (counters.session(), counters.session());
        one.looked_up(Some(()));
        two.looked_up(None::<()>);
        two.sets.add_one();
        drop(one);
        two.looked_up(Some(()));
        for _ in 0..2 {
            let stats = counters.stats();
            assert_eq!((stats.hits, stats.misses, stats.sets), (Some(2), Some(1), Some(1)));
            assert_eq!(counters.sessions.lock().unwrap().open.len(), 1);
        }
    }
}
