//! Histories of operations on keys, and their check: no read is older than the last acknowledged write plus a bound.
//!
//! A history is the lines that processes write down. Each write has a value of its own. A write whose end is not known, or
//! which failed, may take effect at any time after its begin. So a read of its value is never too old.

use std::collections::HashMap;
use std::fmt;

/// One line of a history: the times are nanoseconds of one clock for all processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// A write has begun. Without a value it removes what is there, or makes it stale.
    Begun { write: u64, key: String, value: Option<String>, at: u64 },
    /// A write was acknowledged, or failed.
    Ended { write: u64, is_done: bool, at: u64 },
    /// A read of a fresh value.
    Read { key: String, value: String, begun: u64, ended: u64 },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begun { write, key, value, at } => {
                write!(f, "begun {write} {key} {} {at}", value.as_deref().unwrap_or("-"))
            }
            Self::Ended { write, is_done, at } => write!(f, "ended {write} {is_done} {at}"),
            Self::Read { key, value, begun, ended } => {
                write!(f, "read {key} {value} {begun} {ended}")
            }
        }
    }
}

impl Event {
    /// The event of a line; `None` for a line that was cut off when its process was killed.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        Some(match words[..] {
            ["begun", write, key, value, at] => Self::Begun {
                write: write.parse().ok()?,
                key: key.into(),
                value: (value != "-").then(|| value.into()),
                at: at.parse().ok()?,
            },
            ["ended", write, is_done, at] => Self::Ended {
                write: write.parse().ok()?,
                is_done: is_done.parse().ok()?,
                at: at.parse().ok()?,
            },
            ["read", key, value, begun, ended] => Self::Read {
                key: key.into(),
                value: value.into(),
                begun: begun.parse().ok()?,
                ended: ended.parse().ok()?,
            },
            _ => return None,
        })
    }
}

/// What is wrong with a read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// No write of this key had this value before the end of the read.
    Invented { key: String, value: String },
    /// A write that began after the end of the write of this value was acknowledged so long before the read, in
    /// nanoseconds.
    TooOld { key: String, value: String, by: u64 },
}

#[derive(Debug, Clone, Copy)]
struct Write {
    begun: u64,
    /// When it was acknowledged; `None` where it may still take effect.
    done: Option<u64>,
}

/// All that is wrong with a history, where a read may be older than the last acknowledged write by `bound` nanoseconds.
pub(crate) fn faults(events: &[Event], bound: u64) -> Vec<Fault> {
    let mut ends = HashMap::new();
    for event in events {
        if let Event::Ended { write, is_done: true, at } = event {
            ends.insert(*write, *at);
        }
    }
    let mut by_value = HashMap::new();
    let mut by_key: HashMap<&str, Vec<(u64, u64)>> = HashMap::new();
    for event in events {
        let Event::Begun { write, key, value, at } = event else { continue };
        let done = ends.get(write).copied();
        if let Some(value) = value {
            by_value.insert((key.as_str(), value.as_str()), Write { begun: *at, done });
        }
        if let Some(done) = done {
            by_key.entry(key).or_default().push((*at, done));
        }
    }
    // Of the writes that began at some time or later, the earliest end.
    for writes in by_key.values_mut() {
        writes.sort_unstable();
        for i in (1..writes.len()).rev() {
            writes[i - 1].1 = writes[i - 1].1.min(writes[i].1);
        }
    }
    let fault = |event: &Event| {
        let Event::Read { key, value, begun, ended } = event else { return None };
        let write = by_value.get(&(key.as_str(), value.as_str()));
        let Some(write) = write.filter(|write| write.begun <= *ended) else {
            return Some(Fault::Invented { key: key.clone(), value: value.clone() });
        };
        let later = by_key.get(key.as_str())?;
        let first = later.partition_point(|(begun, _)| *begun <= write.done.unwrap_or(u64::MAX));
        let (_, replaced) = later.get(first)?;
        let by = begun.checked_sub(replaced.saturating_add(bound))?;
        (by > 0).then(|| Fault::TooOld { key: key.clone(), value: value.clone(), by })
    };
    events.iter().filter_map(fault).collect()
}

/// The check finds each way in which a history can break the promise, and nothing else.
pub(crate) fn the_check_finds_what_breaks_the_promise() {
    let begun = |write, value: &str, at| Event::Begun {
        write,
        key: "k".into(),
        value: (value != "-").then(|| value.into()),
        at,
    };
    let ended = |write, is_done, at| Event::Ended { write, is_done, at };
    let read = |value: &str, begun, ended| Event::Read {
        key: "k".into(),
        value: value.into(),
        begun,
        ended,
    };
    let too_old = |value: &str, by| Fault::TooOld { key: "k".into(), value: value.into(), by };
    let invented = |value: &str| Fault::Invented { key: "k".into(), value: value.into() };
    let two = [begun(1, "a", 10), ended(1, true, 20), begun(2, "b", 30), ended(2, true, 40)];
    let deleted = [begun(1, "a", 10), ended(1, true, 20), begun(2, "-", 30), ended(2, true, 40)];
    let failed = [begun(1, "a", 10), ended(1, false, 20), begun(2, "b", 30), ended(2, true, 40)];
    let at_once = [begun(1, "a", 10), begun(2, "b", 15), ended(1, true, 20), ended(2, true, 40)];
    for (writes, reads, wanted) in [
        (&two[..], read("b", 50, 60), None),
        (&two, read("a", 40, 60), None),
        (&two, read("a", 45, 60), None),
        (&two, read("a", 46, 60), Some(too_old("a", 1))),
        (&deleted, read("a", 100, 110), Some(too_old("a", 55))),
        // What failed, or whose end nobody knows, may take effect later.
        (&failed, read("a", 100, 110), None),
        (&failed[2..], read("a", 100, 110), Some(invented("a"))),
        // Of two writes at once either may be the last.
        (&at_once, read("a", 100, 110), None),
        (&two, read("c", 100, 110), Some(invented("c"))),
        // A read that ends before a write begins.
        (&two, read("b", 5, 25), Some(invented("b"))),
    ] {
        let history = [writes, &[reads]].concat();
        assert_eq!(faults(&history, 5), wanted.into_iter().collect::<Vec<_>>(), "{history:?}");
        let lines = history.iter().map(|event| Event::parse(&event.to_string()).unwrap());
        assert_eq!(lines.collect::<Vec<_>>(), history);
    }
    assert_eq!(Event::parse("read k a 1"), None);
}
