//! What simulated caches hit on the requests that the candidates will see.

use std::ops::ControlFlow;

use anyhow::bail;
use larder_analysis::advice::Model;
use larder_insight::{Capacities, Insight, Settings};
use larder_report::{CacheCurve, HitRatioAt, MeasuredIn};
use larder_workload::SizeSpec;
use larder_workload::trace::{About, Row, Sink, Verb, read_rows};

use super::super::trace::Beginning;
use super::Arguments;

/// The halvings of all keys and values down to the smallest size that is simulated.
const HALVINGS: u32 = 8;

/// The sizes between one halving and the next, of which that next one is one.
const STEPS: u32 = 4;

/// The length of a key that a replay makes where none was recorded.
const KEY_SIZE: u32 = 32;

/// The size of a value that a replay makes where neither a size was recorded nor one was asked for.
const VALUE_SIZE: u32 = 1024;

/// Reads the trace once, and simulates caches of many sizes on a sample of its keys.
pub(super) fn of(arguments: &Arguments) -> anyhow::Result<Model> {
    let steps = (0..=HALVINGS * STEPS).map(f64::from);
    let share = |step: f64| Capacities::Share((-step / f64::from(STEPS)).exp2());
    let settings = Settings {
        capacities: steps.map(share).collect(),
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        ..Settings::default()
    };
    let sink = AsReplayed { insight: Insight::new(settings), values: arguments.data_size.clone() };
    let mut rows = Beginning::new(sink, arguments.requests);
    let about = read_rows(&arguments.trace, &mut rows)?;
    let (insight, sample) = (rows.sink.insight, about.sample);
    // The candidates see the recorded keys only.
    let recorded = About { sample: None, ..about };
    let info = insight.finish(&arguments.trace.to_string(), &recorded, false);
    let curve = in_bytes(&info.curves);
    if curve.is_empty() {
        bail!("trace {}: has no read, and a cache serves reads only", arguments.trace);
    }
    Ok(Model { curve, sample })
}

/// The curve by bytes. Where a trace has no sizes, all entries have one size.
fn in_bytes(curves: &[CacheCurve]) -> Vec<HitRatioAt> {
    let of_measure = |measure| curves.iter().find(|curve| curve.measure == measure);
    if let Some(curve) = of_measure(MeasuredIn::Bytes) {
        return curve.capacities.clone();
    }
    let entry = u64::from(KEY_SIZE + VALUE_SIZE);
    let sized = |at: &HitRatioAt| HitRatioAt { capacity: at.capacity * entry, ..at.clone() };
    let entries = of_measure(MeasuredIn::Entries);
    entries.map_or_else(Vec::new, |curve| curve.capacities.iter().map(sized).collect())
}

/// The rows as a replay has them, as fast as the candidates answer: every read that misses is filled, no entry expires, and
/// values have the sizes that were asked for.
struct AsReplayed {
    insight: Insight,
    /// The sizes of all values, where they are not as recorded.
    values: Option<SizeSpec>,
}

impl Sink for AsReplayed {
    fn push(&mut self, row: &Row<'_>) -> ControlFlow<()> {
        let mut row = *row;
        row.ttl_s = None;
        if matches!(row.operation, Verb::Get | Verb::Gat) {
            row.result = None;
        }
        row.key_size = row.key_size.or(Some(KEY_SIZE));
        if let Some(values) = &self.values {
            row.value_size = Some(values.size_of(0, row.key.hash()));
        }
        self.insight.push(&row)
    }
}
