//! Traces in other formats: what a format has a place for comes out as it went in, and the rest is told.

mod samples;

use std::collections::HashMap;
use std::ops::ControlFlow;

use larder_workload::trace::{About, Key, Row, Trace, TraceSource, TraceWriter, read_rows_of};
use samples::{KVCACHE_2024, TWITTER};

fn read(name: &str, bytes: &[u8]) -> Trace {
    Trace::read(name, bytes, None, None).expect("a trace")
}

fn cache2k(keys: &[u32]) -> Vec<u8> {
    keys.iter().flat_map(|key| key.to_be_bytes()).collect()
}

/// A record of libCacheSim's traces.
fn oracle_general(time: u32, object: u64, size: u32, next: i64) -> Vec<u8> {
    let (time, object) = (time.to_le_bytes(), object.to_le_bytes());
    [&time[..], &object, &size.to_le_bytes(), &next.to_le_bytes()].concat()
}

/// A trace in another format, and what that has no place for.
fn written(from: &str, bytes: &[u8], to: &str) -> (Vec<u8>, Vec<String>) {
    let to: TraceSource = to.parse().expect("a path");
    let format = to.format_to_write().expect("a format that is written");
    let mut out = Vec::new();
    let mut writer = TraceWriter::new(format, &mut out).expect("memory");
    let about = read_rows_of(from, bytes, None, &mut writer).expect("a trace");
    let left_out = writer.finish(&about).expect("memory").left_out;
    (out, left_out)
}

#[test]
fn a_csv_has_all_that_a_trace_has() {
    let trace = read("a.csv", KVCACHE_2024.as_bytes());
    let (csv, left_out) = written("a.csv", KVCACHE_2024.as_bytes(), "b.csv");
    assert_eq!((read("b.csv", &csv), left_out.len()), (trace, 0));
    let keys = cache2k(&[5, 6, 5]);
    let (csv, _) = written("a.trace", &keys, "some/x?format=csv");
    assert_eq!(
        String::from_utf8_lossy(&csv),
        "op_time,key_hash,key_size,op,size,ttl,connection,request,amount,result,latency_ns\n\
         ,5,,get,,,0,0,,,\n,6,,get,,,0,1,,,\n,5,,get,,,0,2,,,\n"
    );
    assert_eq!(read("b.csv", &csv), read("a.trace", &keys));
}

#[test]
fn every_key_in_clear_comes_out_of_a_csv_as_it_went_in() {
    let keys: [&[u8]; 9] =
        [b"", b" blanks ", b"a,b", b"\"", b"\"quoted\"", b"a\"\"b", b"\xff\x00\t", b"=1+1", b"key"];
    let mut out = Vec::new();
    let mut writer = TraceWriter::new("csv".parse().unwrap(), &mut out).unwrap();
    for (request, key) in (0..).zip(keys) {
        writer.push(&Row { request, ..Row::get(Key::Bytes(key)) }).unwrap();
    }
    // A line has no place for these.
    let long = vec![b'k'; 40_000];
    for key in [b"two\nlines".as_slice(), &long] {
        writer.push(&Row { request: 9, ..Row::get(Key::Bytes(key)) }).unwrap();
    }
    let left_out = writer.finish(&About::default()).unwrap().left_out;
    assert_eq!(left_out, ["the key of 2 rows, which have its hash"]);
    let mut read_again = Vec::new();
    let mut sink = |row: &Row<'_>| {
        read_again.push(match row.key {
            Key::Bytes(key) => key.to_vec(),
            Key::Hash(hash) => panic!("{hash}"),
        });
        ControlFlow::Continue(())
    };
    read_rows_of("a.csv", out.as_slice(), None, &mut sink).unwrap();
    assert_eq!(read_again[..9], keys);
}

#[test]
fn twitters_lines_come_out_as_they_went_in() {
    let (lines, left_out) = written("a", TWITTER.as_bytes(), "b.twitter");
    let expected = TWITTER.replace("gets", "get");
    assert_eq!((String::from_utf8(lines).unwrap(), left_out.len()), (expected, 0));
    let text = "op_time,key,op,size,ttl,latency_ns,request\n1.5,a,get,7,60,100,0\n2,b,gat,7,60,100,0\n,c,touch,,5,,1\n";
    let (lines, left_out) = written("a.csv", text.as_bytes(), "b?format=twitter");
    assert_eq!(String::from_utf8(lines).unwrap(), "1,a,1,7,0,get,60\n2,b,1,7,0,get,60\n");
    assert_eq!(
        left_out,
        [
            "1 row with touch (without them, TTLs end earlier)",
            "the fraction of a second of 1 row (without it, TTLs end up to a second earlier or later)",
            "the common request of 1 row",
            "the latency of 2 rows",
            "that 1 row was gat and no get",
        ]
    );
}

#[test]
fn libcachesims_records_name_the_next_access_of_their_object() {
    let text = "op_time,key_hash,op,size\n0,7,get,\n1,8,set,40\n1,7,delete,\n2,9,incr,8\n3,7,set,212\n3,7,get,\n5,6,get,\n";
    let (records, left_out) = written("a.csv", text.as_bytes(), "a.oracleGeneral.bin");
    let expected = [
        // An access without a size has that of the next which has one, or of the last before.
        oracle_general(0, 7, 212, 4),
        oracle_general(1, 8, 40, -1),
        oracle_general(2, 9, 8, -1),
        oracle_general(3, 7, 212, 5),
        oracle_general(3, 7, 212, -1),
        // libCacheSim passes over an object of 0 bytes.
        oracle_general(5, 6, 1, -1),
    ];
    assert_eq!(records, expected.concat());
    assert_eq!(
        left_out,
        [
            "1 row with delete (without them, entries stay: more reads can hit)",
            "the operation of 3 rows (without it, all of them read)"
        ]
    );
}

#[test]
fn next_accesses_agree_with_a_table_of_all_objects() {
    let objects: Vec<u32> = (0..20_000_u32).map(|i| i.wrapping_mul(i) % 1009).collect();
    let (records, _) = written("a.trace", &cache2k(&objects), "a.oracleGeneral");
    let mut last = HashMap::new();
    let mut next = vec![-1; objects.len()];
    for (at, object) in objects.iter().enumerate() {
        if let Some(before) = last.insert(object, at) {
            next[before] = i64::try_from(at).unwrap() + 1;
        }
    }
    let expected = objects.iter().zip(next);
    let expected: Vec<_> =
        expected.map(|(object, next)| oracle_general(0, (*object).into(), 1, next)).collect();
    assert!(records == expected.concat());
}

#[test]
fn a_format_that_is_not_written_is_named() {
    let why = |name: &str| name.parse::<TraceSource>().unwrap().format_to_write().unwrap_err();
    let known = "parquet, csv, twitter, oracleGeneral";
    for (name, expected) in [
        ("web.trace", format!("`web.trace` names no format; write `?format=`, one of {known}")),
        ("web?format=arc", format!("arc is only read; traces are written as {known}")),
        (
            "a/web.csv.gz",
            "`web.csv.gz`: traces are written uncompressed; leave out .gz".to_string(),
        ),
    ] {
        assert_eq!(why(name), expected);
    }
}

#[test]
fn a_time_that_a_format_has_no_place_for_is_refused_and_not_written_as_another() {
    let (csv, left_out) = written("a.csv", b"time,key\n2150-01-01,a\n", "b.csv");
    assert!(String::from_utf8_lossy(&csv).contains("\n5680281600.000000,a,"), "{left_out:?}");
    let to: TraceSource = "b.oracleGeneral".parse().expect("a path");
    let mut writer =
        TraceWriter::new(to.format_to_write().expect("a format"), Vec::new()).expect("memory");
    let at = |seconds: u64| Row { time_us: Some(seconds * 1_000_000), ..Row::get(Key::Hash(1)) };
    writer.push(&at(u32::MAX.into())).expect("the last time");
    let error = writer.push(&at(1 << 32)).expect_err("a time beyond").to_string();
    let expected = "time 4294967296 s is beyond 4294967295 s, the last that oracleGeneral has a place for (in 2106); ";
    assert!(error.starts_with(expected), "{error}");
}
