//! What simulated caches hit on the requests that the candidates will see.

use std::ops::ControlFlow;

use anyhow::bail;
use larder_analysis::advice::Model;
use larder_bench::{DEFAULT_KEY_SIZE, DEFAULT_VALUE_SIZE};
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

/// Reads the trace once, and simulates caches of many sizes on a sample of its keys.
pub(super) fn of(arguments: &Arguments) -> anyhow::Result<Model> {
    let steps = (0..=HALVINGS * STEPS).map(f64::from);
    let share = |step: f64| Capacities::Share((-step / f64::from(STEPS)).exp2());
    let settings = Settings {
        capacities: steps.map(share).collect(),
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        ..Settings::default()
    };
    let insight = Insight::new(settings);
    let sink = AsReplayed { insight, values: arguments.data_size.clone(), has_ttls: false };
    let mut rows = Beginning::new(sink, arguments.requests);
    let about = read_rows(&arguments.trace, &mut rows)?;
    let AsReplayed { insight, has_ttls, .. } = rows.sink;
    let sample = about.sample;
    // The candidates see the recorded keys only.
    let recorded = About { sample: None, ..about };
    let info = insight.finish(&arguments.trace.to_string(), &recorded, false);
    let curve = in_bytes(&info.curves);
    if curve.is_empty() {
        bail!("trace {}: has no read, and a cache serves reads only", arguments.trace);
    }
    Ok(Model { curve, sample, has_ttls })
}

/// The curve by bytes. Where a trace has no sizes, all entries have one size.
fn in_bytes(curves: &[CacheCurve]) -> Vec<HitRatioAt> {
    let of_measure = |measure| curves.iter().find(|curve| curve.measure == measure);
    if let Some(curve) = of_measure(MeasuredIn::Bytes) {
        return curve.capacities.clone();
    }
    let entry = u64::from(DEFAULT_KEY_SIZE + DEFAULT_VALUE_SIZE);
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
    /// Whether a row had a TTL.
    has_ttls: bool,
}

impl Sink for AsReplayed {
    fn push(&mut self, row: &Row<'_>) -> ControlFlow<()> {
        let mut row = *row;
        self.has_ttls |= row.ttl_s.take().is_some();
        if matches!(row.operation, Verb::Get | Verb::Gat) {
            row.result = None;
        }
        row.key_size = row.key_size.or(Some(DEFAULT_KEY_SIZE));
        if let Some(values) = &self.values {
            row.value_size = Some(values.size_of(0, row.key.hash()));
        }
        self.insight.push(&row)
    }
}

#[cfg(test)]
mod tests {
    use larder_report::{CurvePolicy, CurveRatio};
    use larder_workload::trace::{Key, Outcome};

    use super::*;

    fn curve(measure: MeasuredIn, capacity: u64) -> CacheCurve {
        let lru = CurveRatio { policy: CurvePolicy::Lru, hit_ratio: 0.5, half_width: None };
        let at = HitRatioAt { capacity, ratios: [lru].into(), keys: 1.0, time: 1.0 };
        CacheCurve { measure, capacities: [at].into() }
    }

    #[test]
    fn a_curve_of_entries_stands_in_for_that_of_bytes() {
        let capacities = |curves: &[CacheCurve]| -> Vec<u64> {
            in_bytes(curves).iter().map(|at| at.capacity).collect()
        };
        let (entries, bytes) = (curve(MeasuredIn::Entries, 10), curve(MeasuredIn::Bytes, 700));
        assert_eq!(capacities(&[entries.clone(), bytes]), [700]);
        assert_eq!(capacities(&[entries]), [10 * 1056]);
        assert_eq!(capacities(&[]), [0; 0]);
    }

    #[test]
    fn rows_are_analysed_as_they_are_replayed() {
        let values = Some(SizeSpec::fixed(100));
        let insight = Insight::new(Settings::default());
        let mut sink = AsReplayed { insight, values, has_ttls: false };
        let get = |key, at: u64| Row {
            time_us: Some(at * 1_000_000),
            value_size: Some(9),
            result: Some(Outcome::Miss),
            ..Row::get(Key::Hash(key))
        };
        let set = Row { operation: Verb::Set, ttl_s: Some(1), ..get(3, 2) };
        for row in [get(1, 0), get(1, 1), set, get(3, 60)] {
            assert!(sink.push(&row).is_continue());
        }
        assert!(sink.has_ttls);
        let info = sink.insight.finish("made", &About::default(), false);
        // Of three reads, the second of key 1 and that of key 3 hit: the first is filled, and the entry does not expire.
        assert!((info.unavoidable.unwrap().value - 1.0 / 3.0).abs() < 1e-9);
        assert!((info.bytes.unwrap().value - 2.0 * 132.0).abs() < 1e-9);
    }
}
