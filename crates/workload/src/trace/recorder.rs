//! Collects the operations that the formats' readers parse.

use std::io;

use rapidhash::RapidHashMap;

use super::error::TraceFault;
use super::{MAX_OPS, Trace};
use crate::Access;

/// An unfinished trace.
pub(super) struct Recorder {
    numbers: RapidHashMap<Box<[u8]>, u32>,
    trace: Trace,
    at_most: Option<usize>,
    /// The time of the first operation, in seconds.
    began_s: Option<f64>,
}

/// The reason why a reader stops before the end.
pub(super) enum Stop {
    /// The requested number of operations has been read.
    Enough,
    /// The trace is broken.
    Fault(TraceFault),
}

impl Stop {
    /// The fault of an invalid line.
    pub(super) fn line(line: u64, reason: String) -> Self {
        Self::Fault(TraceFault::Line { line, reason })
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Fault(TraceFault::Read(error))
    }
}

impl From<TraceFault> for Stop {
    fn from(fault: TraceFault) -> Self {
        Self::Fault(fault)
    }
}

/// An operation as read from a trace.
#[derive(Default)]
pub(super) struct Record<'a> {
    pub(super) key: &'a [u8],
    pub(super) operation: Recorded,
    pub(super) value_size: Option<u32>,
    pub(super) key_size: Option<u32>,
    pub(super) ttl: Option<u32>,
    /// Its time, in seconds of any clock.
    pub(super) time_s: Option<f64>,
}

/// The use of a key that a trace recorded, and whether it is only the nearest use that a replay has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Recorded {
    pub(super) kind: Access,
    pub(super) nearest: bool,
}

/// The operations of memcached's protocol and of Meta's caches, in small letters.
const OPERATIONS: &[(&str, Access, bool)] = &[
    ("get", Access::Get, false),
    ("gets", Access::Get, false),
    ("get_lease", Access::Get, false),
    ("gat", Access::Get, true),
    ("set", Access::Set, false),
    ("set_lease", Access::Set, false),
    ("add", Access::Set, true),
    ("replace", Access::Set, true),
    ("cas", Access::Set, true),
    ("append", Access::Set, true),
    ("prepend", Access::Set, true),
    ("incr", Access::Set, true),
    ("decr", Access::Set, true),
    ("delete", Access::Delete, false),
    ("touch", Access::Touch, false),
];

impl Recorded {
    /// The operation of a name, in upper or lower case.
    pub(super) fn parse(name: &[u8]) -> Option<Self> {
        let known = |(known, ..): &&(&str, _, _)| known.as_bytes().eq_ignore_ascii_case(name);
        let &(_, kind, nearest) = OPERATIONS.iter().find(known)?;
        Some(Self { kind, nearest })
    }

    /// The names that [`Recorded::parse`] knows, comma-separated.
    pub(super) fn known() -> String {
        OPERATIONS.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ")
    }
}

impl Recorder {
    pub(super) fn new(at_most: Option<usize>) -> Self {
        Self { numbers: RapidHashMap::default(), trace: Trace::default(), at_most, began_s: None }
    }

    /// How many of so many further operations are requested. More than fit are a fault.
    pub(super) fn wanted(&self, times: u64) -> Result<usize, Stop> {
        let asked = self.at_most.unwrap_or(usize::MAX);
        let times = usize::try_from(times).unwrap_or(usize::MAX).min(asked - self.trace.len());
        if times > MAX_OPS - self.trace.len() {
            return Err(TraceFault::TooLong.into());
        }
        Ok(times)
    }

    /// Appends an operation, `times` times. Stops at the requested number of operations.
    pub(super) fn push(&mut self, record: &Record<'_>, times: u32) -> Result<(), Stop> {
        let asked = self.at_most.unwrap_or(usize::MAX);
        let times = self.wanted(times.into())?;
        let time_ms = record.time_s.map(|time| self.since_begin_ms(time));
        for _ in 0..times {
            self.trace.times_ms.set(self.trace.len(), time_ms);
            self.push_once(record);
        }
        if self.trace.len() == asked { Err(Stop::Enough) } else { Ok(()) }
    }

    fn push_once(&mut self, record: &Record<'_>) {
        let key = self.number(record.key);
        let trace = &mut self.trace;
        if trace.key_size(key).is_none() {
            trace.key_sizes.set(key as usize, record.key_size);
        }
        let at = trace.len();
        let missed = record.operation.kind == Access::Get && record.value_size == Some(0);
        trace.value_sizes.set(at, record.value_size.filter(|_| !missed));
        trace.ttls.set(at, record.ttl.filter(|&ttl| ttl > 0));
        trace.keys.push(key);
        trace.operations.push(record.operation);
    }

    /// Milliseconds since the first operation.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "beyond 49 days it stands still, before the first it is 0"
    )]
    fn since_begin_ms(&mut self, time_s: f64) -> u32 {
        let began_s = *self.began_s.get_or_insert(time_s);
        ((time_s - began_s) * 1e3).round().min(f64::from(u32::MAX - 1)) as u32
    }

    /// The trace, unless it has no operation.
    pub(super) fn finish(self) -> Result<Trace, TraceFault> {
        if self.trace.len() == 0 { Err(TraceFault::Empty) } else { Ok(self.trace) }
    }

    /// The number of a key; a new key gets the next number.
    fn number(&mut self, key: &[u8]) -> u32 {
        if let Some(&number) = self.numbers.get(key) {
            return number;
        }
        let number = self.trace.n_keys;
        self.numbers.insert(key.into(), number);
        self.trace.n_keys += 1;
        number
    }
}
