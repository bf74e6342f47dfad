//! Every format and compression, whole and broken.

mod samples;

use std::fmt::Write as _;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

use larder_workload::trace::{
    FORMATS, Key, MAX_OPS, Row, Trace, TraceFault, TraceOp, TraceSource, TraceStats, Verb,
    read_rows, read_rows_of,
};
use larder_workload::{Access, Condition};
use proptest::prelude::*;
use samples::{KVCACHE_2024, TWITTER};

const KVCACHE_2022: &str = "\
key,op,size,op_count,key_size
aa,GET,0,2,48
aa,SET,87,1,48
bb,GET_LEASE,10,3,24
bb,SET_LEASE,12,1,24
aa,DELETE,0,1,48
";

fn read(name: &str, bytes: &[u8]) -> Result<Trace, TraceFault> {
    Trace::read(name, bytes, None, None)
}

fn error(name: &str, bytes: &[u8]) -> String {
    let message = read(name, bytes).expect_err("broken").to_string();
    assert!(!message.contains('\n'), "{message}");
    message
}

fn op(key: u32, kind: Access, value_size: Option<u32>, ttl: Option<u32>) -> TraceOp {
    let (condition, is_joined, is_unfilled) = (None, false, false);
    TraceOp { key, kind, condition, value_size, ttl, is_joined, is_unfilled }
}

fn cache2k(keys: &[u32]) -> Vec<u8> {
    keys.iter().flat_map(|key| key.to_be_bytes()).collect()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 6);
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// A zstd frame of one block as it is, with the window of `zstd --long=31`.
fn long_window(bytes: &[u8]) -> Vec<u8> {
    let block = (u32::try_from(bytes.len()).expect("a short text") << 3 | 1).to_le_bytes();
    [b"\x28\xb5\x2f\xfd\0\xa8", &block[..3], bytes].concat()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).expect("memory");
    encoder.include_checksum(true).expect("a fresh encoder");
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

#[test]
fn cache2k_keys_are_numbered_in_the_order_of_their_appearance() {
    let trace = read("web.trace", &cache2k(&[70_000, 3, 70_000, 0, 3])).unwrap();
    assert_eq!(trace.keys(), [0, 1, 0, 2, 1]);
    assert!(trace.ops().all(|op| op.kind == Access::Get && op.value_size.is_none()));
    let expected = TraceStats { operations: 5, gets: 5, keys: 3, ..TraceStats::default() };
    assert_eq!(trace.stats(), expected);
    assert_eq!(trace.most_hits(true), 5 - 3);
}

/// A record of libCacheSim's traces.
fn oracle_general(time: u32, object: u64, size: u32, next: i64) -> Vec<u8> {
    let (time, object) = (time.to_le_bytes(), object.to_le_bytes());
    [&time[..], &object, &size.to_le_bytes(), &next.to_le_bytes()].concat()
}

#[test]
fn libcachesims_records_are_reads_of_objects_with_sizes_and_times() {
    let records = [
        oracle_general(100, u64::MAX, 4096, 2),
        oracle_general(100, 7, 1 << 30, -1),
        oracle_general(103, u64::MAX, 4096, i64::MAX),
    ];
    let whole = records.concat();
    for (name, bytes) in [
        ("w106.oracleGeneral", whole.clone()),
        ("w106.oracleGeneral.bin", whole.clone()),
        ("cluster52.oracleGeneral.zst", zstd(&whole)),
    ] {
        let trace = read(name, &bytes).unwrap();
        let get = |key, size| op(key, Access::Get, Some(size), None);
        assert_eq!(trace.ops().collect::<Vec<_>>(), [get(0, 4096), get(1, 1 << 30), get(0, 4096)]);
        let (arrivals, _) = trace.arrivals().unwrap();
        assert_eq!(*arrivals, [0, 1_500_000_000, 3_000_000_000], "{name}");
    }
    for cut in [1, 16, 23] {
        let message = error("a.oracleGeneral", &whole[..24 + cut]);
        let left = format!("byte 24: a record has 24 bytes, but {cut} are left: cut off?");
        assert_eq!(message, left);
    }
    // A text that was made of such a trace has another format.
    assert!(error("a.oracleGeneral.txt", b"100,7,4096,-1\n").starts_with("unknown format"));
    assert!(error("a.oracleGeneralOpNS", &whole).starts_with("unknown format"));
}

#[test]
fn a_trace_of_several_files_is_read_in_the_order_of_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let write =
        |name: &str, keys: &str| std::fs::write(path(name), format!("key\n{keys}")).unwrap();
    write("day-2.csv", "c\nd\n");
    write("day-1.csv", "a\nb\n");
    write("night-1.csv", "e\n");
    write(".hidden.csv", "f\n");
    let rows = |source: &str, at_most: u64| {
        let source: TraceSource = path(source).to_str().unwrap().parse().unwrap();
        let mut rows = Vec::new();
        let mut sink = |row: &Row<'_>| {
            let Key::Bytes(key) = row.key else { panic!("{row:?}") };
            rows.push(format!("{}{}", row.request, key.escape_ascii()));
            if rows.len() as u64 == at_most {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        read_rows(&source, &mut sink).map(|_| rows).map_err(|error| error.to_string())
    };
    assert_eq!(rows("day-*.csv", 9).unwrap(), ["0a", "1b", "2c", "3d"]);
    assert_eq!(rows("*", 9).unwrap(), ["0a", "1b", "2c", "3d", "4e"]);
    assert_eq!(rows("*-1*", 9).unwrap(), ["0a", "1b", "2e"]);
    assert_eq!(rows("day-*.csv", 1).unwrap(), ["0a"]);
    let missing = rows("week-*.csv", 9).unwrap_err();
    assert!(missing.ends_with("week-*.csv: no file there has such a name"), "{missing}");
    write("day-3.csv", "\"\n");
    write("day-0.csv", "\n");
    std::fs::write(path("day-1.csv"), "key,op\na,fly\n").unwrap();
    let broken = rows("day-*.csv", 9).unwrap_err();
    assert!(broken.contains("day-1.csv: line 2: no operation `fly`"), "{broken}");
}

#[test]
fn the_blocks_of_a_request_are_read_one_by_one() {
    let text = "5 3 0 1\n6 1 0 2\r\n9 0 0 3\n 18446744073709551615  1 0 4 \n";
    for name in ["P1.lis", "no-name"] {
        let trace = read(name, text.as_bytes()).unwrap();
        assert_eq!(trace.keys(), [0, 1, 2, 1, 3], "{name}");
        assert!(trace.ops().all(|op| op.kind == Access::Get && op.value_size.is_none()));
    }
    for (text, expected) in [
        ("1 1 0 1\n2 1 0", "line 2: 3 fields, where a request has 4: cut off?"),
        (
            "1 1 0 1\n18446744073709551615 3 0 1",
            "line 2: 3 blocks from 18446744073709551615 on, where a request has 16777216 at most: damaged?",
        ),
        (
            "1 4000000000 0 3",
            "line 1: 4000000000 blocks from 1 on, where a request has 16777216 at most: damaged?",
        ),
        ("1 1 0 1\n2 x 0 1", "line 2: block `x` is not a whole number"),
        ("1 -1 0 1", "line 1: block `-1` is not a whole number"),
    ] {
        assert_eq!(error("P1.lis", text.as_bytes()), expected);
    }
    // Four numbers of another kind are no blocks.
    assert!(error("no-name", b"5 3 0 1\n6 1 7 2\n7 1 0 3\n").starts_with("unknown format"));
    // The beginning of a long request is read.
    let long = b"1 16777216 0 1\n";
    let begun = Trace::read("a.lis", long.as_slice(), None, Some(9)).unwrap();
    assert_eq!(begun.keys(), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn a_line_of_one_block_is_one_read_and_a_mark_is_none() {
    let text = b"1\n 2\n*\n1\n";
    for (name, bytes) in [
        ("loop.trc", b"1\n2\n*\n1\n\n".to_vec()),
        ("loop.trace.gz", gzip(text)),
        ("multi1", b"*\n1\r\n2\r\n1".to_vec()),
    ] {
        let trace = read(name, &bytes).unwrap();
        assert_eq!(trace.keys(), [0, 1, 0], "{name}");
        assert!(trace.ops().all(|op| op.kind == Access::Get && op.value_size.is_none()));
    }
    let message = error("loop.trc", b"1\n1 2\n");
    assert_eq!(message, "line 2: block `1 2` is not a whole number");
    assert_eq!(error("loop.trc", b"*\n"), "has no operation");
    // Bytes that happen to be digits are cache2k's, where the name says so and the text does not.
    let trace = read("a.trace", b"12341234\0\0\0\0").unwrap();
    assert_eq!(trace.keys(), [0, 0, 1]);
}

#[test]
fn both_forms_of_metas_traces_say_the_same() {
    let old = read("kvcache.csv", KVCACHE_2022.as_bytes()).unwrap();
    let new = read("kvcache.csv", KVCACHE_2024.as_bytes()).unwrap();
    let (get, set, delete) = (Access::Get, Access::Set, Access::Delete);
    let expected = [
        op(0, get, None, None),
        op(0, get, None, None),
        op(0, set, Some(87), Some(3600)),
        op(1, get, Some(10), None),
        op(1, get, Some(10), None),
        op(1, get, Some(10), None),
        op(1, set, Some(12), Some(60)),
        op(0, delete, Some(0), None),
    ];
    assert_eq!(new.ops().collect::<Vec<_>>(), expected);
    let without_ttl: Vec<_> = expected.iter().map(|op| TraceOp { ttl: None, ..*op }).collect();
    assert_eq!(old.ops().collect::<Vec<_>>(), without_ttl);
    for trace in [old, new] {
        assert_eq!((trace.key_size(0), trace.key_size(1)), (Some(48), Some(24)));
        assert_eq!(trace.first_value_sizes(), [Some(87), Some(10)]);
        assert_eq!(trace.most_hits(true), 1 + 2);
    }
}

#[test]
fn rows_have_what_the_trace_has_and_a_sink_ends_the_reading() {
    let mut rows = 0;
    let mut sink = |row: &Row<'_>| {
        let counter = Row {
            time_us: Some(2_000_000),
            connection: 9,
            request: 3,
            operation: Verb::Incr,
            key_size: Some(7),
            value_size: Some(8),
            ttl_s: Some(300),
            ..Row::get(Key::Bytes(b"counter"))
        };
        rows += 1;
        if rows < 4 {
            return ControlFlow::Continue(());
        }
        assert_eq!(*row, counter);
        ControlFlow::Break(())
    };
    // The fault is beyond the rows that the sink takes.
    let broken = format!("{TWITTER}nonsense\n");
    read_rows_of("cluster052", broken.as_bytes(), None, &mut sink).unwrap();
    assert_eq!(rows, 4);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("broken");
    std::fs::write(&path, broken).unwrap();
    let source: TraceSource = path.to_str().unwrap().parse().unwrap();
    let mut all = |_: &Row<'_>| ControlFlow::Continue(());
    let error = read_rows(&source, &mut all).unwrap_err().to_string();
    let expected = format!("trace {}: line 6: 1 field, where a request has 7", path.display());
    assert!(error.starts_with(&expected), "{error}");
}

#[test]
fn twitters_keys_may_have_commas_and_foreign_operations_are_counted() {
    let trace = read("cluster052", TWITTER.as_bytes()).unwrap();
    let (get, set, delete) = (Access::Get, Access::Set, Access::Delete);
    let expected = [
        op(0, get, Some(212), None),
        op(1, set, Some(40), Some(86400)),
        op(0, delete, Some(0), None),
        // What is stored under a counted key is a number.
        op(2, Access::Incr, None, Some(300)),
        op(0, get, Some(212), None),
    ];
    assert_eq!(trace.ops().collect::<Vec<_>>(), expected);
    assert_eq!(trace.key_size(1), Some(15));
    let stats = trace.stats();
    let exact = (stats.gets, stats.sets, stats.deletes, stats.counts);
    assert_eq!((exact, stats.approximated), ((2, 1, 1, 1), 0));
}

/// Redis stores an absent key by `incr`, and memcached where it is asked to.
#[test]
fn a_change_with_a_ttl_of_its_own_stores_an_absent_key() {
    let conditions = |text: &str| {
        let trace = read("mine.csv", text.as_bytes()).unwrap();
        (trace.ops().map(|op| op.condition).collect::<Vec<_>>(), trace.misses_from_empty(false))
    };
    let (none, present) = (None, Some(Condition::Present));
    let text = "key,op,ttl\na,incr,\na,get,\nb,incr,0\nb,get,\nc,append,60\nc,get,\nd,replace,60\n";
    assert_eq!(conditions(text), (vec![present, none, none, none, none, none, present], 3));
}

#[test]
fn named_columns_may_stand_in_any_order_and_most_may_be_missing() {
    let text = "\u{feff}region , value_size,key ,op\r\nx,7,\"a,b\",set\r\n\r\ny,,a,touch\r\nz,9,\"a,b\",GET\r\n";
    let trace = read("mine.csv", text.as_bytes()).unwrap();
    let expected = [
        op(0, Access::Set, Some(7), None),
        op(1, Access::Touch, None, None),
        op(0, Access::Get, Some(9), None),
    ];
    assert_eq!(trace.ops().collect::<Vec<_>>(), expected);
    assert_eq!(trace.key_size(0), Some(3), "as long as its text");

    let only_keys = read("keys.csv", b"key\n17\n4\n17").unwrap();
    assert_eq!(only_keys.keys(), [0, 1, 0]);
    assert_eq!(only_keys.stats().gets, 3);
    let one_line = read("cluster052", TWITTER.lines().next().unwrap().as_bytes()).unwrap();
    assert_eq!(one_line.len(), 1);
}

#[test]
fn every_compression_is_recognised_by_its_bytes() {
    let plain = read("x.csv", KVCACHE_2024.as_bytes()).unwrap();
    let (head, tail) = KVCACHE_2024.as_bytes().split_at(100);
    let skippable = [b"\x50\x2a\x4d\x18\x03\0\0\0abc", &zstd(head)[..], &zstd(tail)].concat();
    for (what, bytes) in [
        ("xz", xz(KVCACHE_2024.as_bytes())),
        ("xz of two streams", [xz(head), xz(tail)].concat()),
        ("gzip", gzip(KVCACHE_2024.as_bytes())),
        ("gzip of two members", [gzip(head), gzip(tail)].concat()),
        ("zstd", zstd(KVCACHE_2024.as_bytes())),
        ("zstd of two frames", [zstd(head), zstd(tail)].concat()),
        ("zstd behind a skippable frame", skippable),
        ("zstd of a window of 2 GiB", [&long_window(head)[..], &long_window(tail)].concat()),
        ("gzip with zeros behind", [gzip(head), gzip(tail), vec![0; 10_240]].concat()),
    ] {
        assert_eq!(read("no-suffix", &bytes).unwrap(), plain, "{what}");
    }
    let keys: Vec<u32> = (0..60_000_u32).map(|i| i * i % 7919).collect();
    let plain = read("web.trace", &cache2k(&keys)).unwrap();
    for (name, bytes) in [
        ("web.trace.xz", xz(&cache2k(&keys))),
        ("web.trace.gz", gzip(&cache2k(&keys))),
        ("web.trace.zst", zstd(&cache2k(&keys))),
    ] {
        assert_eq!(read(name, &bytes).unwrap(), plain, "{name}");
    }
}

#[test]
fn compressed_data_that_end_early_or_are_damaged_are_an_error_not_a_shorter_trace() {
    let keys: Vec<u32> = (0..50_000_u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let data = cache2k(&keys);
    for (name, whole) in [("xz", xz(&data)), ("gzip", gzip(&data)), ("zstd", zstd(&data))] {
        for cut in [7, whole.len() / 2, whole.len() - 1] {
            let message = error("web.trace", &whole[..cut]);
            assert!(message.starts_with(&format!("{name} data cut off or broken")), "{message}");
        }
        // The damage is beyond the headers, where every format has a checksum of the data.
        let mut damaged = whole.clone();
        let middle = damaged.len() / 2;
        damaged[middle] ^= 0x10;
        let message = error("web.trace", &damaged);
        assert!(message.starts_with(&format!("{name} data cut off or broken")), "{message}");
    }
    let long = [&zstd(b"key\n")[..], b"\x28\xb5\x2f\xfd\0\xb0\x09\0\0a"].concat();
    assert!(
        error("x.csv", &long[long.len() - 10..]).starts_with("zstd data with a window of 4 GiB")
    );
    assert!(
        error("x.csv", &long).starts_with("zstd data cut off or broken after 4 bytes of trace")
    );
}

#[test]
fn broken_rows_and_records_name_their_place_and_fault() {
    for (name, text, expected) in [
        ("a.trace", "\0\x01\x02\x03efg", "byte 4: a key has 4 bytes, but 3 are left: cut off?"),
        (
            "a.csv",
            "key,op,size\na,get,1\nb,get",
            "line 3: 2 fields, where the header has 3: cut off?",
        ),
        ("a.csv", "key,op\na,get\nb,fetch", "line 3: no operation `fetch`; known: get, gets, "),
        (
            "a.csv",
            "key,size\na,1\n\nb,many",
            "line 4: value size `many` is not a whole number up to 4294967295",
        ),
        (
            "a.csv",
            "key,size\na,4294967296",
            "line 2: value size `4294967296` is not a whole number up to 4294967295",
        ),
        (
            "a.csv",
            "key,key_size\na,4294967296",
            "line 2: key size `4294967296` is not a whole number up to 4294967294",
        ),
        ("a.csv", "key,time\na,-1", "line 2: time `-1` is not a number of seconds from 0 on"),
        ("a.csv", "key,ttl\na,-2", "line 2: TTL `-2` is not a whole number up to 4294967294"),
        ("a.csv", "key,op\na,get\n\"b,get\nc,get", "line 3: 1 field, where the header has 2"),
        ("a.csv", "key,key\na,b", "line 1: two columns for `key`; take one by `?columns=key:NAME`"),
        ("a", "1,k,1,1,1,get,0\n2,k,1,1,get,0", "line 2: 6 fields, where a request has 7"),
        ("a", "1,k,1,1,1,get,0\n2,k,1,1,1,get,x", "line 2: TTL `x`"),
        ("a.csv", "key,op\n", "has no operation"),
        ("a.trace", "", "has no operation"),
        ("a.bin", "", "it is empty; a CSV needs a first line that names the columns"),
    ] {
        let message = error(name, text.as_bytes());
        assert!(message.starts_with(expected), "{message}\n{expected}");
    }
    let long = [b"key\n", &vec![b'x'; 70_000][..]].concat();
    assert!(error("a.csv", &long).starts_with("line 2: longer than 65536 bytes"));
    let shown = error("a.csv", format!("key,size\na,{}\n", "x\x07".repeat(1000)).as_bytes());
    assert!(shown.len() < 200, "{shown}");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    for path in ["/nowhere/a.trace", "/"] {
        let error = Trace::open(Path::new(path), None, None).unwrap_err().to_string();
        assert!(error.starts_with(&format!("trace {path}: ")), "{error}");
    }
}

#[test]
fn only_as_much_is_read_as_is_asked_for() {
    let broken = "key,op_count\na,1\nb,5\nc,broken\n";
    for at_most in 1..=6 {
        let trace = Trace::read("a.csv", broken.as_bytes(), None, Some(at_most)).unwrap();
        assert_eq!(trace.len(), at_most);
    }
    let error = Trace::read("a.csv", broken.as_bytes(), None, Some(7)).unwrap_err();
    assert!(matches!(error, TraceFault::Line { line: 4, .. }), "{error}");
    let error = Trace::read("a.csv", broken.as_bytes(), None, Some(0)).unwrap_err();
    assert!(matches!(error, TraceFault::Empty), "{error}");
}

#[test]
fn a_trace_that_does_not_fit_is_refused_before_it_fills_the_memory() {
    let text = format!("key,op_count\na,1\na,{MAX_OPS}\n");
    let error = Trace::read("a.csv", text.as_bytes(), None, None).unwrap_err();
    assert!(matches!(error, TraceFault::TooLong), "{error}");
    assert!(error.to_string().contains("--requests"), "{error}");
    assert_eq!(Trace::read("a.csv", text.as_bytes(), None, Some(9)).unwrap().len(), 9);
}

#[test]
fn a_source_is_a_file_and_perhaps_its_format() {
    let source: TraceSource = "/data/a?b.bin?format=cache2k".parse().unwrap();
    assert_eq!(source.path, Path::new("/data/a?b.bin"));
    assert_eq!(source.to_string(), "/data/a?b.bin?format=cache2k");
    let source: TraceSource = "web.trace.xz".parse().unwrap();
    assert_eq!((source.format, source.to_string()), (None, "web.trace.xz".into()));
    assert!("".parse::<TraceSource>().is_err());
    let error = "a?format=pcap".parse::<TraceSource>().unwrap_err();
    assert_eq!(
        error,
        "no trace format `pcap`; known: parquet, journal, csv, twitter, oracleGeneral, arc, lirs, cache2k, \
         keys64be, keys64le, keys"
    );
    // A named format wins over the file name and the first bytes.
    let format = FORMATS.iter().find(|format| format.name == "cache2k").copied();
    let trace = Trace::read("a.csv", b"key\nkey\n".as_slice(), format, None).unwrap();
    assert_eq!(trace.keys(), [0, 0]);
}

/// The rest of a trace after `fills_removed`, with the columns key, op, size, ttl.
fn without_fills(rows: &str) -> Vec<TraceOp> {
    let trace = read("a.csv", format!("key,op,size,ttl\n{rows}").as_bytes()).expect("a trace");
    trace.fills_removed().ops().collect()
}

#[test]
fn a_set_after_a_get_of_its_key_is_the_fill_of_that_get() {
    let (get, set, delete) = (Access::Get, Access::Set, Access::Delete);
    // The fill disappears, and the gets before it take over its size and TTL.
    assert_eq!(
        without_fills("a,get,,\nb,get,5,\na,get,,\na,set,9,60\na,get,9,\n"),
        [
            op(0, get, Some(9), Some(60)),
            op(1, get, Some(5), None),
            op(0, get, Some(9), Some(60)),
            op(0, get, Some(9), None),
        ]
    );
    // Only the next access counts: a second set, or a set after a delete, is an update.
    assert_eq!(
        without_fills("a,get,,\na,set,9,\na,set,8,\nb,get,,\nb,delete,,\nb,set,3,\nc,set,1,\n"),
        [
            op(0, get, Some(9), None),
            op(0, set, Some(8), None),
            op(1, get, None, None),
            op(1, delete, None, None),
            op(1, set, Some(3), None),
            op(2, set, Some(1), None),
        ]
    );
    // Between get and fill, other keys do not matter; a touch of the same key does.
    assert_eq!(
        without_fills("a,get,,\nb,set,2,\na,set,9,\nc,get,,\nc,touch,,\nc,set,4,\n").len(),
        5
    );
}

#[test]
fn a_miss_is_filled_by_what_stores_an_absent_key() {
    let unfilled = |text: &str| {
        let csv = format!("key,op,result,ttl\n{text}z,set,stored,\n");
        read("a.csv", csv.as_bytes()).expect("a trace").unfilled_marked().n_unfilled()
    };
    for (text, expected) in [
        ("a,get,miss,\na,set,stored,\n", 0),
        ("a,get,miss,\na,add,stored,\n", 0),
        ("a,gat,miss,60\na,set,stored,\n", 0),
        ("a,get,miss,\na,touch,not_found,60\na,set,stored,\n", 0),
        ("a,get,miss,\na,get,miss,\na,set,stored,\n", 1),
        ("a,get,miss,\na,delete,not_found,\na,set,stored,\n", 1),
        ("a,get,miss,\na,replace,not_stored,\n", 1),
        ("a,get,miss,\na,append,not_stored,\na,get,miss,\n", 2),
    ] {
        assert_eq!(unfilled(text), expected, "{text}");
    }
}

#[test]
fn an_infinite_cache_hits_every_key_it_was_given() {
    let trace =
        read("a.csv", b"key,op\na,get\na,get\nb,set\nb,get\na,delete\na,get\nb,touch\nb,get\n");
    // The hits are the second get of a and both gets of b. The get of a after its deletion is a miss.
    assert_eq!(trace.unwrap().most_hits(true), 3);
}

/// A trace in the words of the columns.
#[derive(Debug, Clone)]
struct Line {
    key: u8,
    name: &'static str,
    size: Option<u32>,
    ttl: Option<u32>,
    times: u8,
}

fn lines() -> impl Strategy<Value = Vec<Line>> {
    let name = prop::sample::select(vec!["get", "SET", "delete", "touch", "get_lease", "cas"]);
    let size = prop::option::of(1..1_u32 << 30);
    let ttl = prop::option::of(1..100_000_u32);
    let line = (0..9_u8, name, size, ttl, 0..4_u8).prop_map(|(key, name, size, ttl, times)| Line {
        key,
        name,
        size,
        ttl,
        times,
    });
    prop::collection::vec(line, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_a_reader_panic(
        noise in prop::collection::vec(any::<u8>(), 0..600),
        format in prop::sample::select(FORMATS.to_vec()),
        magic in prop::sample::select(vec![
            &b""[..], b"\xfd7zXZ\0", b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"\x50\x2a\x4d\x18",
            b"key,op,size,op_count,key_size,ttl\n", b"0,k,1,1,1,get,0\n",
        ]),
    ) {
        let bytes = [magic, &noise].concat();
        let _ = Trace::read("x.trace", bytes.as_slice(), None, Some(10_000));
        let _ = Trace::read("x", bytes.as_slice(), Some(format), Some(10_000));
        for packed in [xz(&bytes), gzip(&bytes), zstd(&bytes)] {
            let _ = Trace::read("x", packed.as_slice(), Some(format), Some(10_000));
        }
    }

    #[test]
    fn no_damage_to_compressed_data_makes_a_reader_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), 1..=255_u8), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        for pack in [xz, gzip, zstd] {
            let mut packed = pack(KVCACHE_2024.as_bytes());
            for (place, bits) in &flips {
                let place = place.index(packed.len());
                packed[place] ^= bits;
            }
            let _ = read("x.csv", &packed);
            let _ = read("x.csv", &packed[..cut.index(packed.len())]);
        }
    }

    #[test]
    fn lines_of_noise_give_an_error_or_as_many_operations_as_lines(
        lines in prop::collection::vec("[ -~]{0,30}", 1..20),
    ) {
        let text = format!("key\n{}\n", lines.join("\n"));
        let filled = lines.iter().filter(|line| !line.trim().is_empty()).count();
        match read("x.csv", text.as_bytes()) {
            Ok(trace) => prop_assert_eq!(trace.len(), filled),
            Err(TraceFault::Empty) => prop_assert_eq!(filled, 0),
            Err(fault) => prop_assert!(fault.to_string().starts_with("line "), "{}", fault),
        }
    }

    #[test]
    fn operations_written_as_csv_are_read_again(rows in lines()) {
        let mut text = String::from("ttl,op_count,size,key,op\n");
        let mut expected = Vec::new();
        let mut numbers = Vec::new();
        for Line { key, name, size, ttl, times } in &rows {
            let shown = |number: &Option<u32>| number.map(|n| n.to_string()).unwrap_or_default();
            let (ttl_shown, size_shown) = (shown(ttl), shown(size));
            writeln!(text, "{ttl_shown},{times},{size_shown},k{key},{name}").unwrap();
            let kind = match *name {
                "get" | "get_lease" => Access::Get,
                "SET" | "cas" => Access::Set,
                "delete" => Access::Delete,
                _ => Access::Touch,
            };
            for _ in 0..*times {
                if !numbers.contains(key) {
                    numbers.push(*key);
                }
                let number = numbers.iter().position(|known| known == key).unwrap();
                let condition = (*name == "cas").then_some(Condition::Present);
                let op = op(u32::try_from(number).unwrap(), kind, *size, *ttl);
                expected.push(TraceOp { condition, ..op });
            }
        }
        match read("x.csv", text.as_bytes()) {
            Ok(trace) => {
                prop_assert_eq!(trace.ops().collect::<Vec<_>>(), expected);
                prop_assert_eq!(trace.n_keys() as usize, numbers.len());
            }
            Err(fault) => prop_assert!(expected.is_empty(), "{}", fault),
        }
    }
}
