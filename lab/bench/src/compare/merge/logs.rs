//! The latencies of a slice, read back from its logs.

use std::fs;
use std::path::Path;

use base64::Engine;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

use crate::error::{Error, Result, usage};

/// The histograms of a log, one an interval, in the order of the rounds.
pub(super) fn read(path: &Path) -> Result<Vec<Histogram<u64>>> {
    let at = |source| Error::Read { what: "the latencies of a slice", path: path.into(), source };
    let log = fs::read(path).map_err(at)?;
    let broken = || {
        let shown = path.display();
        usage(format!(
            "{shown}: not a log of latencies as larder writes it; copy the slice's folder again"
        ))
    };
    let mut histograms = Vec::new();
    for entry in IntervalLogIterator::new(&log) {
        if let LogEntry::Interval(interval) = entry.map_err(|_| broken())? {
            let encoded = interval.encoded_histogram();
            let bytes =
                base64::engine::general_purpose::STANDARD.decode(encoded).map_err(|_| broken())?;
            let histogram =
                Deserializer::new().deserialize(&mut &bytes[..]).map_err(|_| broken())?;
            histograms.push(histogram);
        }
    }
    Ok(histograms)
}
