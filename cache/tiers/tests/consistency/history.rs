//! Histories of operations on keys, and their check: no read is older than the last acknowledged write plus a bound.
//!
//! A history is the lines that processes write down. The value of a write is the write's own number. A write whose end is
//! not known, or which failed, may take effect at any time after its begin. So a read of its value is never too old.
//!
//! The bounds of docs/tiers.md are those of processes that get to run. Each process writes down the pauses in which it did
//! not run, and a read may be older by all pauses since its value was replaced, or since its TTL ended.

use std::collections::{HashMap, HashSet};
use std::fmt;

/// One line of a history: the times are nanoseconds of one clock for all processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// A write has begun.
    Begun { write: u64, key: u32, leaves: Leaves, at: u64 },
    /// A write was acknowledged, or failed.
    Ended { write: u64, is_done: bool, at: u64 },
    /// A read of the value of this write.
    Read { key: u32, write: u64, is_stale: bool, begun: u64, ended: u64 },
    /// A process did not run.
    Paused { begun: u64, ended: u64 },
}

/// The entry after a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaves {
    /// None, or a stale one.
    Nothing,
    /// The value of this write.
    Value,
    /// The same, with a TTL in nanoseconds.
    ValueFor(u64),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begun { write, key, leaves, at } => {
                write!(f, "begun {write} {key} ")?;
                match leaves {
                    Leaves::Nothing => f.write_str("nothing")?,
                    Leaves::Value => f.write_str("value")?,
                    Leaves::ValueFor(ttl) => write!(f, "{ttl}")?,
                }
                write!(f, " {at}")
            }
            Self::Ended { write, is_done, at } => write!(f, "ended {write} {is_done} {at}"),
            Self::Read { key, write, is_stale, begun, ended } => {
                write!(f, "read {key} {write} {is_stale} {begun} {ended}")
            }
            Self::Paused { begun, ended } => write!(f, "paused {begun} {ended}"),
        }
    }
}

impl Event {
    /// The event of a line; `None` for a line that was cut off when its process was killed.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |word: &str| word.parse().ok();
        Some(match words[..] {
            ["begun", write, key, leaves, at] => Self::Begun {
                write: number(write)?,
                key: key.parse().ok()?,
                leaves: match leaves {
                    "nothing" => Leaves::Nothing,
                    "value" => Leaves::Value,
                    ttl => Leaves::ValueFor(number(ttl)?),
                },
                at: number(at)?,
            },
            ["ended", write, is_done, at] => Self::Ended {
                write: number(write)?,
                is_done: is_done.parse().ok()?,
                at: number(at)?,
            },
            ["read", key, write, is_stale, begun, ended] => Self::Read {
                key: key.parse().ok()?,
                write: number(write)?,
                is_stale: is_stale.parse().ok()?,
                begun: number(begun)?,
                ended: number(ended)?,
            },
            ["paused", begun, ended] => {
                Self::Paused { begun: number(begun)?, ended: number(ended)? }
            }
            _ => return None,
        })
    }
}

/// How old a read may be, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// After the acknowledgement of a newer write.
    pub(crate) replaced: u64,
    /// After the end of the value's TTL; `None` where nothing is promised.
    pub(crate) after_ttl: Option<u64>,
}

/// What is wrong with a read. `by` is the time in nanoseconds by which it is beyond its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// No write of this key had this value before the end of the read.
    Invented { key: u32, write: u64 },
    /// A write that began after the end of the write of this value was acknowledged too long before the read.
    TooOld { key: u32, write: u64, by: u64 },
    /// The TTL of the value was over too long before the read, which did not tell that the value is stale.
    Outlived { key: u32, write: u64, by: u64 },
}

/// All that is wrong with a history, and what was judged.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) faults: Vec<Fault>,
    /// The reads that would have been too old, had they found the value before the key's last write.
    pub(crate) n_conclusive_reads: usize,
}

#[derive(Debug, Clone, Copy)]
struct Write {
    key: u32,
    begun: u64,
    /// When it was acknowledged; `None` where it may still take effect.
    done: Option<u64>,
    ttl: Option<u64>,
}

/// The history by its parts.
struct History {
    writes: HashMap<u64, Write>,
    /// For each key, its acknowledged writes in the order of their begins: the begin, and the earliest end of this and all later
    /// ones.
    by_key: HashMap<u32, Vec<(u64, u64)>>,
    pauses: Vec<(u64, u64)>,
}

impl History {
    fn new(events: &[Event]) -> Self {
        let mut this = Self { writes: HashMap::new(), by_key: HashMap::new(), pauses: Vec::new() };
        let mut ends = HashMap::new();
        for event in events {
            match *event {
                Event::Ended { write, is_done: true, at } => drop(ends.insert(write, at)),
                Event::Paused { begun, ended } => this.pauses.push((begun, ended)),
                _ => {}
            }
        }
        for event in events {
            let Event::Begun { write, key, leaves, at: begun } = *event else { continue };
            let done = ends.get(&write).copied();
            let ttl = if let Leaves::ValueFor(ttl) = leaves { Some(ttl) } else { None };
            if leaves != Leaves::Nothing {
                this.writes.insert(write, Write { key, begun, done, ttl });
            }
            if let Some(done) = done {
                this.by_key.entry(key).or_default().push((begun, done));
            }
        }
        for writes in this.by_key.values_mut() {
            writes.sort_unstable();
            for i in (1..writes.len()).rev() {
                writes[i - 1].1 = writes[i - 1].1.min(writes[i].1);
            }
        }
        this
    }

    /// When the value of a write was replaced for sure.
    fn replaced(&self, write: &Write) -> Option<u64> {
        let later = self.by_key.get(&write.key)?;
        let first = later.partition_point(|(begun, _)| *begun <= write.done.unwrap_or(u64::MAX));
        later.get(first).map(|(_, replaced)| *replaced)
    }

    /// The time by which a read is beyond a bound, without the pauses in between.
    fn beyond(&self, since: u64, bound: u64, read: u64) -> Option<u64> {
        let by = read.checked_sub(since.saturating_add(bound)).filter(|by| *by > 0)?;
        let pause =
            |(begun, ended): &(u64, u64)| (*ended).min(read).saturating_sub((*begun).max(since));
        by.checked_sub(self.pauses.iter().map(pause).sum()).filter(|by| *by > 0)
    }

    /// Whether this read would be too old with the value before the last acknowledged write of its key.
    fn is_conclusive(&self, key: u32, read: u64, bounds: Bounds) -> bool {
        let Some(writes) = self.by_key.get(&key) else { return false };
        let last = writes.partition_point(|(begun, _)| *begun <= read);
        let Some((_, done)) = last.checked_sub(1).and_then(|last| writes.get(last)) else {
            return false;
        };
        read > done.saturating_add(bounds.replaced)
    }
}

/// Judges a history.
pub(crate) fn judge(events: &[Event], bounds: Bounds) -> Verdict {
    let history = History::new(events);
    let mut verdict = Verdict::default();
    for event in events {
        let Event::Read { key, write, is_stale, begun, ended } = *event else { continue };
        verdict.n_conclusive_reads += usize::from(history.is_conclusive(key, begun, bounds));
        let found = history.writes.get(&write);
        let Some(found) = found.filter(|found| found.key == key && found.begun <= ended) else {
            verdict.faults.push(Fault::Invented { key, write });
            continue;
        };
        // A stale value tells itself that it is old.
        if is_stale {
            continue;
        }
        let replaced = history.replaced(found);
        if let Some(by) = replaced.and_then(|at| history.beyond(at, bounds.replaced, begun)) {
            verdict.faults.push(Fault::TooOld { key, write, by });
        }
        let over = found.done.zip(found.ttl).map(|(done, ttl)| done.saturating_add(ttl));
        let by =
            over.zip(bounds.after_ttl).and_then(|(at, bound)| history.beyond(at, bound, begun));
        verdict.faults.extend(by.map(|by| Fault::Outlived { key, write, by }));
    }
    verdict
}

/// The keys with a read that was too old.
pub(crate) fn keys_too_old(faults: &[Fault]) -> HashSet<u32> {
    let key = |fault: &Fault| match fault {
        Fault::TooOld { key, .. } => Some(*key),
        _ => None,
    };
    faults.iter().filter_map(key).collect()
}
