//! Collects rows into a trace in memory.

use std::ops::ControlFlow;

use rapidhash::RapidHashMap;

use super::error::TraceFault;
use super::lines::MAX_KEY;
use super::recognised::{Formats, Recognised};
use super::row::{Key, Outcome, Row, Verb};
use super::sink::Sink;
use super::{MAX_OPS, Trace};
use crate::{Access, SizeSpec};

/// An unfinished trace.
pub(super) struct TraceBuilder {
    by_bytes: RapidHashMap<Box<[u8]>, u32>,
    by_hash: RapidHashMap<u64, u32>,
    trace: Trace,
    at_most: usize,
    /// The request of the last operation, where that was a read.
    last_read: Option<u64>,
    too_long: bool,
    /// The formats of the files that were read.
    pub(super) formats: Formats,
}

impl Sink for TraceBuilder {
    fn begin(&mut self, file: &Recognised) {
        self.formats.add(file);
    }

    fn push(&mut self, row: &Row<'_>) -> ControlFlow<()> {
        self.announce(1)?;
        let access = row.operation.access();
        let is_read = access == Access::Get;
        let is_joined = is_read && self.last_read == Some(row.request);
        self.last_read = is_read.then_some(row.request);
        let key = self.number(row.key);
        let trace = &mut self.trace;
        if trace.key_size(key).is_none() {
            trace.key_sizes.set(key as usize, row.key_size.filter(|&size| size <= MAX_KEY));
        }
        let at = trace.len();
        // The recorded cache refused such a value, too.
        let was_refused = row.result == Some(Outcome::Error);
        let is_stored = |size: &u32| *size <= SizeSpec::LIMIT || !was_refused;
        // A trace is replayed in its times where every operation has one.
        if let Some(time_us) = row.time_us.filter(|_| trace.times_us.len() == at) {
            trace.times_us.push(time_us);
        }
        trace.joined.set(at, is_joined);
        trace.creates.set(at, row.creates());
        trace.missed.set(at, is_missed(row));
        trace.has_results |= is_read && row.result.is_some();
        if access.counts() {
            trace.counters.set(key as usize, true);
        }
        trace.value_sizes.set(at, row.recorded_size().filter(is_stored));
        // A read without a TTL does not tell whether its entry has one.
        trace.ttls.set(at, row.ttl_s.filter(|&ttl| ttl < u32::MAX && (ttl > 0 || !is_read)));
        trace.keys.push(key);
        trace.operations.push(row.operation);
        self.unless_enough()
    }

    fn announce(&mut self, n_rows: u64) -> ControlFlow<()> {
        self.unless_enough()?;
        let n_rows = usize::try_from(n_rows).unwrap_or(usize::MAX);
        let wanted = n_rows.min(self.at_most - self.trace.len());
        if wanted > MAX_OPS - self.trace.len() {
            self.too_long = true;
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

impl TraceBuilder {
    pub(super) fn new(at_most: Option<usize>) -> Self {
        Self {
            by_bytes: RapidHashMap::default(),
            by_hash: RapidHashMap::default(),
            trace: Trace::default(),
            at_most: at_most.unwrap_or(usize::MAX),
            last_read: None,
            too_long: false,
            formats: Formats::default(),
        }
    }

    /// The trace, unless it has no operation, or more than fit.
    pub(super) fn finish(self) -> Result<Trace, TraceFault> {
        if self.too_long {
            Err(TraceFault::TooLong)
        } else if self.trace.len() == 0 {
            Err(TraceFault::Empty)
        } else {
            let mut trace = self.trace;
            if trace.times_us.len() < trace.len() {
                trace.times_us = Vec::new();
            }
            let least_us = trace.times_us.iter().min().copied().unwrap_or(0);
            for time_us in &mut trace.times_us {
                *time_us -= least_us;
            }
            Ok(trace)
        }
    }

    fn unless_enough(&self) -> ControlFlow<()> {
        if self.trace.len() >= self.at_most {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// The number of a key; a new key gets the next number.
    fn number(&mut self, key: Key<'_>) -> u32 {
        let known = match key {
            Key::Bytes(bytes) => self.by_bytes.get(bytes),
            Key::Hash(hash) => self.by_hash.get(&hash),
        };
        if let Some(&number) = known {
            return number;
        }
        let number = self.trace.n_keys;
        match key {
            Key::Bytes(bytes) => self.by_bytes.insert(bytes.into(), number),
            Key::Hash(hash) => self.by_hash.insert(hash, number),
        };
        self.trace.n_keys += 1;
        number
    }
}

/// Whether a read found nothing, or an `add` found something.
fn is_missed(row: &Row<'_>) -> bool {
    match row.operation {
        Verb::Get | Verb::Gat => row.result == Some(Outcome::Miss),
        Verb::Add => row.result == Some(Outcome::NotStored),
        _ => false,
    }
}
