//! The job of a process: its keys, and when it writes them.
//!
//! A key of its own is written once in each period, and is only read for the rest of it. So a process of another host
//! that missed the write goes on to read the old value, until long after the bound. A few keys are written by all.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

/// The time at the begin in which all hosts read the first values.
const WARM: Duration = Duration::from_secs(1);

/// The keys of one writing process.
const OWN: u32 = 40;

/// The keys that all processes write, often, so that their writes meet.
const SHARED: u32 = 4;

/// The TTL of every fourth key, where values have TTLs.
pub(crate) const TTL: Duration = Duration::from_secs(2);

/// How writes are acknowledged, and how values come to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Values are set.
    Sets,
    /// Values are set behind: a set is acknowledged once it is below.
    Behind,
    /// Values are loaded from a file. A write changes that file, and then removes the key.
    Loads,
}

impl Work {
    const ALL: [(Self, &str); 3] =
        [(Self::Sets, "sets"), (Self::Behind, "behind"), (Self::Loads, "loads")];
}

/// The job of a process.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) url: String,
    pub(crate) history: PathBuf,
    /// Of loaded values: the number of the newest write of each key.
    pub(crate) origin: PathBuf,
    pub(crate) work: Work,
    /// The number of this writer and of all; a process without a number only reads.
    pub(crate) writer: Option<u32>,
    pub(crate) n_writers: u32,
    /// It writes all of its keys at once in the beginning.
    pub(crate) is_first: bool,
    /// The time from one write of a key to the next.
    pub(crate) period: Duration,
    /// When the run began.
    pub(crate) begun: u64,
}

impl Job {
    pub(crate) fn to_text(&self) -> String {
        let name = Work::ALL.iter().find(|(work, _)| *work == self.work).unwrap().1;
        let writer = self.writer.map_or_else(|| "-".to_owned(), |writer| writer.to_string());
        let Self { url, history, origin, n_writers, is_first, begun, .. } = self;
        let period = self.period.as_millis();
        let [history, origin] = [history, origin].map(|path| path.to_str().unwrap());
        format!(
            "{url}\n{history}\n{origin}\n{name} {writer} {n_writers} {is_first} {period} {begun}"
        )
    }

    pub(crate) fn of_text(text: &str) -> Option<Self> {
        let lines: Vec<&str> = text.lines().collect();
        let [url, history, origin, rest] = lines[..] else { return None };
        let words: Vec<&str> = rest.split(' ').collect();
        let [name, writer, n_writers, is_first, period, begun] = words[..] else { return None };
        Some(Self {
            url: url.into(),
            history: history.into(),
            origin: origin.into(),
            work: Work::ALL.iter().find(|(_, known)| *known == name)?.0,
            writer: writer.parse().ok(),
            n_writers: n_writers.parse().ok()?,
            is_first: is_first.parse().ok()?,
            period: Duration::from_millis(period.parse().ok()?),
            begun: begun.parse().ok()?,
        })
    }

    /// The keys that this process alone writes.
    pub(crate) fn own(&self) -> Range<u32> {
        self.writer.map_or(0..0, |writer| writer * OWN..(writer + 1) * OWN)
    }

    /// The keys that all writing processes write. With sets behind, one process alone may write a key.
    pub(crate) fn shared(&self) -> Range<u32> {
        let first = self.n_writers * OWN;
        if self.work == Work::Behind { first..first } else { first..first + SHARED }
    }

    /// All keys are numbers below this.
    pub(crate) fn keys(&self) -> u32 {
        self.shared().end
    }

    /// The number of the period of a key, which is written at the begin of each.
    pub(crate) fn number_of_period(&self, key: u32) -> i64 {
        let nanos = |time: Duration| i64::try_from(time.as_nanos()).unwrap();
        let since = now().cast_signed() - self.begun.cast_signed() - nanos(WARM);
        let offset = nanos(self.period) / i64::from(OWN) * i64::from(key % OWN);
        (since - offset).div_euclid(nanos(self.period))
    }
}

/// Whether more than one process writes this key.
pub(crate) fn is_shared(key: u32, n_writers: u32) -> bool {
    key >= n_writers * OWN
}

/// Nanoseconds of a clock that all processes share.
pub(crate) fn now() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes a time to a place for one.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}
