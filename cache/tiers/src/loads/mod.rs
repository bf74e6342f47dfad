//! What the loads of a stack share: those under way, the absent keys, their mean time, and their counters.

mod absent;
mod flight;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use larder_store::Counter;

pub(crate) use self::absent::Absent;
pub(crate) use self::flight::{End, Flights, Lead, Place};

/// The loads of a stack, of all its sessions.
#[derive(Debug, Default)]
pub(crate) struct Loads {
    pub(crate) flights: Flights,
    pub(crate) absent: Absent,
    /// The mean time of a load, in nanoseconds; later loads count more.
    mean_ns: AtomicU64,
    counts: [AtomicU64; LoadCount::ALL.len()],
}

/// What is counted. Loads take far longer than a count, so all sessions may count in one place.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LoadCount {
    /// Runs of a loader.
    Loads,
    /// Runs that failed.
    LoadErrors,
    /// Times that a caller waited while another loaded.
    Waits,
    /// Older values that were answered.
    StaleHits,
    /// Keys that were known to be absent.
    AbsentHits,
    /// Loaded values that were not stored: the key had been changed meanwhile, or the lowest tier failed.
    RefusedFills,
}

impl LoadCount {
    const ALL: [Self; 6] = [
        Self::Loads,
        Self::LoadErrors,
        Self::Waits,
        Self::StaleHits,
        Self::AbsentHits,
        Self::RefusedFills,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Loads => "loads",
            Self::LoadErrors => "load_errors",
            Self::Waits => "load_waits",
            Self::StaleHits => "stale_hits",
            Self::AbsentHits => "absent_hits",
            Self::RefusedFills => "refused_loads",
        }
    }
}

impl Loads {
    /// Counts one more.
    pub(crate) fn count(&self, of: LoadCount) {
        self.counts[of as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// All counters.
    pub(crate) fn counters(&self) -> Vec<Counter> {
        let counter = |of: LoadCount| Counter {
            name: of.name(),
            value: self.counts[of as usize].load(Ordering::Relaxed),
        };
        LoadCount::ALL.map(counter).into()
    }

    /// Notes the time of a load.
    pub(crate) fn took(&self, time: Duration) {
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let mean = self.mean_ns.load(Ordering::Relaxed);
        // Of two loads that end at once, one may be left out of the mean.
        let next = if mean == 0 { time } else { mean - mean / 8 + time / 8 };
        self.mean_ns.store(next, Ordering::Relaxed);
    }

    /// The mean time of a load; zero before the first.
    pub(crate) fn mean(&self) -> Duration {
        Duration::from_nanos(self.mean_ns.load(Ordering::Relaxed))
    }
}
