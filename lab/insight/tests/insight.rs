//! What is told of made traces: exactly where they are small, and within its error where only a sample is kept.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

use larder_insight::{Capacities, Insight, Settings};
use larder_report::{CurvePolicy, MeasuredIn, TimesBack, TraceInfo, Traffic};
use larder_workload::trace::{About, Key, OtherKeys, Outcome, Row, Sink, Verb};

/// Rows, each a tenth of a second after the one before.
fn told(settings: Settings, about: &About, rows: &[Row<'_>]) -> TraceInfo {
    let mut insight = Insight::new(settings);
    for (at, row) in (0..).zip(rows) {
        let time_us = Some(1_000_000 + at * 100_000);
        assert!(insight.push(&Row { time_us, request: at, ..*row }).is_continue());
    }
    insight.finish("made", about, false)
}

fn get(key: u64) -> Row<'static> {
    Row { key_size: Some(10), value_size: Some(90), ..Row::get(Key::Hash(key)) }
}

fn asking(capacities: &[Capacities]) -> Settings {
    Settings { capacities: capacities.to_vec(), ..Settings::default() }
}

fn ratio(info: &TraceInfo, measure: MeasuredIn, capacity: u64, policy: CurvePolicy) -> f64 {
    let curve = info.curve(measure).unwrap();
    let at = curve.capacities.iter().find(|at| at.capacity == capacity).unwrap();
    at.of(policy).unwrap().hit_ratio
}

/// The next number of a generator by its state.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Reads of keys of which the ranks have about a law of Zipf.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a drawn number"
)]
fn skewed(n_reads: usize, n_keys: u64) -> Vec<Row<'static>> {
    let mut state = 5;
    let draw = |_| {
        let share = (next(&mut state) >> 11) as f64 / (1_u64 << 53) as f64;
        get((n_keys as f64).powf(share) as u64)
    };
    (0..n_reads).map(draw).collect()
}

#[test]
fn a_trace_that_reads_no_key_again_has_a_curve_without_hits() {
    let rows: Vec<Row<'_>> = (0..1000).map(get).collect();
    let asked = [Capacities::Entries(10), Capacities::Entries(1000), Capacities::Bytes(100_000)];
    let once = told(asking(&asked), &About::default(), &rows);
    let at = |info: &TraceInfo| -> Vec<(u64, f64, f64)> {
        let capacities = info.curves.iter().flat_map(|curve| &curve.capacities);
        capacities.map(|at| (at.capacity, at.keys, at.time)).collect()
    };
    assert_eq!(at(&once), [(10, 1.0, 1.0), (1000, 1.0, 1.0), (100_000, 1.0, 1.0)]);
    for capacity in once.curves.iter().flat_map(|curve| &curve.capacities) {
        let hits: Vec<_> = CurvePolicy::ALL.iter().map(|it| capacity.of(*it).unwrap()).collect();
        assert!(hits.iter().all(|it| it.hit_ratio == 0.0 && it.half_width.is_none()), "{hits:?}");
    }
    // One read again is simulated, at the same capacities.
    let again: Vec<Row<'_>> = rows.iter().copied().chain([get(999)]).collect();
    let again = told(asking(&asked), &About::default(), &again);
    assert_eq!(at(&again), at(&once));
    assert!(ratio(&again, MeasuredIn::Entries, 1000, CurvePolicy::Lru) > 0.0);
}

#[test]
fn times_that_go_back_are_counted_and_the_trace_lasts_from_the_least_to_the_greatest() {
    let of = |times: &[u64]| {
        let mut insight = Insight::new(Settings::default());
        for (request, time) in (0..).zip(times) {
            let time_us = Some(5_000_000 + time * 100_000);
            assert!(insight.push(&Row { time_us, request, ..get(request % 4) }).is_continue());
        }
        insight.finish("made", &About::default(), false)
    };
    let in_order: Vec<u64> = (0..400).collect();
    let swapped: Vec<u64> = (200..400).chain(0..200).collect();
    let reversed: Vec<u64> = (0..400).rev().collect();
    // A clock that was set back once, by three seconds.
    let set_back: Vec<u64> = (0..300).chain(270..400).collect();
    let back = |steps, most_s| Some(TimesBack { steps, most_s });
    for (times, expected, has_course) in [
        (in_order, None, true),
        (swapped, back(1, 39.9), false),
        (reversed, back(399, 39.9), false),
        (set_back, back(1, 2.9), true),
    ] {
        let info = of(&times);
        assert_eq!((info.lasts_s, info.began_us), (Some(39.9), Some(5_000_000)));
        assert_eq!(info.times_back, expected);
        assert_eq!((info.course.is_some(), info.working_set.is_some()), (has_course, has_course));
    }
}

#[test]
fn a_small_trace_is_told_exactly() {
    // A loop over four keys: an LRU of fewer entries never hits.
    let rows: Vec<Row<'_>> = (0..400).map(|at| get(at % 4)).collect();
    let info = told(Settings::default(), &About::default(), &rows);
    assert!(info.is_exact());
    assert_eq!((info.keys.value, info.bytes.unwrap().value), (4.0, 400.0));
    assert_eq!((info.rows, info.reads, info.lasts_s), (400, 400, Some(39.9)));
    let of = |policy, capacity| ratio(&info, MeasuredIn::Entries, capacity, policy);
    assert!(of(CurvePolicy::Lru, 2).abs() < 1e-9);
    assert!((of(CurvePolicy::Lru, 5) - 0.99).abs() < 1e-9);
    assert!(of(CurvePolicy::Optimal, 2) > 0.3);
    assert!((info.unavoidable.unwrap().value - 0.01).abs() < 1e-9);
    assert!((ratio(&info, MeasuredIn::Bytes, 512, CurvePolicy::Fifo) - 0.99).abs() < 1e-9);
    assert_eq!(info.course.unwrap().rows.iter().sum::<u64>(), 400);
}

#[test]
fn a_sample_is_off_by_little_and_tells_by_how_much() {
    let rows = skewed(400_000, 50_000);
    let capacities = [Capacities::Entries(2000), Capacities::Entries(10_000)];
    let exact = told(asking(&capacities), &About::default(), &rows);
    assert!(exact.is_exact());
    let settings = Settings { most_uses: 100_000, threads: 2, ..asking(&capacities) };
    let sampled = told(settings, &About::default(), &rows);
    assert!(!sampled.is_exact() && sampled.sampling.uses <= 100_000);
    let [low, high] = sampled.keys.ci95.unwrap();
    assert!((low..high).contains(&exact.keys.value), "{:?} {:?}", exact.keys, sampled.keys);
    let (mut outside, mut all) = (0, 0);
    for (exact, sampled) in exact.curves[0].capacities.iter().zip(&sampled.curves[0].capacities) {
        for (exact, sampled) in exact.ratios.iter().zip(&sampled.ratios) {
            let error = (exact.hit_ratio - sampled.hit_ratio).abs();
            assert!(error < 0.03, "{exact:?} {sampled:?}");
            outside += usize::from(error > sampled.half_width.unwrap());
            all += 1;
        }
    }
    assert!(outside * 3 <= all, "{outside} of {all}");
    let once = |info: &TraceInfo| info.popularity.as_ref().unwrap().read_once.value;
    assert!((once(&exact) - once(&sampled)).abs() < 0.05);
}

#[test]
fn threads_and_order_of_simulations_change_no_figure() {
    let rows = skewed(60_000, 20_000);
    let settings = Settings { most_uses: 20_000, ..asking(&[Capacities::Share(0.1)]) };
    let alone = told(settings.clone(), &About::default(), &rows);
    let together = told(Settings { threads: 3, ..settings }, &About::default(), &rows);
    assert_eq!(alone, together);
}

#[test]
fn a_recording_of_some_keys_is_scaled_to_all_of_them() {
    let rows = skewed(20_000, 2000);
    let others = OtherKeys { operations: 180_000, hits: 150_000, misses: 10_000 };
    let upstream = Some("redis".to_owned());
    let about = About { sample: Some(0.1), others, upstream, dropped_rows: 7, ..About::default() };
    let info = told(asking(&[Capacities::Entries(5000)]), &about, &rows);
    let whole = told(asking(&[Capacities::Entries(500)]), &About::default(), &rows);
    assert!(!info.is_exact());
    assert!((info.keys.value / whole.keys.value - 10.0).abs() < 1e-9);
    let at =
        |info: &TraceInfo, capacity| ratio(info, MeasuredIn::Entries, capacity, CurvePolicy::Lru);
    let (scaled, plain) = (at(&info, 5000), at(&whole, 500));
    assert!((scaled - plain).abs() < 0.03, "{scaled} {plain}");
    // The traffic on the other keys was counted, and not scaled.
    let traffic = Traffic { operations: 200_007, hits: 150_000, misses: 10_000 };
    assert_eq!((info.rows, info.traffic, whole.traffic), (20_000, Some(traffic), None));
}

#[test]
fn a_miss_that_nobody_filled_is_not_filled_in_a_simulated_cache_either() {
    let result = |row: Row<'static>, result| Row { result: Some(result), ..row };
    let set = |key| Row { operation: Verb::Set, ..get(key) };
    let mut rows = Vec::new();
    for _ in 0..50 {
        rows.push(result(get(1), Outcome::Miss));
        rows.push(result(get(2), Outcome::Hit));
    }
    rows.push(result(get(3), Outcome::Miss));
    rows.push(result(set(3), Outcome::Stored));
    rows.push(result(get(3), Outcome::Hit));
    let info = told(Settings::default(), &About::default(), &rows);
    // No read of the key 1 was filled, the last one included.
    let not_filled = info.sampling.not_filled;
    assert!((not_filled - 50.0 / 102.0).abs() < 1e-9, "{not_filled}");
    // 49 hits of the key 2 and one of the key 3.
    let lru = ratio(&info, MeasuredIn::Entries, 5, CurvePolicy::Lru);
    assert!((lru - 50.0 / 102.0).abs() < 1e-9, "{lru}");
    assert!((info.recorded_hit_ratio.unwrap() - 51.0 / 102.0).abs() < 1e-9);
}

/// Redis stores an absent key by `incr`, so the read behind it hits in every cache.
#[test]
fn a_change_that_stores_an_absent_key_makes_the_next_read_hit() {
    let of = |operation, ttl_s| Row { operation, ttl_s, ..get(1) };
    let hit_ratio = |ttl_s| {
        let rows = [of(Verb::Set, None), of(Verb::Delete, None), of(Verb::Incr, ttl_s), get(1)];
        let info = told(Settings::default(), &About::default(), &rows);
        ratio(&info, MeasuredIn::Entries, 1, CurvePolicy::Lru)
    };
    assert!((hit_ratio(Some(0)) - 1.0).abs() < 1e-9);
    assert!(hit_ratio(None).abs() < 1e-9);
}

#[test]
fn an_entry_expires_where_times_are_known() {
    let set = Row { operation: Verb::Set, ttl_s: Some(1), ..get(1) };
    let rows: Vec<Row<'_>> = std::iter::once(set).chain((0..20).map(|_| get(1))).collect();
    let info = told(Settings::default(), &About::default(), &rows);
    assert!(info.sampling.expires);
    // Stored at 0 for a second, ten reads. The tenth misses and fills, and so does the twentieth.
    assert!((info.unavoidable.unwrap().value - 0.1).abs() < 1e-9, "{:?}", info.unavoidable);
    assert_eq!(info.with_ttl, Some(1.0));
}

#[test]
fn writes_alone_tell_no_hit_ratios() {
    let rows: Vec<Row<'_>> = (0..30).map(|key| Row { operation: Verb::Set, ..get(key) }).collect();
    let info = told(Settings::default(), &About::default(), &rows);
    assert!(info.curves.is_empty() && info.popularity.is_none() && info.unavoidable.is_none());
    assert_eq!((info.keys.value, info.reads), (30.0, 0));
}

/// The same operations, of which each is repeated, with a time for each and with one for all of a run: every figure that does not
/// tell of time is the same, because a run is nothing but a shorter form.
#[test]
fn operations_that_are_repeated_at_once_are_told_as_if_each_were_kept() {
    let results = [Some(Outcome::Hit), Some(Outcome::Miss), None];
    let mut state = 3;
    let mut draw = |n: u64| next(&mut state) % n;
    let run = |_| {
        let row = match draw(8) {
            0 => Row { operation: Verb::Set, ..get(draw(9)) },
            1 => Row { operation: Verb::Delete, ..get(draw(9)) },
            _ => Row { result: results[usize::try_from(draw(3)).unwrap()], ..get(draw(9)) },
        };
        (row, draw(40) + 1)
    };
    let runs: Vec<(Row<'static>, u64)> = (0..2000).map(run).collect();
    let info = |time_us: fn(u64, u64) -> Option<u64>, most_uses| {
        let mut insight = Insight::new(Settings { most_uses, ..Settings::default() });
        let mut request = 0;
        for (number, (row, times)) in (0..).zip(&runs) {
            for _ in 0..*times {
                let row = Row { time_us: time_us(number, request), request, ..*row };
                assert!(insight.push(&row).is_continue());
                request += 1;
            }
        }
        insight.finish("made", &About::default(), false)
    };
    // Enough for the runs, and not for the operations.
    let short = info(|run, _| Some(run * 1_000_000), 10_000);
    let long = info(|_, request| Some(request * 1_000_000), 100_000);
    assert!(short.is_exact() && long.is_exact() && short.rows > 30_000);
    let figures = |info: &TraceInfo| {
        let TraceInfo { keys, bytes, reuse, curves, limit, hottest, popularity, sampling, .. } =
            info.clone();
        let sampling = (sampling.uses, sampling.not_filled, sampling.sizes_filled);
        (keys, bytes, reuse, curves, limit, hottest, popularity, sampling)
    };
    assert_eq!(figures(&short), figures(&long));
}

#[test]
fn few_keys_are_followed_all_for_a_part_of_the_time_where_they_have_too_many_operations() {
    // A loop over three keys, and the third missing in each tenth round.
    let key = |at: u64| if at % 30 == 29 { 1 } else { at % 3 };
    let rows: Vec<Row<'_>> = (0..300_000).map(|at| get(key(at))).collect();
    let exact = told(asking(&[]), &About::default(), &rows);
    let settings = Settings { most_uses: 10_000, keys: 0.01, ..Settings::default() };
    let part = told(settings, &About::default(), &rows);
    assert!(exact.is_exact() && !part.is_exact());
    assert_eq!((part.keys, part.bytes, part.sampling.keys), (exact.keys, exact.bytes, 1.0));
    assert!((0.01..0.1).contains(&part.sampling.time.unwrap()), "{:?}", part.sampling);
    let all_reads = |info: &TraceInfo| info.limit.as_ref().unwrap().hit_ratio.value;
    assert!((all_reads(&exact) - all_reads(&part)).abs() < 1e-3);
    assert!(part.working_set.is_none() && part.popularity.is_some());
    assert_eq!(exact.curves.len(), part.curves.len());
    for (exact, part) in exact.curves.iter().zip(&part.curves) {
        assert_eq!(exact.capacities.len(), part.capacities.len());
        for (exact, part) in exact.capacities.iter().zip(&part.capacities) {
            for (exact, part) in exact.ratios.iter().zip(&part.ratios) {
                let error = (exact.hit_ratio - part.hit_ratio).abs();
                assert!(error < 0.01, "{exact:?} {part:?}");
            }
        }
    }
}
