//! Collects rows into a trace in memory. A size that no replay can make counts as not recorded.

use std::ops::ControlFlow;

use rapidhash::RapidHashMap;

use super::error::TraceFault;
use super::lines::MAX_KEY;
use super::row::{Key, Row, Verb};
use super::sink::Sink;
use super::{MAX_OPS, Trace};
use crate::SizeSpec;

/// An unfinished trace.
pub(super) struct TraceBuilder {
    by_bytes: RapidHashMap<Box<[u8]>, u32>,
    by_hash: RapidHashMap<u64, u32>,
    trace: Trace,
    at_most: usize,
    /// The time of the first operation, in microseconds.
    began_us: Option<u64>,
    too_long: bool,
}

impl Sink for TraceBuilder {
    fn push(&mut self, row: &Row<'_>) -> ControlFlow<()> {
        self.announce(1)?;
        let time_ms = row.time_us.map(|time| self.since_begin_ms(time));
        let key = self.number(row.key);
        let trace = &mut self.trace;
        if trace.key_size(key).is_none() {
            trace.key_sizes.set(key as usize, row.key_size.filter(|&size| size <= MAX_KEY));
        }
        let at = trace.len();
        let missed =
            row.operation == Verb::Get && row.value_size == Some(0) && row.result.is_none();
        trace.times_ms.set(at, time_ms);
        trace
            .value_sizes
            .set(at, row.value_size.filter(|&size| !missed && size <= SizeSpec::LIMIT));
        trace.ttls.set(at, row.ttl_s.filter(|&ttl| ttl > 0 && ttl < u32::MAX));
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
            began_us: None,
            too_long: false,
        }
    }

    /// The trace, unless it has no operation, or more than fit.
    pub(super) fn finish(self) -> Result<Trace, TraceFault> {
        if self.too_long {
            Err(TraceFault::TooLong)
        } else if self.trace.len() == 0 {
            Err(TraceFault::Empty)
        } else {
            Ok(self.trace)
        }
    }

    fn unless_enough(&self) -> ControlFlow<()> {
        if self.trace.len() >= self.at_most {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Milliseconds since the first operation. Before the first it is 0, and beyond 49 days it stands still.
    fn since_begin_ms(&mut self, time_us: u64) -> u32 {
        let began_us = *self.began_us.get_or_insert(time_us);
        let ms = (time_us.saturating_sub(began_us) + 500) / 1000;
        u32::try_from(ms).unwrap_or(u32::MAX).min(u32::MAX - 1)
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
