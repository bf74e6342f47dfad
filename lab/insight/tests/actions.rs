//! What a team can act on, of traces whose right figures were worked out by hand.

use std::collections::VecDeque;

use larder_insight::{Capacities, Insight, Settings};
use larder_report::{CurvePolicy, Estimate, HitLimit, HitRatioAt, MeasuredIn, TraceInfo};
use larder_workload::trace::{About, Key, Outcome, Row, Sink, Verb};

/// A read of a key with this answer.
fn get(key: u64, result: Option<Outcome>) -> Row<'static> {
    Row { key_size: Some(10), value_size: Some(90), result, ..Row::get(Key::Hash(key)) }
}

fn hit(key: u64) -> Row<'static> {
    get(key, Some(Outcome::Hit))
}

fn miss(key: u64) -> Row<'static> {
    Row { value_size: None, ..get(key, Some(Outcome::Miss)) }
}

fn set(key: u64) -> Row<'static> {
    Row { operation: Verb::Set, result: Some(Outcome::Stored), ..get(key, None) }
}

fn delete(key: u64) -> Row<'static> {
    Row { operation: Verb::Delete, result: Some(Outcome::Deleted), ..miss(key) }
}

/// The rows at their times in milliseconds.
fn read<'a>(settings: Settings, rows: impl IntoIterator<Item = (u64, Row<'a>)>) -> Insight {
    let mut insight = Insight::new(settings);
    for (at_ms, row) in rows {
        let time_us = Some(1_000_000 + at_ms * 1000);
        assert!(insight.push(&Row { time_us, ..row }).is_continue());
    }
    insight
}

fn told<'a>(rows: impl IntoIterator<Item = (u64, Row<'a>)>) -> TraceInfo {
    read(Settings::default(), rows).finish("made", &About::default(), false)
}

fn every_ms<'a>(rows: &[Row<'a>]) -> Vec<(u64, Row<'a>)> {
    (0..).zip(rows.iter().copied()).collect()
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-9
}

/// Every second read asks for one of 200 keys that nobody ever stores. 200 pages are stored once and read 50 times.
fn with_absent_keys() -> Vec<Row<'static>> {
    let mut rows = Vec::new();
    for at in 0..10_000 {
        let page = 1000 + at % 200;
        rows.push(miss(at % 200));
        if at < 200 {
            rows.extend([miss(page), set(page)]);
        } else {
            rows.push(hit(page));
        }
    }
    rows
}

#[test]
fn reads_of_keys_that_nobody_stores_are_told_apart_and_take_no_room() {
    let info = told(every_ms(&with_absent_keys()));
    let limit = HitLimit {
        hit_ratio: Estimate::exact(0.49),
        first: 0.01,
        absent: Some(0.5),
        expired: None,
        deleted: None,
        before: Some(0.0),
    };
    assert_eq!(info.limit, Some(limit));
    assert!(near(info.unavoidable.unwrap().value, 0.51));
    assert!(near(info.bytes.unwrap().value, 200.0 * 100.0), "{:?}", info.bytes);
    assert!(near(info.recorded_hit_ratio.unwrap(), 0.49));
}

#[test]
fn without_answers_or_stores_nothing_is_said_of_absent_keys() {
    let of = |rows: &[Row<'_>]| told(every_ms(rows)).limit.unwrap();
    let unanswered = of(&[get(1, None), get(1, None), get(2, None), set(3)]);
    assert_eq!((unanswered.absent, unanswered.before, unanswered.deleted), (None, None, None));
    assert!(near(unanswered.hit_ratio.value, 1.0 / 3.0) && near(unanswered.first, 2.0 / 3.0));
    // Here the fills were not recorded, so that a second miss is one of a cache that was too small.
    let unfilled = of(&[miss(1), miss(1), hit(1)]);
    assert_eq!((unfilled.absent, unfilled.before), (None, Some(0.0)));
    assert!(near(unfilled.hit_ratio.value, 2.0 / 3.0));
}

#[test]
fn expired_and_deleted_entries_and_those_from_before_the_recording_are_told_apart() {
    let of_a_second = Row { ttl_s: Some(1), ..set(1) };
    let info = told([
        (0, miss(1)),     // the first
        (1, of_a_second), // until 1001
        (900, hit(1)),
        (1000, hit(1)),  // still there, though 16 ticks later
        (1200, miss(1)), // expired
        (1201, of_a_second),
        (1300, delete(1)),
        (1400, miss(1)), // deleted
        (1401, of_a_second),
        (2900, hit(1)), // the recorded cache had it for longer than it was told
        (3000, hit(9)), // stored before the recording
        (3001, hit(9)),
        (3002, hit(9)),
    ]);
    let limit = info.limit.unwrap();
    // Of nine reads, five hit.
    let ninth = |share: f64| near(share, 1.0 / 9.0);
    assert!(near(limit.hit_ratio.value, 5.0 / 9.0), "{limit:?}");
    assert!(ninth(limit.first) && near(limit.absent.unwrap(), 0.0), "{limit:?}");
    let others = [limit.expired, limit.deleted, limit.before];
    assert!(others.iter().all(|share| ninth(share.unwrap())), "{limit:?}");
}

#[test]
fn without_times_no_entry_expires_in_any_model() {
    let mut insight = Insight::new(Settings::default());
    // A second would be over after 1024 rows.
    let of_a_second = Row { ttl_s: Some(1), result: None, ..set(1) };
    for row in std::iter::once(of_a_second).chain((0..5000).map(|_| get(1, None))) {
        assert!(insight.push(&row).is_continue());
    }
    let info = insight.finish("made", &About::default(), false);
    let limit = info.limit.unwrap();
    assert!(near(limit.hit_ratio.value, 1.0) && limit.expired.is_none(), "{limit:?}");
    let largest = info.curves.iter().filter_map(|curve| curve.capacities.last());
    let ratios: Vec<f64> = largest.flat_map(|at| &at.ratios).map(|ratio| ratio.hit_ratio).collect();
    assert!(!ratios.is_empty() && ratios.iter().all(|ratio| near(*ratio, 1.0)), "{ratios:?}");
}

/// A recorded cache whose clock has whole seconds, at times that are no sixteenths of one.
#[test]
fn the_recorded_cache_never_hits_more_than_the_limit() {
    let mut rows = Vec::new();
    for round in 0..300 {
        let at = round * 7013;
        rows.push((at, miss(5)));
        rows.push((at + 3, Row { ttl_s: Some(2), ..set(5) }));
        rows.push((at + 1999, hit(5)));
        rows.push((at + 2001 + round % 900, hit(5)));
        rows.push((at + 4100, miss(5)));
    }
    let info = told(rows.iter().copied());
    let limit = info.limit.as_ref().unwrap();
    assert!(info.recorded_hit_ratio.unwrap() <= limit.hit_ratio.value, "{limit:?}");
    assert!(near(info.recorded_hit_ratio.unwrap(), 0.5) && limit.before == Some(0.0), "{limit:?}");
    let ratios = info.curves.iter().flat_map(|curve| &curve.capacities).flat_map(|at| &at.ratios);
    assert!(ratios.clone().count() > 0);
    assert!(ratios.clone().all(|ratio| ratio.hit_ratio <= limit.at_most()), "{limit:?}");
}

#[test]
fn the_limit_alone_is_that_of_the_whole_analysis_of_all_keys_and_of_a_sample() {
    let about = About::default();
    let rows = || {
        let key = |at: u64| if at.is_multiple_of(3) { at % 50 } else { at * at % 20_011 };
        (0..90_000).map(move |at| (at, get(key(at), None)))
    };
    let exact = read(Settings::default(), rows()).limit(&about).unwrap();
    assert_eq!(told(rows()).limit.as_ref(), Some(&exact));
    let settings = Settings { most_uses: 20_000, ..Settings::default() };
    let info = read(settings.clone(), rows()).finish("made", &about, false);
    let limit = info.limit.unwrap();
    assert_eq!(read(settings, rows()).limit(&about).as_ref(), Some(&limit));
    let [low, high] = limit.hit_ratio.ci95.unwrap();
    assert!((low..high).contains(&exact.hit_ratio.value), "{limit:?} {exact:?}");
    let ratios = info.curves.iter().flat_map(|curve| &curve.capacities).flat_map(|at| &at.ratios);
    assert!(ratios.clone().count() > 0);
    assert!(ratios.clone().all(|ratio| ratio.hit_ratio <= limit.at_most()), "{limit:?}");
}

#[test]
fn the_most_read_keys_have_their_names_and_failed_reads_count_too() {
    let named = |name: &'static str| Row::get(Key::Bytes(name.as_bytes()));
    let mut rows = vec![named("front"); 6];
    rows.extend([named("user:7"), named("user:7"), Row::get(Key::Hash(42))]);
    rows.push(Row { operation: Verb::Gat, ..named("front") });
    rows.push(Row { result: Some(Outcome::Error), ..named("user:7") });
    rows.push(Row { operation: Verb::Set, ..named("written") });
    let hottest = told(every_ms(&rows)).hottest.unwrap();
    let keys: Vec<(&str, f64)> = hottest.keys.iter().map(|it| (it.name(), it.reads)).collect();
    assert_eq!(keys, [("front", 7.0 / 11.0), ("user:7", 3.0 / 11.0), ("42", 1.0 / 11.0)]);
    assert!(near(hottest.error, 0.0) && hottest.keys[2].key.is_none());
    assert_eq!(told(every_ms(&[set(1)])).hottest, None);
}

#[test]
fn the_room_of_keys_that_are_read_once_and_of_the_largest_entries() {
    // 99 entries of 100 bytes, of which 49 are read once and 50 twice, and one of 10,100 bytes, read twice.
    let sized = |key, size| Row { value_size: Some(size), ..get(key, None) };
    let mut rows = Vec::new();
    for key in 0..100 {
        let row = sized(key, if key == 99 { 10_090 } else { 90 });
        rows.extend(vec![row; if key < 49 { 1 } else { 2 }]);
    }
    let info = told(every_ms(&rows));
    let largest = info.largest.unwrap();
    assert!(near(largest.entries, 0.01) && near(largest.bytes, 10_100.0 / 20_000.0));
    assert_eq!(largest.least_bytes, 10_100);
    let once = info.popularity.unwrap().bytes_of_once.unwrap();
    assert!(near(once, 4900.0 / 20_000.0), "{once}");
    // Few entries have no largest ones, and without sizes nothing is known.
    assert_eq!(told(every_ms(&rows[..60])).largest, None);
    let unsized_rows: Vec<Row<'_>> = (0..200).map(|key| Row::get(Key::Hash(key))).collect();
    let info = told(every_ms(&unsized_rows));
    assert!(info.largest.is_none() && info.popularity.unwrap().bytes_of_once.is_none());
}

/// Another cache decides by itself what the recorded one refused or failed, so the limit has to allow for it.
#[test]
fn what_failed_or_was_refused_may_be_stored_by_another_cache() {
    let of = |operation, result| Row { operation, result: Some(result), ..get(1, None) };
    for write in [
        of(Verb::Set, Outcome::Error),
        of(Verb::Add, Outcome::NotStored),
        of(Verb::Add, Outcome::Error),
    ] {
        let rows = [write, of(Verb::Get, Outcome::Hit), of(Verb::Get, Outcome::Error)];
        let limit = told(every_ms(&rows)).limit.unwrap();
        assert!(near(limit.hit_ratio.value, 1.0), "{write:?}: {limit:?}");
    }
}

/// Reads of 400 keys, some of them far more often, as a cache of 40 entries in the order of their storing answered them. Each miss is
/// followed by what `fills` makes of it.
fn looked_aside(fills: impl Fn(u64) -> Vec<Row<'static>>) -> Vec<Row<'static>> {
    let (mut stored, mut rows, mut random) = (VecDeque::new(), Vec::new(), 1_u64);
    for _ in 0..20_000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let drawn = random >> 33;
        let key = (drawn % 20) * (drawn / 20 % 20);
        if stored.contains(&key) {
            rows.push(hit(key));
        } else {
            rows.push(miss(key));
            rows.extend(fills(key));
            stored.push_front(key);
            stored.truncate(40);
        }
    }
    rows
}

/// The hit ratios of all policies with 10, 40 and 160 entries.
fn curve(rows: &[Row<'static>]) -> Vec<Option<f64>> {
    let capacities = [10, 40, 160].map(Capacities::Entries).to_vec();
    let insight = read(Settings { capacities, ..Settings::default() }, every_ms(rows));
    let info = insight.finish("made", &About::default(), false);
    let curve = info.curve(MeasuredIn::Entries).expect("a curve of entries");
    let of = |at: &HitRatioAt| CurvePolicy::ALL.map(|policy| at.of(policy).map(|it| it.hit_ratio));
    curve.capacities.iter().flat_map(of).collect()
}

#[test]
fn a_fill_is_no_use_of_its_own_in_any_policy() {
    let unfilled = curve(&looked_aside(|_| Vec::new()));
    assert!(unfilled.iter().flatten().count() >= 15, "{unfilled:?}");
    assert_eq!(curve(&looked_aside(|key| vec![set(key)])), unfilled);
    // A second set is another use.
    assert_ne!(curve(&looked_aside(|key| vec![set(key), set(key)])), unfilled);
}

#[test]
fn a_read_that_gives_a_ttl_and_is_filled_looks_for_nothing_absent() {
    let gat = |key| Row { operation: Verb::Gat, ttl_s: Some(1), ..miss(key) };
    let absent = |rows: &[Row<'static>]| told(every_ms(rows)).limit.unwrap().absent;
    assert_eq!(absent(&[gat(1), set(1), hit(1)]), Some(0.0));
    assert_eq!(absent(&[gat(1), gat(1), set(2), hit(2)]), Some(2.0 / 3.0));
    // What needs the key to be there fills nothing.
    let replace = |key| Row { operation: Verb::Replace, ..set(key) };
    assert_eq!(absent(&[miss(1), replace(1), set(2), hit(2)]), Some(0.5));
}
