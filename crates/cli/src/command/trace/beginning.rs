//! The beginning of a trace: its first rows, for any sink.

use std::ops::ControlFlow;

use larder_workload::Count;
use larder_workload::trace::{Row, Sink};

/// Passes the first rows on, and then ends the reading.
#[derive(Debug)]
pub(in crate::command) struct Beginning<S> {
    pub(in crate::command) sink: S,
    left: u64,
}

impl<S: Sink> Beginning<S> {
    /// The first `requests` operations; all where there is no limit.
    pub(in crate::command) fn new(sink: S, requests: Option<Count>) -> Self {
        Self { sink, left: requests.map_or(u64::MAX, |Count(requests)| requests.into()) }
    }

    /// Whether the limit was reached.
    pub(in crate::command) fn is_reached(&self) -> bool {
        self.left == 0
    }
}

impl<S: Sink> Sink for Beginning<S> {
    fn push(&mut self, row: &Row<'_>) -> ControlFlow<()> {
        if self.left == 0 {
            return ControlFlow::Break(());
        }
        self.left -= 1;
        self.sink.push(row)
    }
}
