//! The beginning of a trace: its first rows, for any sink.

use std::ops::ControlFlow;

use larder_workload::Count;
use larder_workload::trace::{Formats, Recognised, Row, Sink};

/// Passes the first rows on, and then ends the reading.
#[derive(Debug)]
pub(in crate::command) struct Beginning<S> {
    pub(in crate::command) sink: S,
    left: u64,
    /// The formats in which the trace is read.
    pub(in crate::command) formats: Formats,
}

impl<S: Sink> Beginning<S> {
    /// The first `requests` operations; all where there is no limit.
    pub(in crate::command) fn new(sink: S, requests: Option<Count>) -> Self {
        let left = requests.map_or(u64::MAX, |Count(requests)| requests.into());
        Self { sink, left, formats: Formats::default() }
    }

    /// Whether the limit was reached.
    pub(in crate::command) fn is_reached(&self) -> bool {
        self.left == 0
    }
}

impl<S: Sink> Sink for Beginning<S> {
    fn begin(&mut self, file: &Recognised) {
        self.formats.add(file);
        self.sink.begin(file);
    }

    fn push(&mut self, row: &Row<'_>) -> ControlFlow<()> {
        if self.left == 0 {
            return ControlFlow::Break(());
        }
        self.left -= 1;
        self.sink.push(row)
    }
}
