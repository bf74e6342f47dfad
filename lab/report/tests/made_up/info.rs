//! Made-up traces: one with all that can be recorded, from a sample; one with keys alone; one whose texts are hostile.

use larder_report::{
    CacheCurve, Course, CurvePolicy, CurveRatio, Distribution, DistributionOf, Estimate, HitLimit,
    HitRatioAt, HotKey, Hottest, Largest, MeasuredIn, OperationCount, Popularity, ResultCount,
    Reuse, Sampling, TraceFile, TraceInfo, Traffic, WorkingSet, Zipf,
};

/// A recording of an hour, with everything.
pub(crate) fn recording() -> TraceInfo {
    let trace = TraceFile {
        path: "shop.parquet".to_owned(),
        content: Some("81203344 bytes 0123456789abcdef".to_owned()),
        format: Some(
            "parquet (by its first bytes: time, operation, key_hash, value_size)".to_owned(),
        ),
        upstream: Some("memcached".to_owned()),
        sample: Some(0.1),
        dropped_rows: 1200,
        torn_bytes: 17,
        is_beginning: false,
        notes: Vec::new(),
    };
    TraceInfo {
        rows: 12_000_000,
        requests: 9_000_000,
        connections: 40,
        reads: 11_000_000,
        keys: Estimate::within(763_000.0, 4000.0),
        bytes: Some(Estimate::within(9e8, 2e7)),
        lasts_s: Some(3600.0),
        began_us: Some(1_700_000_000_000_000),
        recorded_hit_ratio: Some(0.812),
        traffic: Some(Traffic { operations: 118_400_000, hits: 87_000_000, misses: 22_100_000 }),
        operations: operations(),
        course: Some(course()),
        distributions: distributions(),
        with_ttl: Some(0.9),
        popularity: Some(popularity()),
        working_set: Some(working_set()),
        reuse: Some(reuse()),
        curves: vec![
            curve(MeasuredIn::Entries, &[1000, 10_000, 100_000, 1_000_000], true),
            curve(MeasuredIn::Bytes, &[1 << 20, 1 << 24, 1 << 27, 1 << 30], true),
        ],
        unavoidable: Some(Estimate::within(0.076, 0.002)),
        limit: Some(HitLimit {
            hit_ratio: Estimate::within(0.924, 0.002),
            first: 0.0345,
            absent: Some(0.01),
            expired: Some(0.03),
            deleted: Some(0.001),
            before: Some(0.0005),
        }),
        hottest: Some(hottest()),
        largest: Some(Largest { entries: 0.01, bytes: 0.43, least_bytes: 70_000 }),
        sampling: Sampling {
            keys: 0.0125,
            time: None,
            uses: 140_000,
            most_uses: 1 << 22,
            left_out: 2,
            not_filled: 0.01,
            expires: true,
            sizes_filled: 0.2,
        },
        larder: "0.1.0".into(),
        ..TraceInfo::of(trace)
    }
}

/// A small trace of keys alone.
pub(crate) fn keys_alone() -> TraceInfo {
    let trace = TraceFile {
        path: "web12.trace.xz".to_owned(),
        format: Some("cache2k (32-bit keys by the ending .trace)".to_owned()),
        ..TraceFile::default()
    };
    TraceInfo {
        rows: 95_607,
        requests: 95_607,
        connections: 1,
        reads: 95_607,
        keys: Estimate::exact(13_756.0),
        operations: vec![OperationCount {
            operation: "get".to_owned(),
            count: 95_607,
            results: Vec::new(),
        }],
        popularity: Some(Popularity { bytes_of_once: None, ..popularity() }),
        curves: vec![curve(MeasuredIn::Entries, &[100, 1000, 10_000], false)],
        unavoidable: Some(Estimate::exact(0.144)),
        limit: Some(HitLimit {
            hit_ratio: Estimate::exact(0.856),
            first: 0.144,
            absent: None,
            expired: None,
            deleted: None,
            before: None,
        }),
        hottest: Some(Hottest {
            keys: vec![HotKey { key: None, hash: "4711".to_owned(), reads: 0.07 }],
            error: 0.0,
        }),
        sampling: Sampling { keys: 1.0, uses: 95_607, ..Sampling::default() },
        larder: "0.1.0".into(),
        ..TraceInfo::of(trace)
    }
}

/// The texts of a trace that would like to be code.
pub(crate) fn hostile_trace() -> TraceInfo {
    let mut info = recording();
    "</title><script>document.title='taken'</script>|*`\u{202e}.csv"
        .clone_into(&mut info.trace.path);
    if let Some(hottest) = &mut info.hottest {
        hottest.keys[0].key = Some("<img src=x>\u{202e}|`</script>".to_owned());
    }
    info.trace.upstream = Some("<img src=x onerror=\"document.title='taken'\">".to_owned());
    "</script><script>document.title='taken'</script>"
        .clone_into(&mut info.operations[0].operation);
    info
}

fn hottest() -> Hottest {
    let key = |(name, reads): (&str, f64)| HotKey {
        key: Some(name.to_owned()),
        hash: "17".to_owned(),
        reads,
    };
    let keys = [("shop:front", 0.07), ("user:42", 0.036), ("a key with spaces", 0.02)].map(key);
    Hottest { keys: keys.into(), error: 0.00001 }
}

fn operations() -> Vec<OperationCount> {
    let of = |operation: &str, count, results: &[(&str, u64)]| OperationCount {
        operation: operation.to_owned(),
        count,
        results: results
            .iter()
            .map(|(result, count)| ResultCount { result: (*result).to_owned(), count: *count })
            .collect(),
    };
    vec![
        of("get", 11_000_000, &[("hit", 8_932_000), ("miss", 2_068_000)]),
        of("set", 950_000, &[("stored", 950_000)]),
        of("delete", 50_000, &[("deleted", 30_000), ("not_found", 20_000)]),
    ]
}

fn course() -> Course {
    let wave = |step: u64| 30_000 + 10_000 * (step % 30) / 30;
    let rows: Vec<u64> = (0..225).map(wave).collect();
    let reads: Vec<u64> = rows.iter().map(|rows| rows * 9 / 10).collect();
    let hits = reads.iter().map(|reads| reads * 8 / 10).collect();
    Course { step_s: 16.0, rows, reads, hits }
}

fn distributions() -> Vec<Distribution> {
    let quantiles = [0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 1.0];
    let of = |of, count, mean, least: u64| Distribution {
        of,
        count,
        mean,
        quantiles: quantiles.iter().zip(0..).map(|(q, power)| (*q, least << power)).collect(),
    };
    vec![
        of(DistributionOf::KeySizes, 12_000_000, 31.0, 1),
        of(DistributionOf::ValueSizes, 9_882_000, 1200.0, 64),
        of(DistributionOf::Ttls, 855_000, 900.0, 30),
        of(DistributionOf::Latencies, 12_000_000, 112_000.0, 40_000),
    ]
}

fn popularity() -> Popularity {
    let ranks = (0..6).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)));
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let share = |rank: u64| 0.07 * (rank as f64).powf(-0.95);
    Popularity {
        ranks: ranks.map(|rank| (rank, share(rank))).collect(),
        zipf: Some(Zipf {
            exponent: Estimate::within(0.95, 0.01),
            least_reads: 9,
            keys: 0.12,
            distance: 0.012,
            r_squared: Some(0.998),
        }),
        top: vec![(0.01, 0.42), (0.1, 0.71)],
        read_once: Estimate::within(0.45, 0.01),
        reads_of_once: 0.065,
        bytes_of_once: Some(0.31),
        never_read: Estimate::within(0.04, 0.002),
    }
}

fn working_set() -> WorkingSet {
    let grown = |so_far: f64| (0..56).map(|step| so_far * (1.0 + f64::from(step))).collect();
    WorkingSet {
        step_s: Some(64.0),
        step_rows: None,
        keys: vec![90_000.0; 56],
        bytes: vec![1e8; 56],
        keys_so_far: grown(13_000.0),
        bytes_so_far: grown(1.6e7),
    }
}

fn reuse() -> Reuse {
    let quantiles = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];
    let of = |least: f64| quantiles.iter().zip(0..).map(move |(q, n)| (*q, least * 4_f64.powi(n)));
    Reuse { again: 0.924, keys: of(8.0).collect(), bytes: of(9000.0).collect(), finest_keys: 80.0 }
}

fn curve(measure: MeasuredIn, capacities: &[u64], is_sampled: bool) -> CacheCurve {
    let at = |(number, capacity): (usize, &u64)| {
        let grown = f64::from(u32::try_from(number).expect("few points"));
        let ratio = |(policy, place): (&CurvePolicy, u32)| CurveRatio {
            policy: *policy,
            hit_ratio: (0.35 + 0.17 * grown + 0.01 * f64::from(place)).min(0.924),
            half_width: is_sampled.then_some(0.004),
        };
        HitRatioAt {
            capacity: *capacity,
            ratios: CurvePolicy::ALL.iter().zip(0..).map(ratio).collect(),
            keys: if is_sampled { 0.025 } else { 1.0 },
            time: 1.0,
        }
    };
    CacheCurve { measure, capacities: capacities.iter().enumerate().map(at).collect() }
}
