//! What simulated caches hit on the requests that the candidates will see.

use std::ops::ControlFlow;

use anyhow::bail;
use larder_analysis::advice::Model;
use larder_bench::{DEFAULT_KEY_SIZE, DEFAULT_VALUE_SIZE};
use larder_insight::{Capacities, Insight, Settings};
use larder_report::{CacheCurve, HitRatioAt, MeasuredIn};
use larder_workload::SizeSpec;
use larder_workload::trace::{About, Row, Sink, read_rows};

use super::super::trace::{Beginning, tell_format};
use super::Arguments;
use crate::exit::Usage;

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
    let sink = AsReplayed { insight, values: arguments.data_size.clone(), ttls: Ttls::default() };
    let mut rows = Beginning::new(sink, arguments.requests);
    let about = read_rows(&arguments.trace, &mut rows)?;
    if !arguments.quiet {
        rows.formats.add_notes(&about);
        tell_format(&arguments.trace, &rows.formats);
    }
    let AsReplayed { insight, ttls, .. } = rows.sink;
    let sample = about.sample;
    // The candidates see the recorded keys only.
    let recorded = About { sample: None, ..about };
    let info = insight.finish(&arguments.trace.to_string(), &recorded, false);
    let curve = in_bytes(&info.curves);
    if curve.is_empty() {
        let trace = &arguments.trace;
        bail!(Usage(format!("trace {trace}: has no read, and a cache serves reads only")));
    }
    Ok(Model { curve, sample, limit: info.limit, has_untimed_ttls: ttls.some && ttls.untimed })
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

/// What the rows tell of TTLs.
#[derive(Debug, Default)]
struct Ttls {
    /// Whether a row had a TTL.
    some: bool,
    /// Whether a row had no time: then no TTL is ever over.
    untimed: bool,
}

/// The rows as a replay has them: values have the sizes that were asked for.
struct AsReplayed {
    insight: Insight,
    /// The sizes of all values, where they are not as recorded.
    values: Option<SizeSpec>,
    ttls: Ttls,
}

impl Sink for AsReplayed {
    fn push(&mut self, row: &Row<'_>) -> ControlFlow<()> {
        let mut row = *row;
        self.ttls.some |= row.ttl_s.is_some_and(|ttl| ttl > 0);
        self.ttls.untimed |= row.time_us.is_none();
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
    use larder_workload::trace::{Key, Outcome, Verb};

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
        let mut sink = AsReplayed { insight, values, ttls: Ttls::default() };
        let get = |key, at: u64, result| Row {
            time_us: Some(at * 1_000_000),
            value_size: Some(9),
            result: Some(result),
            ..Row::get(Key::Hash(key))
        };
        let set = |key, at| Row {
            operation: Verb::Set,
            ttl_s: Some(10),
            ..get(key, at, Outcome::Stored)
        };
        let (miss, hit) = (Outcome::Miss, Outcome::Hit);
        // Key 1 is never stored, key 2 is filled after its miss, and key 3 expires.
        let rows = [
            get(1, 0, miss),
            get(1, 1, miss),
            get(2, 2, miss),
            set(2, 3),
            get(2, 4, hit),
            set(3, 5),
            get(3, 60, miss),
            set(3, 61),
        ];
        for row in rows {
            assert!(sink.push(&row).is_continue());
        }
        assert!(sink.ttls.some && !sink.ttls.untimed);
        let info = sink.insight.finish("made", &About::default(), false);
        // Of five reads, the second of key 2 alone hits.
        assert!((info.unavoidable.unwrap().value - 4.0 / 5.0).abs() < 1e-9);
    }
}
